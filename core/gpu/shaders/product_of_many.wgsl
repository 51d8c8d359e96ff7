// Products of many tokens with quantised weights: 64 rows of weights and 64 tokens, a block at a time. Each lane has four rows of four
// tokens, whose sums it adds up in the order of blocks.
@group(0) @binding(3) var<storage, read> inputs: array<u32>;
@group(0) @binding(4) var<storage, read> group_scales: array<vec4<f32>>;

var<workgroup> weight_tile: array<vec4<u32>, 128>; // (8 words, 64 rows)
var<workgroup> input_tile: array<vec4<u32>, 128>; // (8 words, 64 tokens)
var<workgroup> row_scales: array<vec2<f32>, 64>;
var<workgroup> token_scales: array<vec4<f32>, 64>;

fn dots(weights: vec4<u32>, input: u32) -> vec4<i32> {
    return vec4<i32>(
        dot4I8Packed(weights.x, input), dot4I8Packed(weights.y, input),
        dot4I8Packed(weights.z, input), dot4I8Packed(weights.w, input),
    );
}

/// Adds a block to the sums of four rows of a token.
fn step(y: vec4<f32>, first: vec4<i32>, second: vec4<i32>, row: u32, token: u32) -> vec4<f32> {
    let input = token_scales[token];
    let a = first - vec4<i32>(OFFSET * i32(input.z));
    let b = second - vec4<i32>(OFFSET * i32(input.w));
    var next = y;
    for (var r = 0u; r < 4u; r++) {
        let scales = row_scales[row + r];
//ONE_SCALE         next[r] = mul_add(f32(a[r] + b[r]), scales.x * input.x, next[r]);
//MINIMUM         next[r] = mul_add(f32(a[r] + b[r]), scales.x * input.x, next[r]);
//MINIMUM         next[r] = mul_add(scales.y, input.y, next[r]);
//Q6_K         next[r] = mul_add(f32(a[r]), scales.x * input.x, next[r]);
//Q6_K         next[r] = mul_add(f32(b[r]), scales.y * input.x, next[r]);
    }
    return next;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) at: u32) {
    let n_blocks = shape.n_columns / 32u;
    let first_row = workgroup.x * 64u;
    let first_token = workgroup.y * 64u;
    let m = at % 16u; // rows 4m to 4m + 3
    let n = at / 16u; // tokens 4n to 4n + 3
    var y0 = vec4<f32>();
    var y1 = vec4<f32>();
    var y2 = vec4<f32>();
    var y3 = vec4<f32>();
    for (var block = 0u; block < n_blocks; block++) {
        let four = at % 128u / 8u;
        let j = at % 8u;
        for (var i = 0u; i < 4u; i++) {
            if at < 128u {
                let row = shape.base_row + min(first_row + 4u * four + i, shape.n_rows - 1u);
                weight_tile[j * 16u + four][i] = word_of(row * n_blocks + block, j);
            } else {
                let token = min(first_token + 4u * four + i, shape.n_tokens - 1u);
                input_tile[j * 16u + four][i] = inputs[8u * (token * n_blocks + block) + j];
            }
        }
        if at < 64u {
            row_scales[at] = scales_of((shape.base_row + min(first_row + at, shape.n_rows - 1u)) * n_blocks + block);
        } else if at < 128u {
            token_scales[at - 64u] = group_scales[min(first_token + at - 64u, shape.n_tokens - 1u) * n_blocks + block];
        }
        workgroupBarrier();
        var a0 = vec4<i32>();
        var a1 = vec4<i32>();
        var a2 = vec4<i32>();
        var a3 = vec4<i32>();
        var b0 = vec4<i32>();
        var b1 = vec4<i32>();
        var b2 = vec4<i32>();
        var b3 = vec4<i32>();
        for (var k = 0u; k < 4u; k++) {
            let weights = weight_tile[k * 16u + m];
            let inputs = input_tile[k * 16u + n];
            a0 += dots(weights, inputs.x);
            a1 += dots(weights, inputs.y);
            a2 += dots(weights, inputs.z);
            a3 += dots(weights, inputs.w);
            let second_weights = weight_tile[(k + 4u) * 16u + m];
            let second_inputs = input_tile[(k + 4u) * 16u + n];
            b0 += dots(second_weights, second_inputs.x);
            b1 += dots(second_weights, second_inputs.y);
            b2 += dots(second_weights, second_inputs.z);
            b3 += dots(second_weights, second_inputs.w);
        }
        y0 = step(y0, a0, b0, 4u * m, 4u * n);
        y1 = step(y1, a1, b1, 4u * m, 4u * n + 1u);
        y2 = step(y2, a2, b2, 4u * m, 4u * n + 2u);
        y3 = step(y3, a3, b3, 4u * m, 4u * n + 3u);
        workgroupBarrier();
    }
    for (var r = 0u; r < 4u; r++) {
        let row = first_row + 4u * m + r;
        put(row, first_token + 4u * n, y0[r]);
        put(row, first_token + 4u * n + 1u, y1[r]);
        put(row, first_token + 4u * n + 2u, y2[r]);
        put(row, first_token + 4u * n + 3u, y3[r]);
    }
}
