//! Many rows of activations: weights are unpacked for all of them, and four rows meet four tiles at a time, so that what is
//! loaded serves four products.

use std::arch::asm;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use crate::activations::{GROUP, Quantised};
use crate::kernels::ahead_of;
use crate::kernels::avx512::layouts::Layout;
use crate::kernels::avx512::{AHEAD, add_minima, ask_ahead};

/// Tiles that rows of activations meet at a time.
pub(super) const TILES: usize = 4;
/// Groups of a tile that are unpacked at a time: what the nearest cache holds beside activations.
const GROUPS_AT_ONCE: usize = 4;

/// A group of each tile.
struct Group {
    bytes: [[__m512i; TILES]; 8],
    scales: [[__m512; TILES]; 2],
    minima: [__m512; TILES],
}

/// Rows of activations from the given one on, four for each of `sums`, times the tiles: adds up the sums.
///
/// # Safety
/// The tiles are of the layout's format and have a group for each of the activations; the rows are there, and the four of
/// each of `sums` are in one band of sixteen; the processor has AVX-512 VNNI.
#[inline(always)]
pub(super) unsafe fn rows<L: Layout>(
    tiles: [&[u8]; TILES],
    x: &Quantised,
    first_row: usize,
    sums: &mut [[[__m512; TILES]; 4]],
) {
    let mut unpacked = [const { MaybeUninit::<Group>::uninit() }; GROUPS_AT_ONCE];
    for first in (0..x.n_groups).step_by(GROUPS_AT_ONCE) {
        let groups = first..x.n_groups.min(first + GROUPS_AT_ONCE);
        for (to, group) in unpacked.iter_mut().zip(groups.clone()) {
            // SAFETY: the caller's tiles have the group.
            unsafe { unpack::<L>(to, tiles, group) };
        }
        for (at, sums) in sums.iter_mut().enumerate() {
            for (weights, group) in unpacked.iter().zip(groups.clone()) {
                // SAFETY: so many groups were unpacked; the caller's rows.
                unsafe { add_group::<L>(weights.assume_init_ref(), x, x.at(first_row + 4 * at, group), sums) };
            }
        }
    }
}

#[inline(always)]
unsafe fn unpack<L: Layout>(to: &mut MaybeUninit<Group>, tiles: [&[u8]; TILES], group: usize) {
    let layout = L::FORMAT.layout();
    let n_groups = L::FORMAT.block() / GROUP;
    let to = to.as_mut_ptr();
    for (at, tile) in tiles.into_iter().enumerate() {
        // SAFETY: the caller's tile has the group; everything is written.
        unsafe {
            let block = tile.as_ptr().add(group / n_groups * layout.tile_bytes());
            let ahead = ahead_of(group * layout.group_share(), AHEAD, (TILES, tile.len()));
            let group = group % n_groups;
            ask_ahead::<L>(block, group, ahead);
            for (vector, bytes) in L::bytes(block, group).into_iter().enumerate() {
                (*to).bytes[vector][at] = bytes;
            }
            for (half, scales) in L::scales(block, group).into_iter().enumerate() {
                (*to).scales[half][at] = scales;
            }
            (*to).minima[at] = L::minima(block, group);
        }
    }
}

/// Adds what some vectors of a group give: exact sums from the given starts on, times the scales of both sides. In assembly,
/// because compilers finish one sum after the other, each waiting for itself, and keep more in registers than there are.
macro_rules! add_vectors {
    ($weights:expr, $scales:expr, $values:expr, $scales_of_values:expr, $starts:expr, $sums:expr, $($vector:literal)*) => {
        asm!(
            add_vectors!(@start 0 1 2 3 0),
            add_vectors!(@start 4 5 6 7 4),
            add_vectors!(@start 8 9 10 11 8),
            add_vectors!(@start 12 13 14 15 12),
            $(
                concat!("vmovdqa64 zmm16, [{weights} + 256 * ", $vector, "]"),
                concat!("vmovdqa64 zmm17, [{weights} + 256 * ", $vector, " + 64]"),
                concat!("vmovdqa64 zmm18, [{weights} + 256 * ", $vector, " + 128]"),
                concat!("vmovdqa64 zmm19, [{weights} + 256 * ", $vector, " + 192]"),
                add_vectors!(@multiply 0 1 2 3 $vector 0),
                add_vectors!(@multiply 4 5 6 7 $vector 32),
                add_vectors!(@multiply 8 9 10 11 $vector 64),
                add_vectors!(@multiply 12 13 14 15 $vector 96),
            )*
            "vmovaps zmm16, [{scales}]",
            "vmovaps zmm17, [{scales} + 64]",
            "vmovaps zmm18, [{scales} + 128]",
            "vmovaps zmm19, [{scales} + 192]",
            add_vectors!(@add 0 1 2 3 0),
            add_vectors!(@add 4 5 6 7 4),
            add_vectors!(@add 8 9 10 11 8),
            add_vectors!(@add 12 13 14 15 12),
            weights = in(reg) $weights, scales = in(reg) $scales,
            values = in(reg) $values, scales_of_values = in(reg) $scales_of_values, starts = in(reg) $starts,
            sums = in(reg) $sums,
            out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, out("zmm4") _, out("zmm5") _, out("zmm6") _,
            out("zmm7") _, out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _, out("zmm12") _,
            out("zmm13") _, out("zmm14") _, out("zmm15") _, out("zmm16") _, out("zmm17") _, out("zmm18") _,
            out("zmm19") _, out("zmm20") _, out("zmm21") _,
            options(nostack)
        )
    };
    (@start $a:literal $b:literal $c:literal $d:literal $at:literal) => {
        concat!(
            "vpbroadcastd zmm", $a, ", [{starts} + ", $at, "]\n",
            "vmovdqa64 zmm", $b, ", zmm", $a, "\n",
            "vmovdqa64 zmm", $c, ", zmm", $a, "\n",
            "vmovdqa64 zmm", $d, ", zmm", $a
        )
    };
    (@multiply $a:literal $b:literal $c:literal $d:literal $vector:literal $offset:literal) => {
        concat!(
            "vpbroadcastd zmm20, [{values} + 4 * ", $vector, " + ", $offset, "]\n",
            "vpdpbusd zmm", $a, ", zmm16, zmm20\n",
            "vpdpbusd zmm", $b, ", zmm17, zmm20\n",
            "vpdpbusd zmm", $c, ", zmm18, zmm20\n",
            "vpdpbusd zmm", $d, ", zmm19, zmm20"
        )
    };
    (@add $a:literal $b:literal $c:literal $d:literal $at:literal) => {
        concat!(
            "vbroadcastss zmm20, [{scales_of_values} + ", $at, "]\n",
            add_vectors!(@add_one $a 16 $at 0), add_vectors!(@add_one $b 17 $at 64),
            add_vectors!(@add_one $c 18 $at 128), add_vectors!(@add_one $d 19 $at 192)
        )
    };
    (@add_one $sum:literal $scales:literal $row:literal $tile:literal) => {
        concat!(
            "vcvtdq2ps zmm", $sum, ", zmm", $sum, "\n",
            "vmulps zmm21, zmm", $scales, ", zmm20\n",
            "vfmadd213ps zmm", $sum, ", zmm21, [{sums} + 64 * ", $row, " + ", $tile, "]\n",
            "vmovaps [{sums} + 64 * ", $row, " + ", $tile, "], zmm", $sum, "\n"
        )
    };
}

/// Adds what a group of the tiles gives to the sums of four rows of activations, whose groups lie one behind the other from
/// `place` on.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn add_group<L: Layout>(weights: &Group, x: &Quantised, place: usize, sums: &mut [[__m512; TILES]; 4]) {
    let sums_of_values = |row: usize| {
        // SAFETY: the activations have the places.
        unsafe { *x.sums.get_unchecked(place + row) }
    };
    let starts: [[i32; 4]; 2] = match L::BY_HALVES {
        true => [0, 1].map(|half| std::array::from_fn(|row| -L::OFFSET * sums_of_values(row)[half])),
        false => [std::array::from_fn(|row| -L::OFFSET * sums_of_values(row).iter().sum::<i32>()), [0; 4]],
    };
    // SAFETY: the caller has AVX-512 VNNI, and the activations have the places.
    unsafe {
        let values = x.values.as_ptr().add(place);
        let scales = x.scales.as_ptr().add(place);
        let (bytes, [first, second]) = (&raw const weights.bytes, weights.scales.each_ref());
        if L::BY_HALVES {
            add_vectors!(bytes, first, values, scales, &starts[0], &raw mut *sums, 0 1 2 3);
            add_vectors!(bytes, second, values, scales, &starts[1], &raw mut *sums, 4 5 6 7);
        } else {
            add_vectors!(bytes, first, values, scales, &starts[0], &raw mut *sums, 0 1 2 3 4 5 6 7);
        }
        if L::HAS_MINIMA {
            for (row, sums) in sums.iter_mut().enumerate() {
                for (sum, minima) in sums.iter_mut().zip(weights.minima) {
                    *sum = add_minima(minima, (x, place + row), *sum);
                }
            }
        }
    }
}
