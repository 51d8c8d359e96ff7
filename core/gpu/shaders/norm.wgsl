// RMSNorm of rows, as inputs of products. A workgroup takes a row.
struct Shape {
    nothing: u32,
    n_columns: u32,
    epsilon: f32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> rows: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;

const WIDTH = 256u;
const PART = 1024u;
var<workgroup> part: array<f32, PART>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = workgroup.x * shape.n_columns;
    var sum = 0.0;
    for (var start = 0u; start < shape.n_columns; start += PART) {
        let n = min(PART, shape.n_columns - start);
        for (var i = lane; i < n; i += WIDTH) {
            part[i] = rows[first + start + i];
        }
        workgroupBarrier();
        if lane < 16u {
            for (var i = lane; i < n; i += 16u) {
                sum = mul_add(part[i], part[i], sum);
            }
        }
        workgroupBarrier();
    }
    if lane < 16u {
        lane_sums[lane] = sum;
    }
    workgroupBarrier();
    let scale = inverse_root(divide(sum_of_lanes(), f32(shape.n_columns)) + shape.epsilon);
    for (var start = 0u; start < shape.n_columns; start += WIDTH) {
        let is_inside = start + lane < shape.n_columns;
        let column = min(start + lane, shape.n_columns - 1u);
        let value = rows[first + column] * scale * weight[column];
        put_input(lane, first + column, is_inside, select(0.0, value, is_inside));
    }
}
