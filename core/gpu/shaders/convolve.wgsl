// A causal convolution of each channel over the last few rows: the gated short convolution of rows `[B; C; X]`, as inputs of a product
// (SHORT), or that of a delta net, followed by SiLU (DELTA). A window is never written twice: a row reads the window of its sequence
// before the step, and may fill another, so that a snapshot is the number of a window.
struct Shape {
    nothing: u32,
    n_channels: u32,
    n_taps: u32,
    /// Where each row's sequence begins: its first row, the window before it, and the window after this row; or `NONE`.
    table: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> projected: array<f32>;
/// `(taps, channels)`, oldest first.
@group(0) @binding(1) var<storage, read> taps: array<f32>;
@group(0) @binding(2) var<storage, read> tables: array<u32>;
/// `(windows, taps - 1, channels)`, oldest first.
@group(0) @binding(3) var<storage, read_write> windows: array<f32>;
//BIAS @group(0) @binding(4) var<storage, read> bias: array<f32>;
//DELTA @group(0) @binding(4) var<storage, read_write> tokens: array<f32>;

const WIDTH = 256u;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = workgroup.x;
    let is_inside = workgroup.y * WIDTH + lane < shape.n_channels;
    let channel = min(workgroup.y * WIDTH + lane, shape.n_channels - 1u);
    let first_row = tables[shape.table + 3u * row];
    let window = tables[shape.table + 3u * row + 1u];
    let next = tables[shape.table + 3u * row + 2u];
    let sum = convolved(row, first_row, window, channel);
    if next != NONE && is_inside {
        advance(row, first_row, window, next, channel);
    }
//SHORT     let gate = projected[(row * 3u + 1u) * shape.n_channels + channel];
//SHORT     put_input(lane, row * shape.n_channels + channel, is_inside, select(0.0, gate * sum, is_inside));
//DELTA     if is_inside {
//DELTA         tokens[row * shape.n_channels + channel] = fraction(sum, -sum);
//DELTA     }
}
