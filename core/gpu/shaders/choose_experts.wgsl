// The experts of each row: those with the largest shares, after a bias, in ascending order, each with its weight. A workgroup takes a row.
// Sums are compared as whole numbers, as the CPU orders them.
struct Shape {
    nothing: u32,
    n_experts: u32,
    n_used: u32,
    is_normalised: u32,
    scale: f32,
}
var<immediate> shape: Shape;

/// `(rows, experts)`
@group(0) @binding(0) var<storage, read> shares: array<f32>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> chosen: array<vec2<u32>>;

const WIDTH = 64u;
const MAX_EXPERTS = 128u;
const MAX_USED = 16u;
var<workgroup> ranks: array<u32, MAX_EXPERTS>;
var<workgroup> order: array<u32, MAX_USED>;

/// A number that is larger for larger values; never 0 for a number.
fn rank(bits: u32) -> u32 {
    return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = workgroup.x * shape.n_experts;
    for (var i = lane; i < shape.n_experts; i += WIDTH) {
        ranks[i] = rank(bitcast<u32>(single(shares[first + i] + bias[i])));
    }
    workgroupBarrier();
    if lane > 0u {
        return;
    }
    var sum = 0.0;
    for (var n = 0u; n < shape.n_used; n++) {
        var best = 0u;
        var expert = 0u;
        for (var i = 0u; i < shape.n_experts; i++) {
            if ranks[i] > best {
                best = ranks[i];
                expert = i;
            }
        }
        ranks[expert] = 0u;
        sum = single(sum + shares[first + expert]);
        // Experts are added to the stream in ascending order.
        var at = n;
        for (; at > 0u && order[at - 1u] > expert; at--) {
            order[at] = order[at - 1u];
        }
        order[at] = expert;
    }
    var factor = shape.scale;
    if shape.is_normalised == 1u {
        factor = divide(shape.scale, single(sum + 1e-6));
    }
    for (var n = 0u; n < shape.n_used; n++) {
        let weight = shares[first + order[n]] * factor;
        chosen[workgroup.x * shape.n_used + n] = vec2<u32>(order[n], bitcast<u32>(weight));
    }
}
