// Arithmetic with the bits of the CPU: each result is rounded once. Compilers must neither fuse nor reorder: what they could fuse
// passes through `single`, and constants are written as what they multiply to.

/// Hides from the compiler where a value comes from, so that it fuses no product with a sum. `nothing` is always 0.
fn single(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ shape.nothing);
}

/// `a * b + c`, rounded once.
fn mul_add(a: f32, b: f32, c: f32) -> f32 {
//FUSED     return fma(a, b, c);
//WIDE     return f32(f64(a) * f64(b) + f64(c));
}

/// `e^x` by the CPU's polynomial; 0 below -87, the largest power above 88.
fn exp_of(given: f32) -> f32 {
    let x = min(max(given, -87.0), 88.0);
    let n = round(x * 1.44269504);
    var rest = mul_add(n, -0.693359375, x);
    rest = mul_add(n, 2.1219444e-4, rest);
    var series = f32(1.0 / 5040.0);
    series = mul_add(series, rest, f32(1.0 / 720.0));
    series = mul_add(series, rest, f32(1.0 / 120.0));
    series = mul_add(series, rest, f32(1.0 / 24.0));
    series = mul_add(series, rest, f32(1.0 / 6.0));
    series = mul_add(series, rest, 0.5);
    series = mul_add(series, rest, 1.0);
    series = mul_add(series, rest, 1.0);
    return select(0.0, series * bitcast<f32>(u32(i32(n) + 127) << 23u), given >= -87.0);
}

/// A quotient, rounded to the nearest value by a Newton step; divisors and quotients must be far from the limits of f32.
fn divide(a: f32, b: f32) -> f32 {
    let quotient = single(a / b);
    return mul_add(mul_add(-quotient, b, a), single(1.0 / b), quotient);
}

/// `x / (1 + e^exponent)`. A large divisor is scaled, so that no step of the division falls below the normal range.
fn fraction(x: f32, exponent: f32) -> f32 {
    let divisor = 1.0 + exp_of(exponent);
    let scale = select(1.0, 5.42101086e-20, divisor > 1.8446744e19); // 2^-64, 2^64
    return divide(x, divisor * scale) * scale;
}

/// A root, rounded to the nearest value by a Newton step; of a positive number.
fn root_of(x: f32) -> f32 {
    let near = single(sqrt(x));
    return mul_add(mul_add(-near, near, x), single(0.5 / near), near);
}

/// `1 / sqrt(x)`: a root, then a quotient, each rounded to the nearest value.
fn inverse_root(x: f32) -> f32 {
    let root = root_of(x);
    let inverse = single(1.0 / root);
    return mul_add(mul_add(-inverse, root, 1.0), inverse, inverse);
}
