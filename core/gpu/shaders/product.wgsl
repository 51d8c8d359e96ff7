// What products share: where outputs go.
struct Shape {
    nothing: u32,
    /// Rows of this part of the matrix, its first row, and the rows of all parts.
    n_rows: u32,
    first_row: u32,
    n_outputs: u32,
    n_columns: u32,
    n_tokens: u32,
    adds: u32,
    /// The first row of the matrix in its buffers: matrices of a stack share them.
    base_row: u32,
//CHOSEN     /// Outputs that share a row of inputs.
//CHOSEN     n_sharing: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(5) var<storage, read_write> outputs: array<f32>;
//BIAS @group(0) @binding(6) var<storage, read> bias: array<f32>;

fn put(row: u32, token: u32, y: f32) {
    if row < shape.n_rows && token < shape.n_tokens {
        let at = token * shape.n_outputs + shape.first_row + row;
        var value = y;
        if shape.adds == 1u {
            value = outputs[at] + y;
        }
//BIAS         value = value + bias[shape.first_row + row];
        outputs[at] = value;
    }
}
