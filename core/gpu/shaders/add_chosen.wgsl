// Adds the outputs of each row's experts, each times its weight, to the row of the residual stream, one after the other.
struct Shape {
    nothing: u32,
    n_columns: u32,
    n_used: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> outputs: array<f32>;
@group(0) @binding(1) var<storage, read> chosen: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> stream: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let column = workgroup.y * 256u + lane;
    if column < shape.n_columns {
        let place = workgroup.x * shape.n_columns + column;
        var value = stream[place];
        for (var n = 0u; n < shape.n_used; n++) {
            let at = workgroup.x * shape.n_used + n;
            value = value + single(bitcast<f32>(chosen[at].y) * outputs[at * shape.n_columns + column]);
        }
        stream[place] = value;
    }
}
