// Sums over a row as the CPU has them: sixteen lanes, then halves.
var<workgroup> lane_sums: array<f32, 16>;

/// The sum of sixteen lanes: lane 0 with 8, then with 4, and so on.
fn sum_of_lanes() -> f32 {
    var sums: vec4<f32>;
    for (var lane = 0u; lane < 4u; lane++) {
        sums[lane] = (lane_sums[lane] + lane_sums[lane + 8u]) + (lane_sums[lane + 4u] + lane_sums[lane + 12u]);
    }
    return (sums.x + sums.z) + (sums.y + sums.w);
}
