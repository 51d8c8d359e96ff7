//! AVX-512 with VNNI: unsigned bytes of sixteen rows of weights meet signed bytes of activations, four to a lane.
//!
//! The weights' offset (8, 32 or 128) is paid in advance: an integer sum begins at minus the offset times the sum of the
//! activations.

pub(super) mod layouts;
mod rows;

use std::arch::x86_64::*;
use std::ops::Range;

use crate::activations::{BAND, GROUP, Quantised, QuantisedBand, QuantisedGroup, inverse};
use crate::kernels::Outputs;
use crate::kernels::avx512::layouts::{Layout, Q4_0, Q4K, Q5_1, Q5K, Q6K, Q8_0};
use crate::kernels::avx512::rows::rows;
use crate::matrix::{Format, Matrix, TILE, VECTOR};
use crate::simd::Avx512;

/// The rows of a band where there are so many: what several rows have of a group lies together.
pub(super) fn band_height(n_rows: usize) -> usize {
    if n_rows < 2 { 1 } else { BAND }
}

pub(super) fn quantise(_: Avx512, x: &[f32], to: &mut QuantisedBand<'_>, row: usize) {
    // SAFETY: the token stands for the features.
    unsafe { quantise_row(x, to, row) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn quantise_row(x: &[f32], to: &mut QuantisedBand<'_>, row: usize) {
    to.put(row, x, |x| {
        // SAFETY: 32 values are read; the features are the caller's.
        unsafe {
            let parts = [_mm512_loadu_ps(x.as_ptr()), _mm512_loadu_ps(x.as_ptr().add(16))];
            let magnitudes = parts.map(|part| _mm512_castps_si512(_mm512_abs_ps(part)));
            let largest = _mm512_reduce_max_epu32(_mm512_max_epu32(magnitudes[0], magnitudes[1]));
            let largest = f32::from_bits(largest);
            let inverse = _mm512_set1_ps(inverse(largest));
            let whole = parts.map(|part| {
                let scaled = _mm512_mul_ps(part, inverse);
                // Infinity times 0 is no number, and counts as 0: the scale tells of it.
                let is_number = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(scaled, scaled);
                _mm512_maskz_cvtps_epi32(is_number, scaled)
            });
            let mut values = [0i8; GROUP];
            _mm_storeu_si128(values.as_mut_ptr().cast(), _mm512_cvtsepi32_epi8(whole[0]));
            _mm_storeu_si128(values.as_mut_ptr().add(16).cast(), _mm512_cvtsepi32_epi8(whole[1]));
            let sums = whole.map(|whole| _mm512_reduce_add_epi32(whole));
            QuantisedGroup { values, scale: largest / 127.0, sums }
        }
    });
}

pub(super) fn product(simd: Avx512, matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    // SAFETY: the token stands for the features; the matrix has the format of the layout.
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
unsafe fn product_of<L: Layout>(simd: Avx512, matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    assert!(matrix.n_columns() == x.n_groups * GROUP && x.height == band_height(x.n_rows));
    for tile in tiles {
        let mut row = 0;
        while row < x.n_rows {
            // SAFETY: the tile is of this format and has a group for each of the activations; so many rows are there, in bands
            // of sixteen, as checked, and no more of one than are left of it, since the larger numbers come first.
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
}

#[inline]
#[target_feature(enable = "avx512f")]
fn put_rows<const R: usize>(out: &Outputs<'_>, first_row: usize, tile: usize, sums: [__m512; R]) -> usize {
    for (at, sums) in sums.iter().enumerate() {
        // SAFETY: both are sixteen floats.
        out.put(first_row + at, tile, unsafe { &*std::ptr::from_ref(sums).cast::<[f32; TILE]>() });
    }
    R
}

/// Asks memory for what `R` rows of activations will meet soon: for as many bytes, some way behind a group of a block, as a
/// group takes with its part of the head.
///
/// With one row Zen 4 asks for the nearest only; with more there is time for what is far, and room for it in the second
/// cache. The distances are the fastest of those that were tried.
#[inline(always)]
unsafe fn ask_ahead<L: Layout, const R: usize>(simd: Avx512, block: *const u8, group: usize) {
    let share = L::FORMAT.layout().group_share();
    let group = block.wrapping_add(group * share);
    // SAFETY: the caller has AVX-512; an address that is not there does no harm.
    unsafe {
        match (simd.is_zen_4, R) {
            (true, 1) => ask::<_MM_HINT_T0>(group.wrapping_add(Avx512::NEAR), share),
            (true, _) => ask::<_MM_HINT_T1>(group.wrapping_add(4608), share),
            (false, _) => ask::<_MM_HINT_T0>(group.wrapping_add(2304), share),
        }
    }
}

#[inline(always)]
unsafe fn ask<const HINT: i32>(start: *const u8, n_bytes: usize) {
    for line in (0..n_bytes).step_by(VECTOR) {
        // SAFETY: the caller's.
        unsafe { _mm_prefetch::<HINT>(start.wrapping_add(line).cast()) };
    }
}

/// Adds the exact sums of a group, or of half of one, to the sums of a row of activations and sixteen rows of weights, in
/// the order of [`portable`](super::portable).
#[inline(always)]
unsafe fn add_scaled(exact: __m512i, scales: __m512, (x, place): (&Quantised, usize), sums: __m512) -> __m512 {
    // SAFETY: the caller has AVX-512, and the activations the place.
    unsafe {
        let scale = _mm512_set1_ps(*x.scales.get_unchecked(place));
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), _mm512_mul_ps(scales, scale), sums)
    }
}

/// Adds what the minima of a group give.
#[inline(always)]
unsafe fn add_minima(minima: __m512, (x, place): (&Quantised, usize), sums: __m512) -> __m512 {
    // SAFETY: the caller has AVX-512, and the activations the place.
    unsafe { _mm512_fmadd_ps(minima, _mm512_set1_ps(*x.scaled_sums.get_unchecked(place)), sums) }
}
