// What a row is multiplied by to normalise it. `WIDTH` lanes have it.
const PART = 1024u;
var<workgroup> part: array<f32, PART>;

/// All lanes call it.
fn scale_of_row(first: u32, n_columns: u32, lane: u32) -> f32 {
    var sum = 0.0;
    for (var start = 0u; start < n_columns; start += PART) {
        let n = min(PART, n_columns - start);
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
    return inverse_root(divide(sum_of_lanes(), f32(n_columns)) + shape.epsilon);
}
