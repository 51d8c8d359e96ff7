// Rows as inputs of products, as they are or times the gates of their elements or heads.
struct Shape {
    nothing: u32,
    n_columns: u32,
    /// Elements of a row that share a gate.
    n_sharing: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> rows: array<f32>;
//GATED @group(0) @binding(1) var<storage, read> gates: array<f32>;

const WIDTH = 256u;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let is_inside = workgroup.y * WIDTH + lane < shape.n_columns;
    let column = min(workgroup.y * WIDTH + lane, shape.n_columns - 1u);
    let place = workgroup.x * shape.n_columns + column;
    var value = rows[place];
//GATED     value = value * gates[place / shape.n_sharing];
    put_input(lane, place, is_inside, select(0.0, value, is_inside));
}
