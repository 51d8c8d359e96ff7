// Blocks of 32 quantised weights: their values, four to a word, and their scales. A weight is `scale * (value - OFFSET)`, plus a
// minimum in some formats. Rows lie one below the other, with the blocks of a row side by side. A kernel has an
// instance for each of its matrices.
@group(0) @binding(#0) var<storage, read> quants$: array<vec4<u32>>;
@group(0) @binding(#1) var<storage, read> scales$: array<u32>;
//UPPER /// The bits above the fourth of each value.
//UPPER @group(0) @binding(#2) var<storage, read> upper$: array<u32>;

//Q4_0 const OFFSET$ = 8;
//Q6_K const OFFSET$ = 32;
//PLAIN const OFFSET$ = 0;

/// Values 4j to 4j + 3 of a block.
fn word_of$(block: u32, j: u32) -> u32 {
//Q8_0     return quants$[2u * block + (j >> 2u)][j & 3u];
//NIBBLES     let nibbles = (quants$[block][j & 3u] >> (4u * (j >> 2u))) & 0x0f0f0f0fu;
//Q4_0     return nibbles;
//Q4_K     return nibbles;
//FIFTH     return nibbles | (((upper$[block] >> j) & 0x01010101u) << 4u);
//Q6_K     return nibbles | (((upper$[2u * block + (j >> 2u)] >> (2u * (j & 3u))) & 0x03030303u) << 4u);
}

/// The scales of both halves of a block, or the scale of the block and its negative minimum.
fn scales_of$(block: u32) -> vec2<f32> {
//ONE_SCALE     let pair = unpack2x16float(scales$[block >> 1u]);
//ONE_SCALE     return vec2<f32>(select(pair.x, pair.y, (block & 1u) == 1u), 0.0);
//Q5_1     let pair = unpack2x16float(scales$[block]);
//Q5_1     return pair;
//EIGHT     // For eight blocks: the scales of scales and minima (f16), eight scales and eight minima (u8).
//EIGHT     let at = 5u * (block >> 3u);
//EIGHT     let part = (block >> 2u) & 1u;
//EIGHT     let shift = vec2<u32>(8u * (block & 3u));
//EIGHT     let factors = (vec2<u32>(scales$[at + 1u + part], scales$[at + 3u + part]) >> shift) & vec2<u32>(0xffu);
//EIGHT     return unpack2x16float(scales$[at]) * vec2<f32>(factors) * vec2<f32>(1.0, -1.0);
//Q6_K     // For eight blocks: the scale of scales (f32), and sixteen scales of half blocks (i8).
//Q6_K     let at = 5u * (block >> 3u);
//Q6_K     let four = unpack4xI8(scales$[at + 1u + ((block >> 1u) & 3u)]);
//Q6_K     let two = select(four.xy, four.zw, vec2<bool>((block & 1u) == 1u));
//Q6_K     return bitcast<f32>(scales$[at]) * vec2<f32>(two);
}
