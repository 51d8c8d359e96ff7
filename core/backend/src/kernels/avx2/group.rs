//! What products of one row and of many rows do with each group: its prefetch, its scaled sums, and what becomes of them.

use std::arch::x86_64::*;

use crate::activations::Quantised;
use crate::kernels::avx2::layouts::FormatLayout;
use crate::kernels::outputs::Outputs;
use crate::matrix::{TILE, VECTOR};

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn put(out: &Outputs<'_>, row: usize, tile: usize, sums: &[__m256; 2]) {
    let mut y = [0.0; TILE];
    let (halves, _) = y.as_chunks_mut::<{ TILE / 2 }>();
    for (y, sums) in halves.iter_mut().zip(sums) {
        // SAFETY: eight values are written.
        unsafe { _mm256_storeu_ps(y.as_mut_ptr(), *sums) };
    }
    out.put(row, tile, &y);
}

/// Prefetch distance in bytes.
pub(super) const PREFETCH_DISTANCE: usize = 2048;

/// Prefetches what is `distance` bytes after a group of a block, and the group's share of the head there.
#[inline(always)]
pub(super) unsafe fn prefetch<L: FormatLayout>(block: *const u8, group: usize, distance: usize) {
    let share = L::FORMAT.layout().group_share();
    let start = block.wrapping_add(group * share + distance);
    for line in (0..share).step_by(VECTOR) {
        // SAFETY: the caller guarantees AVX2; an invalid address is ignored.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line).cast()) };
    }
}

/// Adds the products of a group to the sums of a row of activations and eight rows of weights, in the order of
/// [`portable`](crate::kernels::portable). `exact` are the integer sums of each half of the group; if both halves share a scale, the
/// first is the sum of the whole group.
#[inline(always)]
pub(super) unsafe fn add<L: FormatLayout>(
    exact: [__m256i; 2],
    scales: [__m256; 2],
    minima: __m256,
    (x, place): (&Quantised, usize),
    mut sum: __m256,
) -> __m256 {
    // SAFETY: the caller guarantees AVX2, and that the activations have the place.
    unsafe {
        let scale = _mm256_set1_ps(*x.scales.get_unchecked(place));
        let n_parts = if L::BY_HALVES { 2 } else { 1 };
        for part in 0..n_parts {
            let scale = _mm256_mul_ps(scales[part], scale);
            sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact[part]), scale, sum);
        }
        if L::HAS_MINIMA {
            sum = _mm256_fmadd_ps(minima, _mm256_set1_ps(*x.scaled_sums.get_unchecked(place)), sum);
        }
        sum
    }
}
