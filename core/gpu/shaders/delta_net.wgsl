// The matrices of a delta net, which each token decays, corrects and reads. A lane takes a column of a head's matrix, for all tokens of
// a sequence in order; even and odd rows of a matrix are summed apart.
struct Shape {
    nothing: u32,
    n_keys: u32,
    n_values: u32,
    key_dim: u32,
    value_dim: u32,
    first_row: u32,
    n_rows: u32,
    /// The number of the matrices.
    item: u32,
}
var<immediate> shape: Shape;

/// Queries, keys and values: `(rows, channels)`.
@group(0) @binding(0) var<storage, read> tokens: array<f32>;
@group(0) @binding(1) var<storage, read> decays: array<f32>;
@group(0) @binding(2) var<storage, read> rates: array<f32>;
/// `(items, value heads, value size / 32, key size, 32)`
@group(0) @binding(3) var<storage, read_write> matrices: array<f32>;
@group(0) @binding(4) var<storage, read_write> outputs: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) at: vec3<u32>) {
    let n_columns = shape.n_values * shape.value_dim;
    let column = at.x;
    if column >= n_columns {
        return;
    }
    let head = column / shape.value_dim;
    let key_head = head % shape.n_keys;
    let n_channels = 2u * shape.n_keys * shape.key_dim + n_columns;
    let first = (shape.item * n_columns + column / 32u * 32u) * shape.key_dim + column % 32u;
    for (var token = 0u; token < shape.n_rows; token++) {
        let row = shape.first_row + token;
        let query = row * n_channels + key_head * shape.key_dim;
        let key = query + shape.n_keys * shape.key_dim;
        let value = tokens[row * n_channels + 2u * shape.n_keys * shape.key_dim + column];
        let decay = decays[row * shape.n_values + head];
        let rate = rates[row * shape.n_values + head];
        var even = 0.0;
        var odd = 0.0;
        for (var i = 0u; i < shape.key_dim; i += 2u) {
            even = mul_add(matrices[first + 32u * i], tokens[key + i], even);
            odd = mul_add(matrices[first + 32u * i + 32u], tokens[key + i + 1u], odd);
        }
        let change = rate * (value - single(decay * (even + odd)));
        even = 0.0;
        odd = 0.0;
        for (var i = 0u; i < shape.key_dim; i += 2u) {
            let a = mul_add(tokens[key + i], change, single(decay * matrices[first + 32u * i]));
            let b = mul_add(tokens[key + i + 1u], change, single(decay * matrices[first + 32u * i + 32u]));
            matrices[first + 32u * i] = a;
            matrices[first + 32u * i + 32u] = b;
            even = mul_add(a, tokens[query + i], even);
            odd = mul_add(b, tokens[query + i + 1u], odd);
        }
        outputs[row * n_columns + column] = even + odd;
    }
}
