// Copies values, each from the place that the form gives.
struct Shape {
    nothing: u32,
    /// Columns of the result, and of what is copied.
    n_columns: u32,
    n_from: u32,
    /// The first column, or where the rows are named in the tables.
    first: u32,
    head_dim: u32,
    first_row: u32,
}
var<immediate> shape: Shape;

//ROWS @group(0) @binding(0) var<storage, read> from_rows: array<f32>;
@group(0) @binding(1) var<storage, read_write> to_rows: array<f32>;
//TABLE @group(0) @binding(2) var<storage, read> tables: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = workgroup.x;
    let column = workgroup.y * 256u + lane;
    if column < shape.n_columns {
        to_rows[(shape.first_row + row) * shape.n_columns + column] = value(row, column);
    }
}

fn value(row: u32, column: u32) -> f32 {
//COLUMNS     return from_rows[row * shape.n_from + shape.first + column];
//SELECT     return from_rows[tables[shape.first + row] * shape.n_from + column];
//HEADS     // Pairs of heads: queries and gates.
//HEADS     let head = column / shape.head_dim;
//HEADS     return from_rows[row * shape.n_from + (2u * head) * shape.head_dim + shape.first + column % shape.head_dim];
//UPLOAD     return bitcast<f32>(tables[shape.first + row * shape.n_columns + column]);
}
