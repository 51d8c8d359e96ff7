//! Few rows of activations: weights are used as they are unpacked.

use std::arch::x86_64::*;

use crate::activations::{GROUP, Quantised};
use crate::kernels::avx512::layouts::Layout;
use crate::kernels::avx512::{AHEAD, add_minima, add_scaled, ask_ahead};

/// `R` rows of activations, from the given one on, times a tile.
///
/// # Safety
/// The tile is of the layout's format and has a group for each of the activations; the rows are there; the processor has
/// AVX-512 VNNI.
#[inline(always)]
pub(super) unsafe fn rows<L: Layout, const R: usize>(tile: &[u8], x: &Quantised, row: usize) -> [__m512; R] {
    let layout = L::FORMAT.layout();
    let n_groups = L::FORMAT.block() / GROUP;
    // SAFETY: the caller's.
    unsafe {
        let mut sums = [_mm512_setzero_ps(); R];
        let mut block = tile.as_ptr();
        for first in (0..x.n_groups).step_by(n_groups) {
            for group in 0..n_groups {
                ask_ahead::<L>(block, group, AHEAD);
                let weights = L::bytes(block, group);
                let (scales, minima) = (L::scales(block, group), L::minima(block, group));
                for (at, sum) in sums.iter_mut().enumerate() {
                    let place = x.at(row + at, first + group);
                    let fours = x.values.get_unchecked(place).as_ptr().cast::<i32>();
                    let [first, second] = *x.sums.get_unchecked(place);
                    // Whole numbers: two chains hide the time of one, and give the same.
                    let mut exact = [_mm512_set1_epi32(-L::OFFSET * first), _mm512_set1_epi32(-L::OFFSET * second)];
                    for column in 0..4 {
                        for (half, exact) in exact.iter_mut().enumerate() {
                            let vector = 4 * half + column;
                            let four = _mm512_set1_epi32(fours.add(vector).read_unaligned());
                            *exact = _mm512_dpbusd_epi32(*exact, weights[vector], four);
                        }
                    }
                    if L::BY_HALVES {
                        *sum = add_scaled(exact[0], scales[0], (x, place), *sum);
                        *sum = add_scaled(exact[1], scales[1], (x, place), *sum);
                    } else {
                        *sum = add_scaled(_mm512_add_epi32(exact[0], exact[1]), scales[0], (x, place), *sum);
                    }
                    if L::HAS_MINIMA {
                        *sum = add_minima(minima, (x, place), *sum);
                    }
                }
            }
            block = block.add(layout.tile_bytes());
        }
        sums
    }
}
