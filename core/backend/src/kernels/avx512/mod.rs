//! AVX-512 with VNNI: multiplies unsigned bytes of sixteen rows of weights with signed bytes of activations, four to a lane.
//!
//! Integer sums start at minus the weights' offset (8, 32 or 128) times the sum of the activations.

mod group;
pub(super) mod layouts;
mod rows;

use std::arch::x86_64::*;
use std::ops::Range;

use crate::activations::{BAND, GROUP, Quantised, QuantisedBand, QuantisedGroup, inverse};
use crate::kernels::avx512::layouts::{FormatLayout, Q4_0, Q4K, Q5_1, Q5K, Q6K, Q8_0};
use crate::kernels::avx512::rows::{band_of_two, rows};
use crate::kernels::outputs::Outputs;
use crate::matrix::{Format, Matrix, TILE};
use crate::simd::Avx512;

/// Rows of a band, for quantised activations of `n_rows` rows: the same group of several rows is contiguous.
pub(super) fn band_height(n_rows: usize) -> usize {
    if n_rows < 2 { 1 } else { BAND }
}

pub(super) fn quantise(_: Avx512, x: &[f32], to: &mut QuantisedBand<'_>, row: usize) {
    // SAFETY: `Avx512` proves the features.
    unsafe { quantise_row(x, to, row) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn quantise_row(x: &[f32], to: &mut QuantisedBand<'_>, row: usize) {
    to.set_row(row, x, |x| {
        // SAFETY: 32 values are read; the caller guarantees the features.
        unsafe {
            let parts = [_mm512_loadu_ps(x.as_ptr()), _mm512_loadu_ps(x.as_ptr().add(16))];
            // The bits of floats without a sign are in the order of the floats.
            let [first, second] = [_mm512_abs_ps(parts[0]), _mm512_abs_ps(parts[1])];
            let largest = _mm512_max_epu32(_mm512_castps_si512(first), _mm512_castps_si512(second));
            let largest = _mm512_reduce_max_epu32(largest);
            let largest = f32::from_bits(largest);
            let inverse = _mm512_set1_ps(inverse(largest));
            let mut whole = [_mm512_setzero_si512(); 2];
            for at in 0..2 {
                let scaled = _mm512_mul_ps(parts[at], inverse);
                // Infinity times 0 is NaN and becomes 0; the scale is not finite in this case.
                let is_number = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(scaled, scaled);
                whole[at] = _mm512_maskz_cvtps_epi32(is_number, scaled);
            }
            let mut values = [0i8; GROUP];
            _mm_storeu_si128(values.as_mut_ptr().cast(), _mm512_cvtsepi32_epi8(whole[0]));
            _mm_storeu_si128(values.as_mut_ptr().add(16).cast(), _mm512_cvtsepi32_epi8(whole[1]));
            let sums = [_mm512_reduce_add_epi32(whole[0]), _mm512_reduce_add_epi32(whole[1])];
            QuantisedGroup { values, scale: largest / 127.0, sums }
        }
    });
}

pub(super) fn product(simd: Avx512, matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    // SAFETY: `Avx512` proves the features; the matrix has the layout's format.
    unsafe {
        match matrix.format() {
            Format::Q4_0 => product_of::<Q4_0>(simd, matrix, tiles, x, out),
            Format::Q8_0 => product_of::<Q8_0>(simd, matrix, tiles, x, out),
            Format::Q4K => product_of::<Q4K>(simd, matrix, tiles, x, out),
            Format::Q5_1 => product_of::<Q5_1>(simd, matrix, tiles, x, out),
            Format::Q5K => product_of::<Q5K>(simd, matrix, tiles, x, out),
            Format::Q6K => product_of::<Q6K>(simd, matrix, tiles, x, out),
            Format::F32 | Format::F16 | Format::Bf16 => unreachable!("floats have kernels of their own"),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,f16c")]
unsafe fn product_of<L: FormatLayout>(
    simd: Avx512,
    matrix: &Matrix,
    tiles: Range<usize>,
    x: &Quantised,
    out: &Outputs<'_>,
) {
    assert!(matrix.n_columns() == x.n_groups * GROUP && x.height == band_height(x.n_rows));
    // SAFETY: the tiles have this format and a group for each group of the activations. The rows exist, in bands of sixteen, as
    // checked; larger steps come first, so no step crosses the end of a band.
    unsafe {
        let mut tile = tiles.start;
        if L::BY_HALVES && x.n_rows >= BAND {
            while tile + 2 <= tiles.end {
                let mut row = 0;
                while row + BAND <= x.n_rows {
                    let sums = band_of_two::<L>(simd, [matrix.tile(tile), matrix.tile(tile + 1)], x, row);
                    for (at, [one, two]) in sums.iter().enumerate() {
                        put(out, row + at, tile, one);
                        put(out, row + at, tile + 1, two);
                    }
                    row += BAND;
                }
                put_all_rows::<L>(simd, matrix, tile, x, row, out);
                put_all_rows::<L>(simd, matrix, tile + 1, x, row, out);
                tile += 2;
            }
        }
        for tile in tile..tiles.end {
            put_all_rows::<L>(simd, matrix, tile, x, 0, out);
        }
    }
}

/// Multiplies all rows from the first on with a tile.
///
/// # Safety
/// As for [`rows`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,f16c")]
unsafe fn put_all_rows<L: FormatLayout>(
    simd: Avx512,
    matrix: &Matrix,
    tile: usize,
    x: &Quantised,
    mut row: usize,
    out: &Outputs<'_>,
) {
    while row < x.n_rows {
        // SAFETY: guaranteed by the caller.
        row += unsafe {
            match x.n_rows - row {
                16.. => put_rows(out, row, tile, rows::<L, 16>(simd, matrix.tile(tile), x, row)),
                8.. => put_rows(out, row, tile, rows::<L, 8>(simd, matrix.tile(tile), x, row)),
                4.. => put_rows(out, row, tile, rows::<L, 4>(simd, matrix.tile(tile), x, row)),
                2.. => put_rows(out, row, tile, rows::<L, 2>(simd, matrix.tile(tile), x, row)),
                _ => put_rows(out, row, tile, rows::<L, 1>(simd, matrix.tile(tile), x, row)),
            }
        };
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn put_rows<const R: usize>(out: &Outputs<'_>, first_row: usize, tile: usize, sums: [__m512; R]) -> usize {
    for (at, sums) in sums.iter().enumerate() {
        put(out, first_row + at, tile, sums);
    }
    R
}

#[inline]
#[target_feature(enable = "avx512f")]
fn put(out: &Outputs<'_>, row: usize, tile: usize, sums: &__m512) {
    // SAFETY: both types are sixteen floats.
    out.put(row, tile, unsafe { &*std::ptr::from_ref(sums).cast::<[f32; TILE]>() });
}
