// The largest of each row's first values, and the first of several that are as large. Values are compared as whole numbers, which all
// devices do alike. A workgroup takes a part of a row (FIRST), or what was found in the parts of a row (LAST).
struct Shape {
    nothing: u32,
    n_columns: u32,
    /// Values of a row that are compared.
    n_compared: u32,
    n_parts: u32,
}
var<immediate> shape: Shape;

//FIRST @group(0) @binding(0) var<storage, read> rows: array<u32>;
//FIRST @group(0) @binding(1) var<storage, read_write> found: array<vec2<u32>>;
//LAST @group(0) @binding(0) var<storage, read> parts: array<vec2<u32>>;
//LAST @group(0) @binding(1) var<storage, read_write> found: array<vec2<u32>>;

const WIDTH = 256u;
const PART = 4096u;
var<workgroup> best: array<vec2<u32>, WIDTH>;

/// A number that is larger for larger values; 0 for minus infinity, and the largest of all for what is not finite otherwise.
fn rank(bits: u32) -> u32 {
    if bits == 0xff800000u {
        return 0u;
    }
    if (bits & 0x7f800000u) == 0x7f800000u {
        return 0xffffffffu;
    }
    if (bits & 0x7fffffffu) == 0u {
        return 0x80000000u; // of both zeros
    }
    return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}

/// Ranks and places: the larger rank, then the earlier place.
fn better(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let takes_b = b.x > a.x || (b.x == a.x && b.y < a.y);
    return select(a, b, takes_b);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    var mine = vec2<u32>(0u, 0xffffffffu);
//FIRST     let end = min((workgroup.y + 1u) * PART, shape.n_compared);
//FIRST     for (var i = workgroup.y * PART + lane; i < end; i += WIDTH) {
//FIRST         mine = better(mine, vec2<u32>(rank(rows[workgroup.x * shape.n_columns + i]), i));
//FIRST     }
//LAST     for (var i = lane; i < shape.n_parts; i += WIDTH) {
//LAST         mine = better(mine, parts[workgroup.x * shape.n_parts + i]);
//LAST     }
    best[lane] = mine;
    for (var n = WIDTH / 2u; n > 0u; n /= 2u) {
        workgroupBarrier();
        if lane < n {
            best[lane] = better(best[lane], best[lane + n]);
        }
    }
    if lane == 0u {
//FIRST         found[workgroup.x * shape.n_parts + workgroup.y] = best[0];
//LAST         found[workgroup.x] = best[0];
    }
}
