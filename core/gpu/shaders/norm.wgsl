// RMSNorm of rows, as inputs of products. A workgroup takes a row.
struct Shape {
    nothing: u32,
    n_columns: u32,
    epsilon: f32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> rows: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;

const WIDTH = 256u;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = workgroup.x * shape.n_columns;
    let scale = scale_of_row(first, shape.n_columns, lane);
    for (var start = 0u; start < shape.n_columns; start += WIDTH) {
        let is_inside = start + lane < shape.n_columns;
        let column = min(start + lane, shape.n_columns - 1u);
        let value = rows[first + column] * scale * weight[column];
        put_input(lane, first + column, is_inside, select(0.0, value, is_inside));
    }
}
