// Products of few tokens with quantised weights. Each lane has some blocks of several rows: exact sums of whole numbers, and the
// factors of their scales. One lane for each output adds them up in the order of blocks. Constants: TOKENS, ROWS,
// GROUPS.
@group(0) @binding(3) var<storage, read> inputs: array<u32>;
@group(0) @binding(4) var<storage, read> group_scales: array<vec4<f32>>;

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
    var y = 0.0;
    for (var start = 0u; start < n_blocks; start += LANES) {
        let n = min(LANES, n_blocks - start);
        if lane < n {
            for (var r = 0u; r < ROWS; r++) {
                let block = min(first_row + r, shape.n_rows - 1u) * n_blocks + start + lane;
                let weight_scales = scales_of(block);
                for (var t = 0u; t < TOKENS; t++) {
                    let input = min(first_token + t, shape.n_tokens - 1u) * n_blocks + start + lane;
                    let input_scales = group_scales[input];
                    let place = (group * OUTPUTS + t * ROWS + r) * (LANES + 1u) + lane;
                    var first = -OFFSET * i32(input_scales.z);
                    var second = -OFFSET * i32(input_scales.w);
                    for (var j = 0u; j < 4u; j++) {
                        first += dot4I8Packed(word_of(block, j), inputs[8u * input + j]);
                        second += dot4I8Packed(word_of(block, j + 4u), inputs[8u * input + j + 4u]);
                    }
//ONE_SCALE                     sums[place] = vec2<f32>(f32(first + second), weight_scales.x * input_scales.x);
//MINIMUM                     sums[place] = vec2<f32>(f32(first + second), weight_scales.x * input_scales.x);
//MINIMUM                     second_sums[place] = vec2<f32>(weight_scales.y, input_scales.y);
//Q6_K                     sums[place] = vec2<f32>(f32(first), weight_scales.x * input_scales.x);
//Q6_K                     second_sums[place] = vec2<f32>(f32(second), weight_scales.y * input_scales.x);
                }
            }
        }
        workgroupBarrier();
        if lane < OUTPUTS {
            let first_place = (group * OUTPUTS + lane) * (LANES + 1u);
            for (var i = 0u; i < n; i++) {
                let pair = sums[first_place + i];
                y = mul_add(pair.x, pair.y, y);
//TWO_STEPS                 let next = second_sums[first_place + i];
//TWO_STEPS                 y = mul_add(next.x, next.y, y);
            }
        }
        workgroupBarrier();
    }
    if lane < OUTPUTS {
        put(first_row + lane % ROWS, first_token + lane / ROWS, y);
    }
}
