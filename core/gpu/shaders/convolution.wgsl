// The convolution of a channel, and the window after a row.
const NONE = 0xffffffffu;

/// The input of the convolution `back` rows before `row`.
fn earlier(row: u32, back: u32, first_row: u32, window: u32, channel: u32) -> f32 {
    if first_row + back <= row {
//SHORT         let place = (row - back) * 3u * shape.n_channels + channel;
//SHORT         return single(projected[place] * projected[place + 2u * shape.n_channels]);
//DELTA         return projected[(row - back) * shape.n_channels + channel];
    }
    if window == NONE {
        return 0.0; // before the first token
    }
    let n_past = shape.n_taps - 1u;
    return windows[(window * n_past + n_past + row - first_row - back) * shape.n_channels + channel];
}

/// The inputs of a channel up to a row, times its taps.
fn convolved(row: u32, first_row: u32, window: u32, channel: u32) -> f32 {
    var sum = 0.0;
//BIAS     sum = bias[channel];
    for (var tap = 0u; tap < shape.n_taps; tap++) {
        let input = earlier(row, shape.n_taps - 1u - tap, first_row, window, channel);
        sum = mul_add(input, taps[tap * shape.n_channels + channel], sum);
    }
    return sum;
}

/// Fills the channel of the window `next`.
fn advance(row: u32, first_row: u32, window: u32, next: u32, channel: u32) {
    let n_past = shape.n_taps - 1u;
    for (var at = 0u; at < n_past; at++) {
        let input = earlier(row, n_past - 1u - at, first_row, window, channel);
        windows[(next * n_past + at) * shape.n_channels + channel] = input;
    }
}
