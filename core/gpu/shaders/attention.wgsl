// Attention of a query head of a row, page by page: scores; the largest score, to which earlier sums are rescaled; the weights
// `e^(score - largest)`; and the sum of the values by these weights, token by token. A lane has a token of a page, then elements of
// the head. The results are rows (ROWS), or inputs of products (INPUTS).
struct Shape {
    nothing: u32,
    n_queries: u32,
    n_keys: u32,
    scale: f32,
    /// For each row: the first token that it attends to, the end of these tokens, where its pages stand, and the number of the
    /// first of these.
    table: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> queries: array<f32>;
@group(0) @binding(1) var<storage, read> tables: array<u32>;
@group(0) @binding(2) var<storage, read> pages: array<u32>;
//ROWS @group(0) @binding(3) var<storage, read_write> mixed: array<f32>;

const PADDED = WORDS * PER_WORD;
const WIDTH = 64u;
const LOWEST = -3.0e38; // compilers may assume that nothing is infinite
var<workgroup> query: array<f32, PADDED>;
var<workgroup> sums: array<f32, PADDED>;
var<workgroup> weights: array<vec4<f32>, 16>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let entry = shape.table + 4u * workgroup.x;
    let start = tables[entry];
    let end = tables[entry + 1u];
    let first_place = tables[entry + 2u] - tables[entry + 3u];
    let key_head = workgroup.y / (shape.n_queries / shape.n_keys);
    let place = (workgroup.x * shape.n_queries + workgroup.y) * HEAD_DIM;
    for (var i = lane; i < PADDED; i += 64u) {
        query[i] = select(0.0, queries[place + min(i, HEAD_DIM - 1u)], i < HEAD_DIM);
        sums[i] = 0.0;
    }
    var largest = LOWEST;
    var total = 0.0;
    for (var page = start / PAGE; page * PAGE < end; page++) {
        workgroupBarrier();
        let head = (tables[first_place + page] * shape.n_keys + key_head) * HEAD_WORDS;
        let token = page * PAGE + lane;
        let is_seen = start <= token && token < end;
        let score = select(LOWEST, score_of(head, lane) * shape.scale, is_seen);
        weights[lane / 4u][lane % 4u] = score;
        workgroupBarrier();
        var most = weights[0];
        for (var i = 1u; i < 16u; i++) {
            most = max(most, weights[i]);
        }
        let now = max(largest, max(max(most.x, most.y), max(most.z, most.w)));
        workgroupBarrier();
        weights[lane / 4u][lane % 4u] = select(0.0, exp_of(score - now), is_seen);
        workgroupBarrier();
        let shrink = select(exp_of(largest - now), 0.0, largest == LOWEST);
        largest = now;
        total = mul_add(total, shrink, sum_of_weights());
        let n_tokens = min(end - page * PAGE, PAGE);
        for (var i = lane; i < HEAD_DIM; i += 64u) {
            var sum = sums[i] * shrink;
            for (var t = 0u; t < n_tokens; t++) {
                sum = mul_add(value_of(head, t, i), weights[t / 4u][t % 4u], sum);
            }
            sums[i] = sum;
        }
    }
    for (var i = lane; i < HEAD_DIM; i += 64u) {
//ROWS         mixed[place + i] = divide(sums[i], total);
//INPUTS         sums[i] = divide(sums[i], total);
    }
//INPUTS     workgroupBarrier();
//INPUTS     for (var first = 0u; first < HEAD_DIM; first += WIDTH) {
//INPUTS         let is_inside = first + lane < HEAD_DIM;
//INPUTS         let i = min(first + lane, HEAD_DIM - 1u);
//INPUTS         put_input(lane, place + i, is_inside, select(0.0, sums[i], is_inside));
//INPUTS     }
}

/// Sixteen lanes of four tokens each, then halves.
fn sum_of_weights() -> f32 {
    var four: vec4<f32>;
    let a = ((weights[0] + weights[4]) + weights[8]) + weights[12];
    let b = ((weights[1] + weights[5]) + weights[9]) + weights[13];
    let c = ((weights[2] + weights[6]) + weights[10]) + weights[14];
    let d = ((weights[3] + weights[7]) + weights[11]) + weights[15];
    four = (a + c) + (b + d);
    let two = four.xy + four.zw;
    return two.x + two.y;
}

//F32 fn score_of(head: u32, token: u32) -> f32 {
//F32     var score = 0.0;
//F32     for (var i = 0u; i < WORDS; i++) {
//F32         score = mul_add(bitcast<f32>(pages[head + i * PAGE + token]), query[i], score);
//F32     }
//F32     return score;
//F32 }
//F32
//F32 fn value_of(head: u32, token: u32, i: u32) -> f32 {
//F32     return bitcast<f32>(pages[head + VALUES + token * WORDS + i]);
//F32 }
//F16 fn score_of(head: u32, token: u32) -> f32 {
//F16     var score = 0.0;
//F16     for (var i = 0u; i < WORDS; i++) {
//F16         let pair = unpack2x16float(pages[head + i * PAGE + token]);
//F16         score = mul_add(pair.x, query[2u * i], score);
//F16         score = mul_add(pair.y, query[2u * i + 1u], score);
//F16     }
//F16     return score;
//F16 }
//F16
//F16 fn value_of(head: u32, token: u32, i: u32) -> f32 {
//F16     return unpack2x16float(pages[head + VALUES + token * WORDS + i / 2u] >> (16u * (i % 2u))).x;
//F16 }
//Q8_0 fn score_of(head: u32, token: u32) -> f32 {
//Q8_0     var score = 0.0;
//Q8_0     for (var i = 0u; i < WORDS; i++) {
//Q8_0         let scale = bitcast<f32>(pages[head + KEY_SCALES + i / 8u * PAGE + token]);
//Q8_0         let four = vec4<f32>(unpack4xI8(pages[head + i * PAGE + token])) * scale; // exact
//Q8_0         score = mul_add(four.x, query[4u * i], score);
//Q8_0         score = mul_add(four.y, query[4u * i + 1u], score);
//Q8_0         score = mul_add(four.z, query[4u * i + 2u], score);
//Q8_0         score = mul_add(four.w, query[4u * i + 3u], score);
//Q8_0     }
//Q8_0     return score;
//Q8_0 }
//Q8_0
//Q8_0 fn value_of(head: u32, token: u32, i: u32) -> f32 {
//Q8_0     let byte = i32(pages[head + VALUES + token * WORDS + i / 4u] << (24u - 8u * (i % 4u))) >> 24u;
//Q8_0     return f32(byte) * bitcast<f32>(pages[head + VALUE_SCALES + token * GROUPS + i / 32u]);
//Q8_0 }
