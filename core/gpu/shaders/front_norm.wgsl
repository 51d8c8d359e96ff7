// Inputs of products: the norm of a row.
@group(0) @binding(0) var<storage, read> rows: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;

fn make_inputs(is_first: bool, lane: u32) {
    let scale = scale_of_row(0u, COLUMNS, lane);
    for (var start = 0u; start < COLUMNS; start += WIDTH) {
        let is_inside = start + lane < COLUMNS;
        let column = min(start + lane, COLUMNS - 1u);
        let value = rows[column] * scale * weight[column];
        put_input_held(lane, column, is_inside, select(0.0, value, is_inside));
    }
}
