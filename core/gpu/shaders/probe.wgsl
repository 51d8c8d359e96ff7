// What the device makes of four numbers `a`, `b`, `c` and `d`: the results of each row stand one after the other.
struct Shape {
    nothing: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> numbers: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> results: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) at: vec3<u32>) {
    let x = numbers[at.x];
    let first = 8u * at.x;
    results[first] = fma(x.x, x.y, x.z);
    results[first + 1u] = x.x * x.y + x.z;
    results[first + 2u] = (x.x + x.y) + x.z;
    results[first + 3u] = divide(x.x, x.y);
    results[first + 4u] = inverse_root(abs(x.x));
    results[first + 5u] = x.w * 0.5;
    results[first + 6u] = exp_of(x.x);
    results[first + 7u] = single(x.x * x.y) + x.z;
}
