//! Many rows of activations: weights are unpacked for all of them, and four rows meet four tiles at a time, so that what is
//! loaded serves four products.

use std::arch::asm;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use crate::activations::{GROUP, Quantised};
use crate::kernels::ahead_of;
use crate::kernels::avx512::layouts::Layout;
use crate::kernels::avx512::{AHEAD, ROWS, ask_ahead};

/// Tiles that rows of activations meet at a time.
pub(super) const TILES: usize = 4;

/// A group of each tile.
struct Group {
    bytes: [[__m512i; TILES]; 8],
    scales: [[__m512; TILES]; 2],
    minima: [__m512; TILES],
}

/// What the exact sums of four rows of activations begin with, for each half of a group or for the whole of it.
type Starts = [[i32; 4]; 2];

/// Rows of activations from the given one on, four for each of `sums`, times the tiles: adds up the sums.
///
/// # Safety
/// The tiles are of the layout's format and have a group for each of the activations; the rows are there, no more than
/// [`ROWS`], and the four of each of `sums` are in one band of sixteen; the processor has AVX-512 VNNI.
#[inline(always)]
pub(super) unsafe fn rows<L: Layout>(
    tiles: [&[u8]; TILES],
    x: &Quantised,
    first_row: usize,
    sums: &mut [[[__m512; TILES]; 4]],
) {
    let mut unpacked = MaybeUninit::<Group>::uninit();
    let mut starts = [Starts::default(); ROWS / 4];
    for group in 0..x.n_groups {
        let places = (first_row..).step_by(4).map(|row| x.at(row, group));
        // SAFETY: the caller's tiles have the group; the caller's rows.
        unsafe {
            let weights = unpack::<L>(&mut unpacked, tiles, group);
            // For all rows before the first is needed: what has just been stored is slow to load.
            if L::OFFSET != 0 {
                starts[..sums.len()]
                    .iter_mut()
                    .zip(places.clone())
                    .for_each(|(to, place)| *to = starts_of::<L>(x, place));
            }
            for ((sums, starts), place) in sums.iter_mut().zip(&starts).zip(places) {
                add_group::<L>(weights, (x, place), starts, sums);
            }
        }
    }
}

#[inline(always)]
unsafe fn unpack<'a, L: Layout>(place: &'a mut MaybeUninit<Group>, tiles: [&[u8]; TILES], group: usize) -> &'a Group {
    let layout = L::FORMAT.layout();
    let n_groups = L::FORMAT.block() / GROUP;
    let to = place.as_mut_ptr();
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
    // SAFETY: all was written, for each of the tiles.
    unsafe { place.assume_init_ref() }
}

#[inline(always)]
unsafe fn starts_of<L: Layout>(x: &Quantised, place: usize) -> Starts {
    // SAFETY: the caller's activations have four rows from the place on.
    let halves: [[i32; 2]; 4] = std::array::from_fn(|row| unsafe { *x.sums.get_unchecked(place + row) });
    match L::BY_HALVES {
        true => [0, 1].map(|half| halves.map(|sums| -L::OFFSET * sums[half])),
        false => [halves.map(|[first, second]| -L::OFFSET * (first + second)), [0; 4]],
    }
}

/// Adds what some vectors of a group give: exact sums from the given starts on, times the scales of both sides, and what minima
/// give, if there are any. In assembly, because compilers finish one sum after the other, each waiting for itself, and keep
/// more in registers than there are.
macro_rules! add_vectors {
    (
        $weights:expr, $scales:expr, $values:expr, $scales_of_values:expr, $starts:expr, $sums:expr, [$($vector:literal)*]
        $(, minima $minima:expr, $scaled_sums:expr)?
    ) => {
        asm!(
            add_vectors!(@start 0 1 2 3 0),
            add_vectors!(@start 4 5 6 7 4),
            add_vectors!(@start 8 9 10 11 8),
            add_vectors!(@start 12 13 14 15 12),
            $(
                add_vectors!(@load weights 256 $vector),
                add_vectors!(@multiply 0 1 2 3 $vector 0),
                add_vectors!(@multiply 4 5 6 7 $vector 32),
                add_vectors!(@multiply 8 9 10 11 $vector 64),
                add_vectors!(@multiply 12 13 14 15 $vector 96),
            )*
            add_vectors!(@load scales 0 0),
            add_vectors!(@scale 0 1 2 3 0),
            add_vectors!(@scale 4 5 6 7 4),
            add_vectors!(@scale 8 9 10 11 8),
            add_vectors!(@scale 12 13 14 15 12),
            $(
                add_vectors!(@load minima 0 0),
                add_vectors!(@lower 0 1 2 3 0 $minima),
                add_vectors!(@lower 4 5 6 7 4 $minima),
                add_vectors!(@lower 8 9 10 11 8 $minima),
                add_vectors!(@lower 12 13 14 15 12 $minima),
            )?
            add_vectors!(@store 0 1 2 3 0),
            add_vectors!(@store 4 5 6 7 256),
            add_vectors!(@store 8 9 10 11 512),
            add_vectors!(@store 12 13 14 15 768),
            weights = in(reg) $weights, scales = in(reg) $scales,
            values = in(reg) $values, scales_of_values = in(reg) $scales_of_values, starts = in(reg) $starts,
            $(minima = in(reg) $minima, scaled_sums = in(reg) $scaled_sums,)?
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
    // A vector of each tile.
    (@load $from:ident $size:literal $index:literal) => {
        concat!(
            "vmovdqa64 zmm16, [{", stringify!($from), "} + ", $size, " * ", $index, "]\n",
            "vmovdqa64 zmm17, [{", stringify!($from), "} + ", $size, " * ", $index, " + 64]\n",
            "vmovdqa64 zmm18, [{", stringify!($from), "} + ", $size, " * ", $index, " + 128]\n",
            "vmovdqa64 zmm19, [{", stringify!($from), "} + ", $size, " * ", $index, " + 192]"
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
    (@scale $a:literal $b:literal $c:literal $d:literal $at:literal) => {
        concat!(
            "vbroadcastss zmm20, [{scales_of_values} + ", $at, "]\n",
            add_vectors!(@scale_one $a 16 $at 0), add_vectors!(@scale_one $b 17 $at 64),
            add_vectors!(@scale_one $c 18 $at 128), add_vectors!(@scale_one $d 19 $at 192)
        )
    };
    (@scale_one $sum:literal $scales:literal $row:literal $tile:literal) => {
        concat!(
            "vcvtdq2ps zmm", $sum, ", zmm", $sum, "\n",
            "vmulps zmm21, zmm", $scales, ", zmm20\n",
            "vfmadd213ps zmm", $sum, ", zmm21, [{sums} + 64 * ", $row, " + ", $tile, "]\n"
        )
    };
    // The last is there because the caller repeats this where minima are given.
    (@lower $a:literal $b:literal $c:literal $d:literal $at:literal $_:expr) => {
        concat!(
            "vbroadcastss zmm20, [{scaled_sums} + ", $at, "]\n",
            "vfmadd231ps zmm", $a, ", zmm16, zmm20\n",
            "vfmadd231ps zmm", $b, ", zmm17, zmm20\n",
            "vfmadd231ps zmm", $c, ", zmm18, zmm20\n",
            "vfmadd231ps zmm", $d, ", zmm19, zmm20"
        )
    };
    (@store $a:literal $b:literal $c:literal $d:literal $at:literal) => {
        concat!(
            "vmovaps [{sums} + ", $at, "], zmm", $a, "\n",
            "vmovaps [{sums} + ", $at, " + 64], zmm", $b, "\n",
            "vmovaps [{sums} + ", $at, " + 128], zmm", $c, "\n",
            "vmovaps [{sums} + ", $at, " + 192], zmm", $d
        )
    };
}

/// Adds what a group of the tiles gives to the sums of four rows of activations, whose groups lie one behind the other from
/// `place` on.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn add_group<L: Layout>(
    weights: &Group,
    (x, place): (&Quantised, usize),
    starts: &Starts,
    sums: &mut [[__m512; TILES]; 4],
) {
    // SAFETY: the caller has AVX-512 VNNI, and the activations have the places.
    unsafe {
        let values = x.values.as_ptr().add(place);
        let scales = x.scales.as_ptr().add(place);
        let (bytes, [first, second]) = (&raw const weights.bytes, weights.scales.each_ref());
        let sums = &raw mut *sums;
        if L::BY_HALVES {
            add_vectors!(bytes, first, values, scales, &starts[0], sums, [0 1 2 3]);
            add_vectors!(bytes, second, values, scales, &starts[1], sums, [4 5 6 7]);
        } else if L::HAS_MINIMA {
            let scaled_sums = x.scaled_sums.as_ptr().add(place);
            add_vectors!(bytes, first, values, scales, &starts[0], sums, [0 1 2 3 4 5 6 7], minima &weights.minima, scaled_sums);
        } else {
            add_vectors!(bytes, first, values, scales, &starts[0], sums, [0 1 2 3 4 5 6 7]);
        }
    }
}
