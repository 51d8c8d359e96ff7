//! Products of one row of activations: weights are multiplied as they are unpacked.

use std::arch::x86_64::*;

use crate::activations::{GROUP, Quantised};
use crate::kernels::avx2::group::{PREFETCH_DISTANCE, add, prefetch};
use crate::kernels::avx2::layouts::FormatLayout;
use crate::kernels::avx2::multiply::Multiply;

/// Multiplies a row with a tile; returns the sums of each half of the tile.
///
/// # Safety
/// The tile must have the layout's format and a group for each group of the activations; the row must exist; the processor must
/// have AVX2 and the instructions of `M`.
#[inline(always)]
pub(super) unsafe fn row<L: FormatLayout, M: Multiply>(tile: &[u8], x: &Quantised, row: usize) -> [__m256; 2] {
    let layout = L::FORMAT.layout();
    let n_groups = L::FORMAT.block() / GROUP;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut sums = [_mm256_setzero_ps(); 2];
        let mut block = tile.as_ptr();
        for first in (0..x.n_groups).step_by(n_groups) {
            for group in 0..n_groups {
                prefetch::<L>(block, group, PREFETCH_DISTANCE);
                let place = x.at(row, first + group);
                let (values, sums_of_values) = (x.values.get_unchecked(place), *x.sums.get_unchecked(place));
                for (half, sum) in sums.iter_mut().enumerate() {
                    let exact = M::one_row::<L>(L::bytes(block, group, half), values, sums_of_values);
                    let (scales, minima) = (L::scales(block, group, half), L::minima(block, group, half));
                    *sum = add::<L>(exact, scales, minima, (x, place), *sum);
                }
            }
            block = block.add(layout.tile_bytes());
        }
        sums
    }
}
