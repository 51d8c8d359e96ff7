// Each workgroup takes some rows of one matrix, one matrix after the other.
@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    make_inputs(workgroup.x == 0u, at);
    let n_parts = (shape.n_rows + ROWS_AT_ONCE - 1u) / ROWS_AT_ONCE;
//TWO     let n_parts_of_two = n_parts + (shape.n_rows_of_second + ROWS_AT_ONCE - 1u) / ROWS_AT_ONCE;
    if workgroup.x < n_parts {
        put_outputs_0(workgroup.x * ROWS_AT_ONCE, shape.n_rows, at);
    }
//TWO     if workgroup.x >= n_parts && workgroup.x < n_parts_of_two {
//TWO         put_outputs_1((workgroup.x - n_parts) * ROWS_AT_ONCE, shape.n_rows_of_second, at);
//TWO     }
//THREE     if workgroup.x >= n_parts_of_two {
//THREE         put_outputs_2((workgroup.x - n_parts_of_two) * ROWS_AT_ONCE, shape.n_rows_of_third, at);
//THREE     }
}
