//! One row of activations: weights are used as they are unpacked.

use std::arch::x86_64::*;

use crate::activations::{GROUP, Quantised};
use crate::kernels::avx2::layouts::Layout;
use crate::kernels::avx2::{add, ask_ahead};

/// A row times a tile: the sums of each half of the tile.
///
/// # Safety
/// The tile is of the layout's format and has a group for each of the activations; the row is there; the processor has AVX2.
#[inline(always)]
pub(super) unsafe fn row<L: Layout>(tile: &[u8], x: &Quantised, row: usize) -> [__m256; 2] {
    let layout = L::FORMAT.layout();
    let n_groups = L::FORMAT.block() / GROUP;
    // SAFETY: the caller's.
    unsafe {
        let mut sums = [_mm256_setzero_ps(); 2];
        let mut block = tile.as_ptr();
        for first in (0..x.n_groups).step_by(n_groups) {
            for group in 0..n_groups {
                ask_ahead::<L>(block, group);
                let place = x.at(row, first + group);
                for (half, sum) in sums.iter_mut().enumerate() {
                    let exact = dot::<L>(L::bytes(block, group, half), x, place);
                    let (scales, minima) = (L::scales(block, group, half), L::minima(block, group, half));
                    *sum = add::<L>(exact, scales, minima, (x, place), *sum);
                }
            }
            block = block.add(layout.tile_bytes());
        }
        sums
    }
}

/// The exact sums of both halves of a group, or of the whole where they share a scale.
#[inline(always)]
unsafe fn dot<L: Layout>(weights: [__m256i; 8], x: &Quantised, place: usize) -> [__m256i; 2] {
    // SAFETY: the caller has AVX2, and the activations the place.
    unsafe {
        let (fours, _) = x.values.get_unchecked(place).as_chunks::<4>();
        let [first, second] = *x.sums.get_unchecked(place);
        let ones = _mm256_set1_epi16(1);
        let mut exact = match L::BY_HALVES {
            true => [_mm256_set1_epi32(-L::OFFSET * first), _mm256_set1_epi32(-L::OFFSET * second)],
            false => [_mm256_set1_epi32(-L::OFFSET * (first + second)), _mm256_setzero_si256()],
        };
        let mut pairs = _mm256_setzero_si256();
        for at in 0..8 {
            let four = _mm256_set1_epi32(i32::from_le_bytes(fours[at].map(|x| x as u8)));
            let products = if L::IS_SIGNED {
                // Without their sign, which moves to the activations, pairs of products are at most 32,512.
                _mm256_maddubs_epi16(_mm256_abs_epi8(weights[at]), _mm256_sign_epi8(four, weights[at]))
            } else {
                _mm256_maddubs_epi16(weights[at], four)
            };
            pairs = if at % L::RUN == 0 { products } else { _mm256_add_epi16(pairs, products) };
            if at % L::RUN == L::RUN - 1 {
                let part = if L::BY_HALVES { at / 4 } else { 0 };
                exact[part] = _mm256_add_epi32(exact[part], _mm256_madd_epi16(pairs, ones));
            }
        }
        exact
    }
}
