// The outputs of a matrix. A kernel has an instance for each of its matrices.

/// The outputs of the rows from `first_row` on: each group of lanes has some, one for each of its first lanes. All lanes call it.
fn outputs_of$(first_row: u32, n_rows: u32, at: u32) -> f32 {
    let lane = at % LANES;
    let first_of_group = at / LANES * ROWS;
    var y = 0.0;
    for (var start = 0u; start < BLOCKS; start += LANES) {
        let n = min(LANES, BLOCKS - start);
        if lane < n {
            for (var r = 0u; r < ROWS; r++) {
                let block = min(first_row + first_of_group + r, n_rows - 1u) * BLOCKS + start + lane;
                add_block$(block, scales_of$(block), start + lane, (first_of_group + r) * (LANES + 1u) + lane);
            }
        }
        workgroupBarrier();
        if lane < ROWS {
            y = chain$(y, (first_of_group + lane) * (LANES + 1u), n);
        }
        workgroupBarrier();
    }
    return y;
}
//PUTS @group(0) @binding(#3) var<storage, read_write> outputs$: array<f32>;
//PUTS
//PUTS /// Puts the outputs of the rows from `first_row` on. All lanes call it.
//PUTS fn put_outputs$(first_row: u32, n_rows: u32, at: u32) {
//PUTS     let y = outputs_of$(first_row, n_rows, at);
//PUTS     let row = first_row + at / LANES * ROWS + at % LANES;
//PUTS     if at % LANES < ROWS && row < n_rows {
//NEW         outputs$[row] = y;
//ADDS         outputs$[row] = outputs$[row] + y;
//PUTS     }
//PUTS }
