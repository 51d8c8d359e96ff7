// Writes keys and values of rows to their pages, after the norm and the rotation of keys. Queries, if there are any (QUERIES), are
// normalised and rotated in place. A workgroup takes a head of a row: a key head with its values, or a query head after these.
struct Shape {
    nothing: u32,
    n_heads: u32,
    first_row: u32,
    /// Where, for each row, its page and its token in the page stand in the tables.
    table: u32,
    n_queries: u32,
    n_pairs: u32,
    epsilon: f32,
    /// Where cosines and sines, each `(rows, pairs)`, begin in the tables.
    cosines: u32,
    sines: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> keys: array<f32>;
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read> tables: array<u32>;
@group(0) @binding(3) var<storage, read_write> pages: array<u32>;
//QUERIES @group(0) @binding(4) var<storage, read_write> queries: array<f32>;
//NORM @group(0) @binding(5) var<storage, read> key_weight: array<f32>;
//NORM @group(0) @binding(6) var<storage, read> query_weight: array<f32>;

var<workgroup> head: array<f32, HEAD_DIM>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = shape.first_row + workgroup.x;
    let is_key = workgroup.y < shape.n_heads;
    let at_key = (row * shape.n_heads + min(workgroup.y, shape.n_heads - 1u)) * HEAD_DIM;
//QUERIES     let at_query = (row * shape.n_queries + max(workgroup.y, shape.n_heads) - shape.n_heads) * HEAD_DIM;
    for (var i = lane; i < HEAD_DIM; i += 64u) {
        if is_key {
            head[i] = keys[at_key + i];
        }
//QUERIES         if !is_key {
//QUERIES             head[i] = queries[at_query + i];
//QUERIES         }
    }
    workgroupBarrier();
//NORM     if lane < 16u {
//NORM         var sum = 0.0;
//NORM         for (var i = lane; i < HEAD_DIM; i += 16u) {
//NORM             sum = mul_add(head[i], head[i], sum);
//NORM         }
//NORM         lane_sums[lane] = sum;
//NORM     }
//NORM     workgroupBarrier();
//NORM     let scale = inverse_root(divide(sum_of_lanes(), f32(HEAD_DIM)) + shape.epsilon);
//NORM     for (var i = lane; i < HEAD_DIM; i += 64u) {
//NORM         var weight = key_weight[i];
//NORM         if !is_key {
//NORM             weight = query_weight[i];
//NORM         }
//NORM         head[i] = head[i] * scale * weight;
//NORM     }
//NORM     workgroupBarrier();
//ROTATED     for (var pair = lane; pair < shape.n_pairs; pair += 64u) {
//HALVES         let low = pair;
//HALVES         let high = low + shape.n_pairs;
//NEIGHBOURS         let low = 2u * pair;
//NEIGHBOURS         let high = low + 1u;
//ROTATED         let a = head[low];
//ROTATED         let b = head[high];
//ROTATED         let cosine = bitcast<f32>(tables[shape.cosines + row * shape.n_pairs + pair]);
//ROTATED         let sine = bitcast<f32>(tables[shape.sines + row * shape.n_pairs + pair]);
//ROTATED         head[low] = single(a * cosine) - single(b * sine);
//ROTATED         head[high] = single(a * sine) + single(b * cosine);
//ROTATED     }
//ROTATED     workgroupBarrier();
    if is_key {
        store(workgroup.x, workgroup.y, at_key, lane);
    }
//QUERIES     if !is_key {
//QUERIES         for (var i = lane; i < HEAD_DIM; i += 64u) {
//QUERIES             queries[at_query + i] = head[i];
//QUERIES         }
//QUERIES     }
}

/// Writes the key in `head`, and the values from `from_place` on, to a page.
fn store(row: u32, head_at: u32, from_place: u32, lane: u32) {
    let place = shape.table + 2u * row;
    let token = tables[place + 1u];
    let to = (tables[place] * shape.n_heads + head_at) * HEAD_WORDS;
    for (var word = lane; word < WORDS; word += 64u) {
        pages[to + word * PAGE + token] = key_word(word);
        pages[to + VALUES + token * WORDS + word] = value_word(from_place, word);
    }
//Q8_0     for (var group = lane; group < GROUPS; group += 64u) {
//Q8_0         pages[to + KEY_SCALES + group * PAGE + token] = bitcast<u32>(key_scale(group));
//Q8_0         pages[to + VALUE_SCALES + token * GROUPS + group] = bitcast<u32>(value_scale(from_place, group));
//Q8_0     }
}

//F32 fn key_word(word: u32) -> u32 {
//F32     return bitcast<u32>(head[word]);
//F32 }
//F32
//F32 fn value_word(place: u32, word: u32) -> u32 {
//F32     return bitcast<u32>(values[place + word]);
//F32 }
//F16 fn key_word(word: u32) -> u32 {
//F16     return half_of(head[2u * word]) | (half_of(head[2u * word + 1u]) << 16u);
//F16 }
//F16
//F16 fn value_word(place: u32, word: u32) -> u32 {
//F16     return half_of(values[place + 2u * word]) | (half_of(values[place + 2u * word + 1u]) << 16u);
//F16 }
//F16
//F16 /// The nearest f16, ties to even; the largest instead of infinity. `pack2x16float` may truncate.
//F16 fn half_of(given: f32) -> u32 {
//F16     let bits = bitcast<u32>(min(max(given, -65504.0), 65504.0));
//F16     let magnitude = bits & 0x7fffffffu;
//F16     let normal = (magnitude + 0xfffu + ((magnitude >> 13u) & 1u) - 0x38000000u) >> 13u;
//F16     let small = u32(round(bitcast<f32>(magnitude) * 16777216.0)); // in units of the least f16
//F16     return ((bits >> 16u) & 0x8000u) | select(small, normal, magnitude >= 0x38800000u);
//F16 }
//Q8_0 const MAX_VALUE = 1e30;
//Q8_0
//Q8_0 fn key_scale(group: u32) -> f32 {
//Q8_0     var largest = 0.0;
//Q8_0     for (var i = 32u * group; i < min(32u * group + 32u, HEAD_DIM); i++) {
//Q8_0         largest = max(largest, abs(head[i]));
//Q8_0     }
//Q8_0     return scale_of(largest);
//Q8_0 }
//Q8_0
//Q8_0 fn value_scale(place: u32, group: u32) -> f32 {
//Q8_0     var largest = 0.0;
//Q8_0     for (var i = 32u * group; i < min(32u * group + 32u, HEAD_DIM); i++) {
//Q8_0         largest = max(largest, abs(values[place + i]));
//Q8_0     }
//Q8_0     return scale_of(largest);
//Q8_0 }
//Q8_0
//Q8_0 /// A scale of 17 bits, so that its products with bytes are exact.
//Q8_0 fn scale_of(largest: f32) -> f32 {
//Q8_0     return bitcast<f32>((bitcast<u32>(divide(min(largest, MAX_VALUE), 127.0)) + 64u) & 0xffffff80u);
//Q8_0 }
//Q8_0
//Q8_0 fn byte_of(x: f32, scale: f32) -> u32 {
//Q8_0     let quotient = divide(min(max(x, -MAX_VALUE), MAX_VALUE), select(1.0, scale, scale > 0.0));
//Q8_0     return u32(i32(select(0.0, round(quotient), scale > 0.0))) & 0xffu;
//Q8_0 }
//Q8_0
//Q8_0 fn key_word(word: u32) -> u32 {
//Q8_0     let scale = key_scale(word / 8u);
//Q8_0     var bytes = 0u;
//Q8_0     for (var i = 4u * word; i < min(4u * word + 4u, HEAD_DIM); i++) {
//Q8_0         bytes |= byte_of(head[i], scale) << (8u * (i % 4u));
//Q8_0     }
//Q8_0     return bytes;
//Q8_0 }
//Q8_0
//Q8_0 fn value_word(place: u32, word: u32) -> u32 {
//Q8_0     let scale = value_scale(place, word / 8u);
//Q8_0     var bytes = 0u;
//Q8_0     for (var i = 4u * word; i < min(4u * word + 4u, HEAD_DIM); i++) {
//Q8_0         bytes |= byte_of(values[place + i], scale) << (8u * (i % 4u));
//Q8_0     }
//Q8_0     return bytes;
//Q8_0 }
