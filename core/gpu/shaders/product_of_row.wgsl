// Products of one row with quantised weights. Each workgroup makes the row's inputs again, in memory of its own: that costs less than a
// kernel before it, which all would have to wait for. Constants: COLUMNS, ROWS, GROUPS.
struct Shape {
    nothing: u32,
    epsilon: f32,
    /// For a convolution: the windows, in the tables; its taps and channels.
    table: u32,
    n_taps: u32,
    n_channels: u32,
    /// Rows of the matrices.
    n_rows: u32,
    n_rows_of_second: u32,
    n_rows_of_third: u32,
}
var<immediate> shape: Shape;

const WIDTH = 128u;
const LANES = 32u;
const BLOCKS = COLUMNS / 32u;
/// Rows of weights that a workgroup takes at a time.
const ROWS_AT_ONCE = GROUPS * ROWS;
var<workgroup> sums: array<vec2<f32>, ROWS_AT_ONCE * (LANES + 1u)>;
//TWO_STEPS var<workgroup> second_sums: array<vec2<f32>, ROWS_AT_ONCE * (LANES + 1u)>;
