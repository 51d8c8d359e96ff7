//! Products of many rows of activations: weights are unpacked once for all of them.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use std::ops::Range;

use crate::activations::{GROUP, Quantised};
use crate::kernels::avx2::group::{PREFETCH_DISTANCE, add, prefetch, put};
use crate::kernels::avx2::layouts::FormatLayout;
use crate::kernels::avx2::multiply::{Multiply, UnpackedGroup};
use crate::kernels::outputs::{Outputs, prefetch_offset};
use crate::matrix::Matrix;

/// Tiles, and rows of activations, that are computed together: the first-level cache holds their sums and a group of each tile.
pub(super) const TILES: usize = 4;
pub(super) const ROWS: usize = 64;

/// Sums of four rows of activations with both halves of a tile.
type FourRowSums = [[__m256; 2]; 4];

/// Writes the products of up to `ROWS` rows of activations, starting at a multiple of four, and up to `TILES` tiles.
///
/// # Safety
/// The matrix must have the layout's format and a group for each group of the activations; the rows must exist, in bands of
/// sixteen; the processor must have AVX2 and the instructions of `M`; no other thread may write the outputs of these tiles.
#[inline(always)]
pub(super) unsafe fn rows<L: FormatLayout, M: Multiply>(
    (matrix, tiles): (&Matrix, Range<usize>),
    (x, rows): (&Quantised, Range<usize>),
    out: &Outputs<'_>,
) {
    let (layout, n_groups) = (L::FORMAT.layout(), L::FORMAT.block() / GROUP);
    // The last four may be incomplete: a band always has memory for sixteen rows.
    let n_fours = rows.len().div_ceil(4);
    // Zeroes only what is needed: for few rows, zeroing everything would take longer than the products.
    let mut sums = [const { MaybeUninit::<[FourRowSums; TILES]>::uninit() }; ROWS / 4];
    // SAFETY: the caller guarantees AVX2.
    let zeros = [[[unsafe { _mm256_setzero_ps() }; 2]; 4]; TILES];
    sums[..n_fours].iter_mut().for_each(|sums| _ = sums.write(zeros));
    // SAFETY: the first `n_fours` were written.
    let sums = unsafe { sums[..n_fours].assume_init_mut() };
    let mut unpacked = [const { MaybeUninit::<UnpackedGroup>::uninit() }; TILES];
    let tile_bytes = L::FORMAT.tile_bytes(matrix.n_columns());
    for group in 0..x.n_groups {
        let distance = prefetch_offset(group * layout.group_share(), PREFETCH_DISTANCE, (TILES, tile_bytes));
        for (to, tile) in unpacked.iter_mut().zip(tiles.clone()) {
            // SAFETY: the caller guarantees that the tiles have the group.
            unsafe {
                let block = matrix.tile(tile).as_ptr().add(group / n_groups * layout.tile_bytes());
                unpack::<L, M>(to, (block, group % n_groups), distance);
            }
        }
        for (at, sums) in sums.iter_mut().enumerate() {
            // SAFETY: four rows of a band are contiguous; the groups of `tiles.len()` tiles are unpacked.
            unsafe {
                let place = x.at(rows.start + 4 * at, group);
                let values = M::prepare::<L>(&*x.values.as_ptr().add(place).cast());
                for (sums, weights) in sums.iter_mut().zip(&unpacked[..tiles.len()]) {
                    add_group::<L, M>(weights.as_ptr(), &values, (x, place), sums);
                }
            }
        }
    }
    for (four, sums) in sums.iter().enumerate() {
        for (tile, sums) in tiles.clone().zip(sums) {
            for (row, sums) in rows.clone().skip(4 * four).zip(sums) {
                // SAFETY: the caller guarantees AVX2.
                unsafe { put(out, row, tile, sums) };
            }
        }
    }
}

#[inline(always)]
unsafe fn unpack<L: FormatLayout, M: Multiply>(
    to: &mut MaybeUninit<UnpackedGroup>,
    (block, group): (*const u8, usize),
    distance: usize,
) {
    let to = to.as_mut_ptr();
    // SAFETY: the caller guarantees that the block has the group; everything that the layout's products read is written.
    unsafe {
        prefetch::<L>(block, group, distance);
        for half in 0..2 {
            let bytes = L::bytes(block, group, half);
            for (at, bytes) in bytes.into_iter().enumerate() {
                M::keep::<L>(to, at, half, bytes);
            }
            let [scales, of_second_half] = L::scales(block, group, half);
            (*to).scales[half] = scales;
            if L::BY_HALVES {
                (*to).scales_of_second_half[half] = of_second_half;
            }
            if L::HAS_MINIMA {
                (*to).minima[half] = L::minima(block, group, half);
            }
        }
    }
}

/// Adds the products of a group of a tile to the sums of four rows of activations. `values` are their prepared groups, which are
/// contiguous from `place` on.
#[inline(always)]
unsafe fn add_group<L: FormatLayout, M: Multiply>(
    weights: *const UnpackedGroup,
    values: &M::PreparedValues,
    (x, place): (&Quantised, usize),
    sums: &mut FourRowSums,
) {
    // SAFETY: the group is unpacked, and the activations have the places.
    unsafe {
        let exact = M::four_rows::<L>(weights, values);
        let offset = _mm256_set1_epi32(M::offset::<L>());
        for row in 0..4 {
            let [first, second] = *x.sums.get_unchecked(place + row);
            let (first, second) = (_mm256_set1_epi32(first), _mm256_set1_epi32(second));
            let of_values = if L::BY_HALVES { [first, second] } else { [_mm256_add_epi32(first, second); 2] };
            let offsets = [_mm256_mullo_epi32(of_values[0], offset), _mm256_mullo_epi32(of_values[1], offset)];
            for half in 0..2 {
                let exact = [
                    _mm256_sub_epi32(exact[0][row][half], offsets[0]),
                    _mm256_sub_epi32(exact[1][row][half], offsets[1]),
                ];
                let zero = _mm256_setzero_ps();
                let of_second_half = if L::BY_HALVES { (*weights).scales_of_second_half[half] } else { zero };
                let minima = if L::HAS_MINIMA { (*weights).minima[half] } else { zero };
                let scales = [(*weights).scales[half], of_second_half];
                sums[row][half] = add::<L>(exact, scales, minima, (x, place + row), sums[row][half]);
            }
        }
    }
}
