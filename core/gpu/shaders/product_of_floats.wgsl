// Products with float weights: one chain of multiply-adds over the columns, ascending. A lane has a row of weights, and some tokens.
// Weights lie in tiles of 32 rows, `(columns, 32)`, or of f16 and bf16 `(pairs of columns, 32)`. Constant: TOKENS.
@group(0) @binding(3) var<storage, read> inputs: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = workgroup.x * 64u + lane;
    let tile = min(row, shape.n_rows - 1u) / 32u;
    let first_token = workgroup.y * TOKENS;
    var sums: vec4<f32>;
//F32     for (var column = 0u; column < shape.n_columns; column++) {
//F32         let weight = bitcast<f32>(float_words[(tile * shape.n_columns + column) * 32u + row % 32u]);
//HALF     let n_pairs = (shape.n_columns + 1u) / 2u;
//HALF     for (var column = 0u; column < shape.n_columns; column++) {
//HALF         let word = float_words[(tile * n_pairs + column / 2u) * 32u + row % 32u] >> (16u * (column % 2u));
//F16         let weight = unpack2x16float(word).x;
//BF16         let weight = bitcast<f32>(word << 16u);
        for (var t = 0u; t < TOKENS; t++) {
            let token = min(first_token + t, shape.n_tokens - 1u);
            sums[t] = mul_add(weight, inputs[token * shape.n_columns + column], sums[t]);
        }
    }
    for (var t = 0u; t < TOKENS; t++) {
        put(row, first_token + t, sums[t]);
    }
}
