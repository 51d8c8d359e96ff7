//! Products of rows of activations and a tile. Weights are multiplied as they are unpacked, and all sums are in registers.

use std::arch::asm;
use std::arch::x86_64::*;

use crate::activations::{BAND, GROUP, Quantised};
use crate::kernels::avx512::group::{add_minima, add_scaled, prefetch};
use crate::kernels::avx512::layouts::FormatLayout;
use crate::simd::Avx512;

/// Multiplies `R` rows of activations, from `row` on, with a tile.
///
/// # Safety
/// The tile must have the layout's format and a group for each group of the activations; the rows must exist and be one row or
/// up to sixteen in one band; the processor must have AVX-512 VNNI.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,f16c")]
pub(super) unsafe fn rows<L: FormatLayout, const R: usize>(
    simd: Avx512,
    tile: &[u8],
    x: &Quantised,
    row: usize,
) -> [__m512; R] {
    let layout = L::FORMAT.layout();
    let n_groups = L::FORMAT.block() / GROUP;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut sums = [_mm512_setzero_ps(); R];
        let mut block = tile.as_ptr();
        for first in (0..x.n_groups).step_by(n_groups) {
            for group in 0..n_groups {
                if R != 1 {
                    prefetch::<L, R>(simd, block, group);
                }
                let weights = L::bytes(block, group);
                let (scales, minima) = (L::scales(block, group), L::minima(block, group));
                let place = x.at(row, first + group);
                // Unrolled by a macro, so that sums stay in registers: compilers do not unroll a loop of this size.
                macro_rules! add_rows {
                    ($($at:literal)*) => {
                        $(if $at < R {
                            let [first, second] = exact_sums::<L, $at>(&weights, (x, place));
                            let here = (x, place + $at);
                            if L::BY_HALVES {
                                sums[$at] = add_scaled(first, scales[0], here, sums[$at]);
                                sums[$at] = add_scaled(second, scales[1], here, sums[$at]);
                            } else {
                                sums[$at] = add_scaled(_mm512_add_epi32(first, second), scales[0], here, sums[$at]);
                            }
                            if L::HAS_MINIMA {
                                sums[$at] = add_minima(minima, here, sums[$at]);
                            }
                        })*
                    };
                }
                add_rows!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
                // One row waits for memory: before the loads of this group, prefetches of the next would delay them.
                if R == 1 {
                    prefetch::<L, R>(simd, block, group);
                }
            }
            block = block.add(layout.tile_bytes());
        }
        sums
    }
}

/// The exact sums of both halves of a group, for row `place + AFTER`. It is in assembly because compilers compute the products
/// of many rows before they add the products of the first row, for which there are too few registers.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn exact_sums<L: FormatLayout, const AFTER: usize>(
    weights: &[__m512i; 8],
    (x, place): (&Quantised, usize),
) -> [__m512i; 2] {
    // SAFETY: the caller guarantees AVX-512 VNNI, and that the activations have the place.
    unsafe {
        let [first, second] = *x.sums.get_unchecked(place + AFTER);
        // The caller adds both sums if the halves share a scale.
        let starts = if L::BY_HALVES { [first, second] } else { [first + second, 0] };
        let mut first = _mm512_set1_epi32(-L::OFFSET * starts[0]);
        let mut second = _mm512_set1_epi32(-L::OFFSET * starts[1]);
        asm!(
            "vpdpbusd {first}, {w0}, [{values} + 32 * {after}]{{1to16}}",
            "vpdpbusd {second}, {w4}, [{values} + 32 * {after} + 16]{{1to16}}",
            "vpdpbusd {first}, {w1}, [{values} + 32 * {after} + 4]{{1to16}}",
            "vpdpbusd {second}, {w5}, [{values} + 32 * {after} + 20]{{1to16}}",
            "vpdpbusd {first}, {w2}, [{values} + 32 * {after} + 8]{{1to16}}",
            "vpdpbusd {second}, {w6}, [{values} + 32 * {after} + 24]{{1to16}}",
            "vpdpbusd {first}, {w3}, [{values} + 32 * {after} + 12]{{1to16}}",
            "vpdpbusd {second}, {w7}, [{values} + 32 * {after} + 28]{{1to16}}",
            first = inout(zmm_reg) first, second = inout(zmm_reg) second,
            w0 = in(zmm_reg) weights[0], w1 = in(zmm_reg) weights[1], w2 = in(zmm_reg) weights[2],
            w3 = in(zmm_reg) weights[3], w4 = in(zmm_reg) weights[4], w5 = in(zmm_reg) weights[5],
            w6 = in(zmm_reg) weights[6], w7 = in(zmm_reg) weights[7],
            values = in(reg) x.values.as_ptr().add(place), after = const AFTER,
            options(readonly, nostack, preserves_flags)
        );
        [first, second]
    }
}

/// Multiplies a band of rows of activations, from `row` on, with two tiles of a format whose halves have scales of their own.
/// There, loads limit the speed of [`rows`] on processors that multiply 512 bits at once; here, a value is loaded once for both
/// tiles. There are no registers for the sums of so many rows, so these are in memory.
///
/// # Safety
/// As for [`rows`], for each of the tiles.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,f16c")]
pub(super) unsafe fn band_of_two<L: FormatLayout>(
    simd: Avx512,
    tiles: [&[u8]; 2],
    x: &Quantised,
    row: usize,
) -> [[__m512; 2]; BAND] {
    debug_assert!(L::BY_HALVES && !L::HAS_MINIMA);
    let layout = L::FORMAT.layout();
    let n_groups = L::FORMAT.block() / GROUP;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut sums = [[_mm512_setzero_ps(); 2]; BAND];
        let mut blocks = [tiles[0].as_ptr(), tiles[1].as_ptr()];
        for first in (0..x.n_groups).step_by(n_groups) {
            for group in 0..n_groups {
                prefetch::<L, BAND>(simd, blocks[0], group);
                prefetch::<L, BAND>(simd, blocks[1], group);
                let weights = [L::bytes(blocks[0], group), L::bytes(blocks[1], group)];
                let scales = [L::scales(blocks[0], group), L::scales(blocks[1], group)];
                let place = x.at(row, first + group);
                for (at, sums) in sums.iter_mut().enumerate() {
                    let here = (x, place + at);
                    let exact = exact_sums_of_two::<L>(&weights, here);
                    for (tile, sum) in sums.iter_mut().enumerate() {
                        *sum = add_scaled(exact[tile][0], scales[tile][0], here, *sum);
                        *sum = add_scaled(exact[tile][1], scales[tile][1], here, *sum);
                    }
                }
            }
            blocks = blocks.map(|block| block.add(layout.tile_bytes()));
        }
        sums
    }
}

/// The exact sums of both halves of a group of two tiles, for one row. In assembly so that a value that is loaded stays in its
/// register for both products.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn exact_sums_of_two<L: FormatLayout>(
    [one, two]: &[[__m512i; 8]; 2],
    (x, place): (&Quantised, usize),
) -> [[__m512i; 2]; 2] {
    // SAFETY: the caller guarantees AVX-512 VNNI, and that the activations have the place.
    unsafe {
        let starts = x.sums.get_unchecked(place).map(|sum| _mm512_set1_epi32(-L::OFFSET * sum));
        let ([mut first_one, mut second_one], [mut first_two, mut second_two]) = (starts, starts);
        let (mut x0, mut x1) = (_mm512_setzero_si512(), _mm512_setzero_si512());
        macro_rules! add_four_columns {
            ($at:literal, $first:literal, $second:literal) => {
                asm!(
                    "vpbroadcastd {x0}, [{values} + 4 * {at}]",
                    "vpbroadcastd {x1}, [{values} + 4 * {at} + 16]",
                    "vpdpbusd {first_one}, {one0}, {x0}",
                    "vpdpbusd {first_two}, {two0}, {x0}",
                    "vpdpbusd {second_one}, {one1}, {x1}",
                    "vpdpbusd {second_two}, {two1}, {x1}",
                    first_one = inout(zmm_reg) first_one, first_two = inout(zmm_reg) first_two,
                    second_one = inout(zmm_reg) second_one, second_two = inout(zmm_reg) second_two,
                    x0 = out(zmm_reg) x0, x1 = out(zmm_reg) x1, at = const $at,
                    one0 = in(zmm_reg) one[$first], one1 = in(zmm_reg) one[$second],
                    two0 = in(zmm_reg) two[$first], two1 = in(zmm_reg) two[$second],
                    values = in(reg) x.values.as_ptr().add(place),
                    options(pure, readonly, nostack, preserves_flags)
                );
            };
        }
        add_four_columns!(0, 0, 4);
        add_four_columns!(1, 1, 5);
        add_four_columns!(2, 2, 6);
        add_four_columns!(3, 3, 7);
        let _ = (x0, x1); // only the products read them
        [[first_one, second_one], [first_two, second_two]]
    }
}
