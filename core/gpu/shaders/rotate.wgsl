// Normalises and rotates the heads of rows in place. A workgroup takes a head of a row.
struct Shape {
    nothing: u32,
    n_columns: u32,
    head_dim: u32,
    n_pairs: u32,
    epsilon: f32,
    /// Where cosines and sines, each `(rows, pairs)`, begin in the tables.
    cosines: u32,
    sines: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read_write> rows: array<f32>;
//NORM @group(0) @binding(1) var<storage, read> weight: array<f32>;
//ROTATED @group(0) @binding(2) var<storage, read> tables: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = workgroup.x * shape.n_columns + workgroup.y * shape.head_dim;
//NORM     if lane < 16u {
//NORM         var sum = 0.0;
//NORM         for (var i = lane; i < shape.head_dim; i += 16u) {
//NORM             let x = rows[first + i];
//NORM             sum = mul_add(x, x, sum);
//NORM         }
//NORM         lane_sums[lane] = sum;
//NORM     }
//NORM     workgroupBarrier();
//NORM     let scale = inverse_root(divide(sum_of_lanes(), f32(shape.head_dim)) + shape.epsilon);
//NORM     for (var i = lane; i < shape.head_dim; i += 64u) {
//NORM         rows[first + i] = rows[first + i] * scale * weight[i];
//NORM     }
//NORM     storageBarrier();
//ROTATED     for (var pair = lane; pair < shape.n_pairs; pair += 64u) {
//HALVES         let low = first + pair;
//HALVES         let high = low + shape.n_pairs;
//NEIGHBOURS         let low = first + 2u * pair;
//NEIGHBOURS         let high = low + 1u;
//ROTATED         let a = rows[low];
//ROTATED         let b = rows[high];
//ROTATED         let cosine = bitcast<f32>(tables[shape.cosines + workgroup.x * shape.n_pairs + pair]);
//ROTATED         let sine = bitcast<f32>(tables[shape.sines + workgroup.x * shape.n_pairs + pair]);
//ROTATED         rows[low] = single(a * cosine) - single(b * sine);
//ROTATED         rows[high] = single(a * sine) + single(b * cosine);
//ROTATED     }
}
