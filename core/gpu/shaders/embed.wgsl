// Rows of a table for tokens, times a factor.
struct Shape {
    nothing: u32,
    n_columns: u32,
    factor: f32,
    /// Where the tokens stand in the tables.
    tokens: u32,
    /// The first row of this part of the table, and the number of its rows.
    first_row: u32,
    n_rows: u32,
    /// The row of the result for the first token.
    first_out: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(3) var<storage, read> tables: array<u32>;
@group(0) @binding(4) var<storage, read_write> rows: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let column = workgroup.y * 256u + lane;
    let token = tables[shape.tokens + workgroup.x] - shape.first_row;
    if token < shape.n_rows && column < shape.n_columns {
        rows[(shape.first_out + workgroup.x) * shape.n_columns + column] = weight_of(token, column) * shape.factor;
    }
}

//QUANTISED fn weight_of(row: u32, column: u32) -> f32 {
//QUANTISED     let block = row * (shape.n_columns / 32u) + column / 32u;
//QUANTISED     let word = word_of(block, column % 32u / 4u);
//Q8_0     let value = f32(i32(word << (24u - 8u * (column % 4u))) >> 24u);
//NIBBLES     let value = f32(i32((word >> (8u * (column % 4u))) & 0xffu) - OFFSET);
//QUANTISED     let pair = scales_of(block);
//ONE_SCALE     return value * pair.x;
//MINIMUM     return single(value * pair.x) + pair.y;
//Q6_K     return value * select(pair.x, pair.y, column % 32u >= 16u);
//QUANTISED }
//FLOATS fn weight_of(row: u32, column: u32) -> f32 {
//F32     return bitcast<f32>(float_words[(row / 32u * shape.n_columns + column) * 32u + row % 32u]);
//HALF     let word = float_words[(row / 32u * ((shape.n_columns + 1u) / 2u) + column / 2u) * 32u + row % 32u];
//F16     return unpack2x16float(word >> (16u * (column % 2u))).x;
//BF16     return bitcast<f32>((word >> (16u * (column % 2u))) << 16u);
//FLOATS }
