//! Many rows of activations: weights are unpacked for all of them.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use crate::activations::{GROUP, Quantised};
use crate::kernels::avx2::layouts::Layout;
use crate::kernels::avx2::multiply::{Group, Multiply, offset_of_unsigned, unsigned};
use crate::kernels::avx2::{add, ask_ahead};

/// Groups of a tile that are unpacked at a time: what the nearest cache holds beside activations.
const GROUPS_AT_ONCE: usize = 8;

/// Rows of activations from the given one on, four for each of `sums`, times a tile: adds up the sums of each half of it.
///
/// # Safety
/// The tile is of the layout's format and has a group for each of the activations; the rows are there; the processor has
/// AVX2 and the instructions of `M`.
#[inline(always)]
pub(super) unsafe fn rows<L: Layout, M: Multiply>(
    tile: &[u8],
    x: &Quantised,
    first_row: usize,
    sums: &mut [[[__m256; 2]; 4]],
) {
    let layout = L::FORMAT.layout();
    let n_groups = L::FORMAT.block() / GROUP;
    let mut unpacked = [const { MaybeUninit::<Group>::uninit() }; GROUPS_AT_ONCE];
    for first in (0..x.n_groups).step_by(GROUPS_AT_ONCE) {
        let groups = first..x.n_groups.min(first + GROUPS_AT_ONCE);
        for (to, group) in unpacked.iter_mut().zip(groups.clone()) {
            // SAFETY: the caller's tile has the group.
            unsafe {
                let block = tile.as_ptr().add(group / n_groups * layout.tile_bytes());
                unpack::<L, M>(to, block, group % n_groups);
            }
        }
        for (at, sums) in sums.iter_mut().enumerate() {
            let row = first_row + 4 * at;
            for (weights, group) in unpacked.iter().zip(groups.clone()) {
                let places = [x.at(row, group), x.at(row + 1, group), x.at(row + 2, group), x.at(row + 3, group)];
                // SAFETY: so many groups were unpacked.
                unsafe { add_group::<L, M>(weights.as_ptr(), x, places, sums) };
            }
        }
    }
}

#[inline(always)]
unsafe fn unpack<L: Layout, M: Multiply>(to: &mut MaybeUninit<Group>, block: *const u8, group: usize) {
    let to = to.as_mut_ptr();
    // SAFETY: the caller's block has the group; all that the layout's products read is written.
    unsafe {
        ask_ahead::<L>(block, group);
        for half in 0..2 {
            let bytes = L::bytes(block, group, half);
            for (at, bytes) in bytes.into_iter().enumerate() {
                match L::IS_SIGNED {
                    true => M::keep(to, at, half, unsigned(bytes)),
                    false => (*to).bytes[at][half] = bytes,
                }
            }
            (*to).scales[half] = L::scales(block, group, half);
            (*to).minima[half] = L::minima(block, group, half);
        }
    }
}

/// Adds what a group of a tile gives to the sums of four rows of activations, whose group lies at `places`.
#[inline(always)]
unsafe fn add_group<L: Layout, M: Multiply>(
    weights: *const Group,
    x: &Quantised,
    places: [usize; 4],
    sums: &mut [[__m256; 2]; 4],
) {
    // SAFETY: the group is unpacked, and the activations have the places.
    unsafe {
        let values = places.map(|place| x.values.get_unchecked(place).as_ptr());
        let exact = M::four_rows::<L>(weights, values);
        let offset = offset_of_unsigned::<L>();
        for row in 0..4 {
            let [first, second] = *x.sums.get_unchecked(places[row]);
            let of_values = if L::BY_HALVES { [first, second] } else { [first + second, 0] };
            for half in 0..2 {
                let exact = [
                    _mm256_sub_epi32(exact[0][row][half], _mm256_set1_epi32(offset * of_values[0])),
                    _mm256_sub_epi32(exact[1][row][half], _mm256_set1_epi32(offset * of_values[1])),
                ];
                let (scales, minima) = ((*weights).scales[half], (*weights).minima[half]);
                sums[row][half] = add::<L>(exact, scales, minima, (x, places[row]), sums[row][half]);
            }
        }
    }
}
