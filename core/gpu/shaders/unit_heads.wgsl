// Brings the first heads of rows, the queries and then the keys of a delta net, to the length 1 in place; queries are also divided by
// the root of their size. A workgroup takes a head of a row.
struct Shape {
    nothing: u32,
    n_columns: u32,
    head_dim: u32,
    n_queries: u32,
    epsilon: f32,
    /// The root of the size of a head.
    root: f32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read_write> rows: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = workgroup.x * shape.n_columns + workgroup.y * shape.head_dim;
    if lane < 16u {
        var sum = 0.0;
        for (var i = lane; i < shape.head_dim; i += 16u) {
            let x = rows[first + i];
            sum = mul_add(x, x, sum);
        }
        lane_sums[lane] = sum;
    }
    workgroupBarrier();
    let length = root_of(sum_of_lanes() + shape.epsilon);
    let divisor = length * select(1.0, shape.root, workgroup.y < shape.n_queries);
    for (var i = lane; i < shape.head_dim; i += 64u) {
        rows[first + i] = divide(rows[first + i], divisor);
    }
}
