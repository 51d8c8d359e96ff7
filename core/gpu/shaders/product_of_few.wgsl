// Products of few tokens with quantised weights. Each lane has some blocks of several rows: exact sums of whole numbers, and the
// factors of their scales. One lane for each output adds them up in the order of blocks. Constants: TOKENS, ROWS,
// GROUPS. For experts that the device has chosen (CHOSEN), a token is one of an expert's rows.
@group(0) @binding(3) var<storage, read> inputs: array<u32>;
@group(0) @binding(4) var<storage, read> group_scales: array<vec4<f32>>;
//CHOSEN /// An expert for each token, and its weight.
//CHOSEN @group(0) @binding(6) var<storage, read> chosen: array<vec2<u32>>;

const LANES = 32u;
const OUTPUTS = ROWS * TOKENS;
var<workgroup> sums: array<vec2<f32>, GROUPS * OUTPUTS * (LANES + 1u)>;
//TWO_STEPS var<workgroup> second_sums: array<vec2<f32>, GROUPS * OUTPUTS * (LANES + 1u)>;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let group = at / LANES;
    let lane = at % LANES;
    let n_blocks = shape.n_columns / 32u;
    let first_row = (workgroup.x * GROUPS + group) * ROWS;
    let first_token = workgroup.y * TOKENS;
//FIXED     let base_row = shape.base_row;
//CHOSEN     let base_row = chosen[workgroup.y].x * shape.n_rows;
    var y = 0.0;
    for (var start = 0u; start < n_blocks; start += LANES) {
        let n = min(LANES, n_blocks - start);
        if lane < n {
            for (var r = 0u; r < ROWS; r++) {
                let block = (base_row + min(first_row + r, shape.n_rows - 1u)) * n_blocks + start + lane;
                let weight_scales = scales_of(block);
                for (var t = 0u; t < TOKENS; t++) {
//FIXED                     let input = min(first_token + t, shape.n_tokens - 1u) * n_blocks + start + lane;
//CHOSEN                     let input = first_token / shape.n_sharing * n_blocks + start + lane;
                    let place = (group * OUTPUTS + t * ROWS + r) * (LANES + 1u) + lane;
                    add_block(block, weight_scales, input, place);
                }
            }
        }
        workgroupBarrier();
        if lane < OUTPUTS {
            y = chain(y, (group * OUTPUTS + lane) * (LANES + 1u), n);
        }
        workgroupBarrier();
    }
    if lane < OUTPUTS {
        put(first_row + lane % ROWS, first_token + lane / ROWS, y);
    }
}
