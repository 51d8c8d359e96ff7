//! What products of rows do with each group: its prefetch, and its scaled sums.

use std::arch::x86_64::*;

use crate::activations::Quantised;
use crate::kernels::avx512::layouts::FormatLayout;
use crate::matrix::VECTOR;
use crate::simd::Avx512;

/// Prefetches weights for `R` rows of activations: as many bytes as a group and its share of the head take, some distance
/// after a group of a block.
///
/// For one row, Zen 4 prefetches a short distance only. For several rows there is time to prefetch from farther away, into the
/// second-level cache. The distances are the fastest of those that were measured.
#[inline(always)]
pub(super) unsafe fn prefetch<L: FormatLayout, const R: usize>(simd: Avx512, block: *const u8, group: usize) {
    let share = L::FORMAT.layout().group_share();
    let group = block.wrapping_add(group * share);
    // SAFETY: the caller guarantees AVX-512; an invalid address is ignored.
    unsafe {
        match (simd.is_zen_4, R) {
            (true, 1) => prefetch_bytes::<_MM_HINT_T0>(group.wrapping_add(Avx512::NEAR), share),
            (true, _) => prefetch_bytes::<_MM_HINT_T1>(group.wrapping_add(4608), share),
            (false, _) => prefetch_bytes::<_MM_HINT_T0>(group.wrapping_add(2304), share),
        }
    }
}

#[inline(always)]
unsafe fn prefetch_bytes<const HINT: i32>(start: *const u8, n_bytes: usize) {
    for line in (0..n_bytes).step_by(VECTOR) {
        // SAFETY: the caller's.
        unsafe { _mm_prefetch::<HINT>(start.wrapping_add(line).cast()) };
    }
}

/// Adds the integer sums of a group, or of half of one, to the sums of a row of activations and sixteen rows of weights, in the
/// order of [`portable`](crate::kernels::portable).
#[inline(always)]
pub(super) unsafe fn add_scaled(
    exact: __m512i,
    scales: __m512,
    (x, place): (&Quantised, usize),
    sums: __m512,
) -> __m512 {
    // SAFETY: the caller guarantees AVX-512, and that the activations have the place.
    unsafe {
        let scale = _mm512_set1_ps(*x.scales.get_unchecked(place));
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), _mm512_mul_ps(scales, scale), sums)
    }
}

/// Adds the products of a group's minima.
#[inline(always)]
pub(super) unsafe fn add_minima(minima: __m512, (x, place): (&Quantised, usize), sums: __m512) -> __m512 {
    // SAFETY: the caller guarantees AVX-512, and that the activations have the place.
    unsafe { _mm512_fmadd_ps(minima, _mm512_set1_ps(*x.scaled_sums.get_unchecked(place)), sums) }
}
