//! AVX2: unsigned bytes of eight rows of weights meet signed bytes of activations, in pairs that fit 16 bits.
//!
//! Pairs of products of weights below 64 are at most 16,002; Q8_0's are taken without their sign, which moves to the
//! activations, and are at most 32,512.

use std::arch::x86_64::*;
use std::ops::Range;

use crate::activations::{GROUP, Quantised, QuantisedBand, QuantisedGroup, inverse};
use crate::kernels::Outputs;
use crate::matrix::{Format, GROUPS, HALVES, Matrix, TILE, VECTOR};
use crate::simd::Avx2;

/// Rows of activations at once: their sums, and a group's weights, fill the registers.
const ROWS: usize = 4;

pub(super) fn quantise(_: Avx2, x: &[f32], to: &mut QuantisedBand<'_>, row: usize) {
    // SAFETY: the token stands for the features.
    unsafe { quantise_row(x, to, row) }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn quantise_row(x: &[f32], to: &mut QuantisedBand<'_>, row: usize) {
    to.put(row, x, |x| {
        let largest = x.iter().map(|x| x.to_bits() & !(1 << 31)).max().unwrap_or_default();
        let largest = f32::from_bits(largest);
        let inverse = _mm256_set1_ps(inverse(largest));
        let (mut values, mut sums) = ([0; GROUP], [0; 2]);
        for (at, x) in x.as_chunks::<8>().0.iter().enumerate() {
            // SAFETY: eight values are read.
            let scaled = unsafe { _mm256_mul_ps(_mm256_loadu_ps(x.as_ptr()), inverse) };
            // Infinity times 0 is no number, and counts as 0: the scale tells of it.
            let is_number = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_ORD_Q>(scaled, scaled));
            let whole = _mm256_and_si256(_mm256_cvtps_epi32(scaled), is_number);
            let mut eight = [0i32; 8];
            // SAFETY: eight values are written.
            unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), whole) };
            sums[at / 2] += eight.iter().sum::<i32>();
            values[8 * at..][..8].iter_mut().zip(eight).for_each(|(to, value)| *to = value as i8); // -127 to 127
        }
        QuantisedGroup { values, scale: largest / 127.0, sums }
    });
}

pub(super) fn product(_: Avx2, matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    // SAFETY: the token stands for the features.
    unsafe { product_of(matrix, tiles, x, out) }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn product_of(matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    for tile in tiles {
        let mut row = 0;
        while row < x.n_rows {
            row += match (x.n_rows - row, matrix.format()) {
                (ROWS.., Format::Q4_0) => rows::<{ Format::Q4_0 as u8 }, ROWS>(matrix, tile, x, row, out),
                (ROWS.., Format::Q8_0) => rows::<{ Format::Q8_0 as u8 }, ROWS>(matrix, tile, x, row, out),
                (ROWS.., Format::Q4K) => rows::<{ Format::Q4K as u8 }, ROWS>(matrix, tile, x, row, out),
                (ROWS.., Format::Q5K) => rows::<{ Format::Q5K as u8 }, ROWS>(matrix, tile, x, row, out),
                (ROWS.., _) => rows::<{ Format::Q6K as u8 }, ROWS>(matrix, tile, x, row, out),
                (_, Format::Q4_0) => rows::<{ Format::Q4_0 as u8 }, 1>(matrix, tile, x, row, out),
                (_, Format::Q8_0) => rows::<{ Format::Q8_0 as u8 }, 1>(matrix, tile, x, row, out),
                (_, Format::Q4K) => rows::<{ Format::Q4K as u8 }, 1>(matrix, tile, x, row, out),
                (_, Format::Q5K) => rows::<{ Format::Q5K as u8 }, 1>(matrix, tile, x, row, out),
                _ => rows::<{ Format::Q6K as u8 }, 1>(matrix, tile, x, row, out),
            };
        }
    }
}

/// `R` rows of activations times a tile; returns the rows. Eight rows of weights at a time.
#[target_feature(enable = "avx2,fma,f16c")]
fn rows<const FORMAT: u8, const R: usize>(
    matrix: &Matrix,
    tile: usize,
    x: &Quantised,
    row: usize,
    out: &Outputs<'_>,
) -> usize {
    let format = matrix.format();
    let layout = format.layout();
    let n_groups = format.block() / GROUP;
    let bytes = matrix.tile(tile);
    assert!(format as u8 == FORMAT && row + R <= x.n_rows);
    assert!(bytes.len() == x.n_groups / n_groups * layout.tile_bytes());
    let mut y = [[0.0; TILE]; R];
    for half in 0..2 {
        let mut sums = [_mm256_setzero_ps(); R];
        for group in 0..x.n_groups {
            let block = &bytes[group / n_groups * layout.tile_bytes()..][..layout.tile_bytes()];
            let weights = Weights::of::<FORMAT>(block, layout.head, layout.group, group % n_groups, half);
            for (at, y) in sums.iter_mut().enumerate() {
                let place = x.at(row + at, group);
                let parts = weights.dot::<FORMAT>(&x.values[place], x.sums[place]);
                let scale = _mm256_set1_ps(x.scales[place]);
                if FORMAT == Format::Q6K as u8 {
                    for (part, of_weights) in parts.into_iter().zip(weights.scales) {
                        *y = _mm256_fmadd_ps(_mm256_cvtepi32_ps(part), _mm256_mul_ps(of_weights, scale), *y);
                    }
                } else {
                    let sum = _mm256_cvtepi32_ps(_mm256_add_epi32(parts[0], parts[1]));
                    *y = _mm256_fmadd_ps(sum, _mm256_mul_ps(weights.scales[0], scale), *y);
                }
                if FORMAT == Format::Q4K as u8 || FORMAT == Format::Q5K as u8 {
                    let scaled_sum = _mm256_set1_ps(x.scaled_sums[place]);
                    *y = _mm256_fmadd_ps(weights.minima, scaled_sum, *y);
                }
            }
        }
        for (y, sums) in y.iter_mut().zip(sums) {
            // SAFETY: eight of sixteen values are written.
            unsafe { _mm256_storeu_ps(y.as_mut_ptr().add(8 * half), sums) };
        }
    }
    y.iter().enumerate().for_each(|(at, y)| out.put(row + at, tile, y));
    R
}

/// A group of eight rows.
struct Weights {
    /// Vector `g` holds columns `4g..` of each row: unsigned, but for Q8_0.
    bytes: [__m256i; 8],
    /// Of each half of the group.
    scales: [__m256; 2],
    /// Negative.
    minima: __m256,
}

impl Weights {
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn of<const FORMAT: u8>(block: &[u8], head: usize, group_bytes: usize, group: usize, half: usize) -> Self {
        let at = &block[head + group * group_bytes..][..group_bytes];
        let vector = |index: usize| -> __m256i {
            let bytes = &at[index * VECTOR + half * VECTOR / 2..][..VECTOR / 2];
            // SAFETY: 32 bytes are read.
            unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
        };
        // Eight f16, or bytes that become f32, behind a place in the head.
        let halves = |start: usize| -> __m256 {
            let bytes = &block[start + half * HALVES / 2..][..HALVES / 2];
            // SAFETY: 16 bytes are read.
            unsafe { _mm256_cvtph_ps(_mm_loadu_si128(bytes.as_ptr().cast())) }
        };
        let eight = |start: usize| -> __m128i {
            let bytes = &block[start + half * TILE / 2..][..TILE / 2];
            // SAFETY: 8 bytes are read.
            unsafe { _mm_loadl_epi64(bytes.as_ptr().cast()) }
        };
        let zero = _mm256_setzero_ps();
        if FORMAT == Format::Q8_0 as u8 {
            let bytes = [0, 1, 2, 3, 4, 5, 6, 7].map(vector);
            return Self { bytes, scales: [halves(0); 2], minima: zero };
        }
        let low = _mm256_set1_epi8(15);
        let lines = [0, 1, 2, 3].map(vector);
        let [a, b, c, d] = lines.map(|line| _mm256_and_si256(line, low));
        let [e, f, g, h] = lines.map(|line| _mm256_and_si256(_mm256_srli_epi16::<4>(line), low));
        let nibbles = [a, b, c, d, e, f, g, h];
        if FORMAT == Format::Q4_0 as u8 {
            return Self { bytes: nibbles, scales: [halves(0); 2], minima: zero };
        }
        if FORMAT == Format::Q6K as u8 {
            let upper = _mm256_set1_epi8(3);
            let bits = |line: __m256i| {
                [
                    _mm256_and_si256(line, upper),
                    _mm256_and_si256(_mm256_srli_epi16::<2>(line), upper),
                    _mm256_and_si256(_mm256_srli_epi16::<4>(line), upper),
                    _mm256_and_si256(_mm256_srli_epi16::<6>(line), upper),
                ]
            };
            let bits = [bits(vector(4)), bits(vector(5))];
            let mut bytes = nibbles;
            for (at, byte) in bytes.iter_mut().enumerate() {
                *byte = _mm256_or_si256(*byte, _mm256_slli_epi16::<4>(bits[at / 4][at % 4]));
            }
            let all = halves(0);
            let scales = [0, 1].map(|part| {
                let scales = _mm256_cvtepi8_epi32(eight(HALVES + (2 * group + part) * TILE));
                _mm256_mul_ps(all, _mm256_cvtepi32_ps(scales))
            });
            return Self { bytes, scales, minima: zero };
        }
        let mut bytes = nibbles;
        if FORMAT == Format::Q5K as u8 {
            let (mut fifth, bit) = (vector(4), _mm256_set1_epi8(1));
            for byte in &mut bytes {
                *byte = _mm256_or_si256(*byte, _mm256_slli_epi16::<4>(_mm256_and_si256(fifth, bit)));
                fifth = _mm256_srli_epi16::<1>(fifth);
            }
        }
        let of_group = |of_all: usize, at: usize| {
            let bytes = _mm256_cvtepu8_epi32(eight(2 * HALVES + at * TILE));
            _mm256_mul_ps(halves(of_all * HALVES), _mm256_cvtepi32_ps(bytes))
        };
        let minima = _mm256_sub_ps(zero, of_group(1, GROUPS + group));
        Self { bytes, scales: [of_group(0, group); 2], minima }
    }

    /// The exact sums of each half of the group, without what the bytes are more than the values.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn dot<const FORMAT: u8>(&self, x: &[i8; GROUP], sums: [i32; 2]) -> [__m256i; 2] {
        let offset = match FORMAT {
            _ if FORMAT == Format::Q4_0 as u8 => 8,
            _ if FORMAT == Format::Q6K as u8 => 32,
            _ => 0,
        };
        let ones = _mm256_set1_epi16(1);
        let mut halves = sums.map(|sum| _mm256_set1_epi32(-offset * sum));
        for (at, x) in x.as_chunks::<4>().0.iter().enumerate() {
            let (weights, four) = (self.bytes[at], _mm256_set1_epi32(i32::from_le_bytes(x.map(|x| x as u8))));
            let pairs = if FORMAT == Format::Q8_0 as u8 {
                _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(four, weights))
            } else {
                _mm256_maddubs_epi16(weights, four)
            };
            halves[at / 4] = _mm256_add_epi32(halves[at / 4], _mm256_madd_epi16(pairs, ones));
        }
        halves
    }
}
