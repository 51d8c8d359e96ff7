// Replaces each value by a function of it.
struct Shape {
    nothing: u32,
    n_columns: u32,
    a: f32,
    b: f32,
    /// Where values for each row begin in the tables.
    table: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read_write> rows: array<f32>;
//TABLE @group(0) @binding(1) var<storage, read> tables: array<u32>;
//DECAY @group(0) @binding(1) var<storage, read> log_decays: array<f32>;
//DECAY @group(0) @binding(2) var<storage, read> bias: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let column = workgroup.y * 256u + lane;
    if column < shape.n_columns {
        let place = workgroup.x * shape.n_columns + column;
        rows[place] = mapped(rows[place], workgroup.x, column);
    }
}

fn mapped(x: f32, row: u32, column: u32) -> f32 {
//SCALE     return x * shape.a;
//SIGMOID     return fraction(1.0, -x);
//DECAY     return exp_of(single(log_decays[column] * softplus(single(x + bias[column]))));
//BOUND     // `a` is 2 / bound, `b` the bound
//BOUND     return shape.b - single(fraction(2.0 * shape.b, x * shape.a));
//GROW     return x * bitcast<f32>(tables[shape.table + row]);
//MIX     let own = bitcast<f32>(tables[shape.table + row * shape.n_columns + column]);
//MIX     return (x + single(own * shape.a)) * 0.707106769;
}
//DECAY
//DECAY /// `ln(1 + e^x)`, as on the CPU: with `t = e^-|x|`, it is `max(x, 0) + 2 artanh(t / (2 + t))`.
//DECAY fn softplus(x: f32) -> f32 {
//DECAY     let t = exp_of(-min(max(x, -x), 30.0));
//DECAY     let z = divide(t, single(2.0 + t));
//DECAY     let square = single(z * z);
//DECAY     var series = f32(1.0 / 17.0);
//DECAY     series = mul_add(series, square, f32(1.0 / 15.0));
//DECAY     series = mul_add(series, square, f32(1.0 / 13.0));
//DECAY     series = mul_add(series, square, f32(1.0 / 11.0));
//DECAY     series = mul_add(series, square, f32(1.0 / 9.0));
//DECAY     series = mul_add(series, square, f32(1.0 / 7.0));
//DECAY     series = mul_add(series, square, f32(1.0 / 5.0));
//DECAY     series = mul_add(series, square, f32(1.0 / 3.0));
//DECAY     series = mul_add(series, square, 1.0);
//DECAY     return max(x, 0.0) + single((z + z) * series);
//DECAY }
