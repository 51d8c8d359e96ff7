// Adds rows, each times its weight, to rows of the residual stream.
struct Shape {
    nothing: u32,
    n_columns: u32,
    /// For each row, where it is added and its weight.
    table: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> outputs: array<f32>;
@group(0) @binding(1) var<storage, read> tables: array<u32>;
@group(0) @binding(2) var<storage, read_write> stream: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let column = workgroup.y * 256u + lane;
    if column < shape.n_columns {
        let at = shape.table + 2u * workgroup.x;
        let place = tables[at] * shape.n_columns + column;
        let weight = bitcast<f32>(tables[at + 1u]);
        stream[place] = stream[place] + single(weight * outputs[workgroup.x * shape.n_columns + column]);
    }
}
