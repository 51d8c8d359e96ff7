//! Many rows of activations: weights are unpacked for all of them.

use std::arch::asm;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use crate::activations::{GROUP, Quantised};
use crate::kernels::avx2::layouts::Layout;
use crate::kernels::avx2::{add, ask_ahead};

/// Groups of a tile that are unpacked at a time: what the nearest cache holds beside activations.
const GROUPS_AT_ONCE: usize = 8;

/// A group of a tile, both halves of it side by side.
#[derive(Clone, Copy)]
struct Group {
    /// Unsigned bytes of at most six bits.
    bytes: [[__m256i; 2]; 8],
    /// Of signed bytes, the upper four bits.
    upper: [[__m256i; 2]; 8],
    scales: [[__m256; 2]; 2],
    minima: [__m256; 2],
}

/// Rows of activations from the given one on, four for each of `sums`, times a tile: adds up the sums of each half of it.
///
/// # Safety
/// The tile is of the layout's format and has a group for each of the activations; the rows are there; the processor has
/// AVX2.
#[inline(always)]
pub(super) unsafe fn rows<L: Layout>(tile: &[u8], x: &Quantised, first_row: usize, sums: &mut [[[__m256; 2]; 4]]) {
    let layout = L::FORMAT.layout();
    let n_groups = L::FORMAT.block() / GROUP;
    let mut unpacked = [const { MaybeUninit::<Group>::uninit() }; GROUPS_AT_ONCE];
    for first in (0..x.n_groups).step_by(GROUPS_AT_ONCE) {
        let groups = first..x.n_groups.min(first + GROUPS_AT_ONCE);
        for (to, group) in unpacked.iter_mut().zip(groups.clone()) {
            // SAFETY: the caller's tile has the group.
            unsafe {
                let block = tile.as_ptr().add(group / n_groups * layout.tile_bytes());
                unpack::<L>(to, block, group % n_groups);
            }
        }
        for (at, sums) in sums.iter_mut().enumerate() {
            let row = first_row + 4 * at;
            for (weights, group) in unpacked.iter().zip(groups.clone()) {
                let places = [x.at(row, group), x.at(row + 1, group), x.at(row + 2, group), x.at(row + 3, group)];
                // SAFETY: so many groups were unpacked.
                unsafe { add_group::<L>(weights.as_ptr(), x, places, sums) };
            }
        }
    }
}

#[inline(always)]
unsafe fn unpack<L: Layout>(to: &mut MaybeUninit<Group>, block: *const u8, group: usize) {
    let to = to.as_mut_ptr();
    // SAFETY: the caller's block has the group; all that the layout's products read is written.
    unsafe {
        ask_ahead::<L>(block, group);
        for half in 0..2 {
            let bytes = L::bytes(block, group, half);
            for at in 0..8 {
                if L::IS_SIGNED {
                    // 128 more than the value, in two parts.
                    let (bytes, low) = (_mm256_xor_si256(bytes[at], _mm256_set1_epi8(-128)), _mm256_set1_epi8(15));
                    (*to).bytes[at][half] = _mm256_and_si256(bytes, low);
                    (*to).upper[at][half] = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low);
                } else {
                    (*to).bytes[at][half] = bytes[at];
                }
            }
            (*to).scales[half] = L::scales(block, group, half);
            (*to).minima[half] = L::minima(block, group, half);
        }
    }
}

/// Adds what a group of a tile gives to the sums of four rows of activations, whose group lies at `places`.
#[inline(always)]
unsafe fn add_group<L: Layout>(weights: *const Group, x: &Quantised, places: [usize; 4], sums: &mut [[__m256; 2]; 4]) {
    // SAFETY: the group is unpacked, and the activations have the places.
    unsafe {
        let values = places.map(|place| x.values.get_unchecked(place).as_ptr());
        let bytes = (&raw const (*weights).bytes).cast();
        let upper = (&raw const (*weights).upper).cast();
        let ones = _mm256_set1_epi16(1);
        let zero = [[_mm256_setzero_si256(); 2]; 4];
        // Of each half of the group, or of the whole in the first.
        let mut exact = [zero; 2];
        match L::RUN {
            8 => add_pairs(&mut exact[0], run_of_eight(bytes, values), ones),
            4 => {
                add_pairs(&mut exact[0], run_of_four(bytes, values, 0), ones);
                add_pairs(&mut exact[0], run_of_four(bytes, values, 4), ones);
            }
            2 => {
                add_pairs(&mut exact[0], run_of_two(bytes, values, 0), ones);
                add_pairs(&mut exact[0], run_of_two(bytes, values, 2), ones);
                add_pairs(&mut exact[1], run_of_two(bytes, values, 4), ones);
                add_pairs(&mut exact[1], run_of_two(bytes, values, 6), ones);
            }
            _ => {
                add_pairs(&mut exact[0], run_of_eight(bytes, values), ones);
                add_pairs(&mut exact[0], run_of_eight(upper, values), _mm256_set1_epi16(16));
            }
        }
        let offset = if L::IS_SIGNED { 128 } else { L::OFFSET };
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

/// Adds sums of 16 bits, times the factors, to those of 32.
#[inline(always)]
unsafe fn add_pairs(sums: &mut [[__m256i; 2]; 4], pairs: [[__m256i; 2]; 4], factors: __m256i) {
    for (sums, pairs) in sums.as_flattened_mut().iter_mut().zip(pairs.as_flattened()) {
        // SAFETY: the caller has AVX2.
        *sums = unsafe { _mm256_add_epi32(*sums, _mm256_madd_epi16(*pairs, factors)) };
    }
}

/// Products of a run of vectors of weights, both halves of a tile, with four rows of activations, added in 16 bits. In
/// assembly, because compilers keep the weights of a whole run in registers, of which there are too few.
macro_rules! run {
    ($weights:expr, $values:expr, $($at:literal)*) => {{
        let mut sums = [[_mm256_setzero_si256(); 2]; 4];
        let [[p0, q0], [p1, q1], [p2, q2], [p3, q3]] = &mut sums;
        let [x0, x1, x2, x3] = $values;
        asm!(
            $(
                concat!("vmovdqa {v}, [{w} + 64 * ", $at, "]"),
                concat!("vmovdqa {u}, [{w} + 64 * ", $at, " + 32]"),
                run!(@row "{x0}" "{p0}" "{q0}" $at),
                run!(@row "{x1}" "{p1}" "{q1}" $at),
                run!(@row "{x2}" "{p2}" "{q2}" $at),
                run!(@row "{x3}" "{p3}" "{q3}" $at),
            )*
            w = in(reg) $weights,
            x0 = in(reg) x0, x1 = in(reg) x1, x2 = in(reg) x2, x3 = in(reg) x3,
            p0 = inout(ymm_reg) *p0, p1 = inout(ymm_reg) *p1, p2 = inout(ymm_reg) *p2, p3 = inout(ymm_reg) *p3,
            q0 = inout(ymm_reg) *q0, q1 = inout(ymm_reg) *q1, q2 = inout(ymm_reg) *q2, q3 = inout(ymm_reg) *q3,
            v = out(ymm_reg) _, u = out(ymm_reg) _, x = out(ymm_reg) _, y = out(ymm_reg) _,
            options(pure, readonly, nostack, preserves_flags)
        );
        sums
    }};
    (@row $x:literal $p:literal $q:literal $at:literal) => {
        concat!(
            "vpbroadcastd {x}, [", $x, " + 4 * ", $at, "]\n",
            "vpmaddubsw {y}, {v}, {x}\n",
            "vpaddw ", $p, ", ", $p, ", {y}\n",
            "vpmaddubsw {x}, {u}, {x}\n",
            "vpaddw ", $q, ", ", $q, ", {x}"
        )
    };
}

/// # Safety
/// Of all three: as many vectors, from that with the given number on, and as many fours of values stand at the pointers; the
/// processor has AVX2.
#[inline(always)]
unsafe fn run_of_eight(weights: *const [__m256i; 2], values: [*const i8; 4]) -> [[__m256i; 2]; 4] {
    // SAFETY: the caller's.
    unsafe { run!(weights, values, 0 1 2 3 4 5 6 7) }
}

#[inline(always)]
unsafe fn run_of_four(weights: *const [__m256i; 2], values: [*const i8; 4], first: usize) -> [[__m256i; 2]; 4] {
    // SAFETY: the caller's.
    unsafe { run!(weights.add(first), values.map(|values| values.add(4 * first)), 0 1 2 3) }
}

#[inline(always)]
unsafe fn run_of_two(weights: *const [__m256i; 2], values: [*const i8; 4], first: usize) -> [[__m256i; 2]; 4] {
    // SAFETY: the caller's.
    unsafe { run!(weights.add(first), values.map(|values| values.add(4 * first)), 0 1) }
}
