// Inputs of products: the gated short convolution of a row `[B; C; X]`. The first workgroup also advances the window, to another one than
// those that are read.
@group(0) @binding(0) var<storage, read> projected: array<f32>;
@group(0) @binding(1) var<storage, read> taps: array<f32>;
@group(0) @binding(2) var<storage, read> tables: array<u32>;
@group(0) @binding(3) var<storage, read_write> windows: array<f32>;
//BIAS @group(0) @binding(4) var<storage, read> bias: array<f32>;

fn make_inputs(is_first: bool, lane: u32) {
    let window = tables[shape.table + 1u];
    let next = tables[shape.table + 2u];
    for (var start = 0u; start < COLUMNS; start += WIDTH) {
        let is_inside = start + lane < COLUMNS;
        let channel = min(start + lane, COLUMNS - 1u);
        let sum = convolved(0u, 0u, window, channel);
        if is_first && is_inside && next != NONE {
            advance(0u, 0u, window, next, channel);
        }
        let gate = projected[COLUMNS + channel];
        put_input_held(lane, channel, is_inside, select(0.0, gate * sum, is_inside));
    }
}
