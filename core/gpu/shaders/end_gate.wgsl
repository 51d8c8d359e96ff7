// `activation(gate) * up`, as inputs of products. Each workgroup takes a group of 32 rows of both matrices.
var<workgroup> gates: array<f32, 32>;
var<workgroup> ups: array<f32, 32>;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    make_inputs(workgroup.x == 0u, at);
    let first_row = workgroup.x * 32u;
    let in_group = at / LANES * ROWS + at % LANES;
    for (var i = 0u; i < 32u; i += ROWS_AT_ONCE) {
        let gate = outputs_of_0(first_row + i, shape.n_rows, at);
        let up = outputs_of_1(first_row + i, shape.n_rows, at);
        if at % LANES < ROWS {
            gates[i + in_group] = gate;
            ups[i + in_group] = up;
        }
    }
    workgroupBarrier();
    let is_inside = at < 32u;
    let row = min(at, 31u);
    let value = activation(gates[row]) * ups[row];
    put_input(at, first_row + row, is_inside, select(0.0, value, is_inside));
}
