// `activation(gate) * up`, as inputs of products.
struct Shape {
    nothing: u32,
    n_columns: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> gates: array<f32>;
@group(0) @binding(1) var<storage, read> ups: array<f32>;

const WIDTH = 256u;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let is_inside = workgroup.y * WIDTH + lane < shape.n_columns;
    let column = min(workgroup.y * WIDTH + lane, shape.n_columns - 1u);
    let place = workgroup.x * shape.n_columns + column;
    let value = activation(gates[place]) * ups[place];
    put_input(lane, place, is_inside, select(0.0, value, is_inside));
}
