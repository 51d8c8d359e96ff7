// Writes keys and values of rows to their pages. A workgroup takes a head of a row.
struct Shape {
    nothing: u32,
    n_heads: u32,
    first_row: u32,
    /// Where, for each row, its page and its token in the page stand in the tables.
    table: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> keys: array<f32>;
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read> tables: array<u32>;
@group(0) @binding(3) var<storage, read_write> pages: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let place = shape.table + 2u * workgroup.x;
    let page = tables[place];
    let token = tables[place + 1u];
    let head = (page * shape.n_heads + workgroup.y) * HEAD_WORDS;
    let from_place = ((shape.first_row + workgroup.x) * shape.n_heads + workgroup.y) * HEAD_DIM;
    for (var word = lane; word < WORDS; word += 64u) {
        pages[head + word * PAGE + token] = key_word(from_place, word);
        pages[head + VALUES + token * WORDS + word] = value_word(from_place, word);
    }
//Q8_0     for (var group = lane; group < GROUPS; group += 64u) {
//Q8_0         pages[head + KEY_SCALES + group * PAGE + token] = bitcast<u32>(key_scale(from_place, group));
//Q8_0         pages[head + VALUE_SCALES + token * GROUPS + group] = bitcast<u32>(value_scale(from_place, group));
//Q8_0     }
}

//F32 fn key_word(place: u32, word: u32) -> u32 {
//F32     return bitcast<u32>(keys[place + word]);
//F32 }
//F32
//F32 fn value_word(place: u32, word: u32) -> u32 {
//F32     return bitcast<u32>(values[place + word]);
//F32 }
//F16 fn key_word(place: u32, word: u32) -> u32 {
//F16     return half_of(keys[place + 2u * word]) | (half_of(keys[place + 2u * word + 1u]) << 16u);
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
//Q8_0 fn key_scale(place: u32, group: u32) -> f32 {
//Q8_0     var largest = 0.0;
//Q8_0     for (var i = 32u * group; i < min(32u * group + 32u, HEAD_DIM); i++) {
//Q8_0         largest = max(largest, abs(keys[place + i]));
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
//Q8_0 fn key_word(place: u32, word: u32) -> u32 {
//Q8_0     let scale = key_scale(place, word / 8u);
//Q8_0     var bytes = 0u;
//Q8_0     for (var i = 4u * word; i < min(4u * word + 4u, HEAD_DIM); i++) {
//Q8_0         bytes |= byte_of(keys[place + i], scale) << (8u * (i % 4u));
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
