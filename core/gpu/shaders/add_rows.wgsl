// Adds rows of outputs to the residual stream: `stream + norm(outputs) * factor`. A workgroup takes a row.
struct Shape {
    nothing: u32,
    n_columns: u32,
    factor: f32,
    epsilon: f32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> outputs: array<f32>;
@group(0) @binding(1) var<storage, read_write> stream: array<f32>;
//NORM @group(0) @binding(2) var<storage, read> weight: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = workgroup.x * shape.n_columns;
//NORM     if lane < 16u {
//NORM         var sum = 0.0;
//NORM         for (var i = lane; i < shape.n_columns; i += 16u) {
//NORM             let x = outputs[first + i];
//NORM             sum = mul_add(x, x, sum);
//NORM         }
//NORM         lane_sums[lane] = sum;
//NORM     }
//NORM     workgroupBarrier();
//NORM     let scale = inverse_root(divide(sum_of_lanes(), f32(shape.n_columns)) + shape.epsilon);
    for (var i = lane; i < shape.n_columns; i += 256u) {
        var x = outputs[first + i];
//NORM         x = x * scale * weight[i];
        stream[first + i] = stream[first + i] + single(x * shape.factor);
    }
}
