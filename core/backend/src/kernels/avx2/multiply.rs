//! Products of bytes, added up without rounding.

use std::arch::asm;
use std::arch::x86_64::*;

use crate::activations::GROUP;
use crate::kernels::avx2::layouts::Layout;

/// An unpacked group of a tile, both halves of it side by side.
#[derive(Clone, Copy)]
pub(super) struct Group {
    /// Unsigned.
    pub(super) bytes: [[__m256i; 2]; 8],
    /// Upper four bits, where pairs need them apart.
    upper: [[__m256i; 2]; 8],
    pub(super) scales: [[__m256; 2]; 2],
    pub(super) minima: [__m256; 2],
}

/// 128 more than signed bytes.
#[inline(always)]
pub(super) unsafe fn unsigned(bytes: __m256i) -> __m256i {
    // SAFETY: the caller has AVX2.
    unsafe { _mm256_xor_si256(bytes, _mm256_set1_epi8(-128)) }
}

/// What is subtracted from a format's bytes once they are unsigned.
pub(super) const fn offset_of_unsigned<L: Layout>() -> i32 {
    if L::IS_SIGNED { 128 } else { L::OFFSET }
}

/// How bytes are multiplied. Sums are exact: those of each half of a group, or that of the whole, and zero.
pub(super) trait Multiply {
    /// Keeps unsigned bytes that use all eight bits.
    ///
    /// # Safety
    /// `to` may be written; the processor has AVX2.
    unsafe fn keep(to: *mut Group, vector: usize, half: usize, bytes: __m256i);

    /// Four rows of activations times the unsigned bytes of both halves of a tile.
    ///
    /// # Safety
    /// The group is unpacked, 32 values stand at each of the pointers, and the processor has the instructions.
    unsafe fn four_rows<L: Layout>(weights: *const Group, values: [*const i8; 4]) -> [[[__m256i; 2]; 4]; 2];

    /// A row of activations, whose halves have these sums, times the weights of half of a tile.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn one_row<L: Layout>(weights: [__m256i; 8], values: &[i8; GROUP], sums: [i32; 2]) -> [__m256i; 2];
}

/// In pairs whose products fit 16 bits: AVX2.
pub(super) struct Pairs;

/// Four to a lane: AVX-VNNI.
pub(super) struct Fours;

/// Products of vectors of weights, both halves of a tile, with four rows of activations, added up. In assembly, because
/// compilers keep all those weights in registers, of which there are too few.
macro_rules! run {
    ($add:ident, $weights:expr, $values:expr, $($at:literal)*) => {{
        let mut sums = [[_mm256_setzero_si256(); 2]; 4];
        let [[p0, q0], [p1, q1], [p2, q2], [p3, q3]] = &mut sums;
        let [x0, x1, x2, x3] = $values;
        asm!(
            $(
                concat!("vmovdqa {v}, [{w} + 64 * ", $at, "]"),
                concat!("vmovdqa {u}, [{w} + 64 * ", $at, " + 32]"),
                run!(@$add "{x0}" "{p0}" "{q0}" $at),
                run!(@$add "{x1}" "{p1}" "{q1}" $at),
                run!(@$add "{x2}" "{p2}" "{q2}" $at),
                run!(@$add "{x3}" "{p3}" "{q3}" $at),
            )*
            // Fours need no `y`, and every operand must be named.
            "/* {y} */",
            w = in(reg) $weights,
            x0 = in(reg) x0, x1 = in(reg) x1, x2 = in(reg) x2, x3 = in(reg) x3,
            p0 = inout(ymm_reg) *p0, p1 = inout(ymm_reg) *p1, p2 = inout(ymm_reg) *p2, p3 = inout(ymm_reg) *p3,
            q0 = inout(ymm_reg) *q0, q1 = inout(ymm_reg) *q1, q2 = inout(ymm_reg) *q2, q3 = inout(ymm_reg) *q3,
            v = out(ymm_reg) _, u = out(ymm_reg) _, x = out(ymm_reg) _, y = out(ymm_reg) _,
            options(pure, readonly, nostack, preserves_flags)
        );
        sums
    }};
    // In 16 bits.
    (@pairs $x:literal $p:literal $q:literal $at:literal) => {
        concat!(
            "vpbroadcastd {x}, [", $x, " + 4 * ", $at, "]\n",
            "vpmaddubsw {y}, {v}, {x}\n",
            "vpaddw ", $p, ", ", $p, ", {y}\n",
            "vpmaddubsw {x}, {u}, {x}\n",
            "vpaddw ", $q, ", ", $q, ", {x}"
        )
    };
    // In 32 bits.
    (@fours $x:literal $p:literal $q:literal $at:literal) => {
        concat!(
            "vpbroadcastd {x}, [", $x, " + 4 * ", $at, "]\n",
            "{{vex}} vpdpbusd ", $p, ", {v}, {x}\n",
            "{{vex}} vpdpbusd ", $q, ", {u}, {x}"
        )
    };
}

impl Multiply for Pairs {
    #[inline(always)]
    unsafe fn keep(to: *mut Group, vector: usize, half: usize, bytes: __m256i) {
        // SAFETY: the caller's.
        unsafe {
            let low = _mm256_set1_epi8(15);
            (*to).bytes[vector][half] = _mm256_and_si256(bytes, low);
            (*to).upper[vector][half] = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low);
        }
    }

    #[inline(always)]
    unsafe fn four_rows<L: Layout>(weights: *const Group, values: [*const i8; 4]) -> [[[__m256i; 2]; 4]; 2] {
        // SAFETY: the caller's.
        unsafe {
            let bytes: *const [__m256i; 2] = (&raw const (*weights).bytes).cast();
            let upper: *const [__m256i; 2] = (&raw const (*weights).upper).cast();
            let ones = _mm256_set1_epi16(1);
            let mut exact = [[[_mm256_setzero_si256(); 2]; 4]; 2];
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
            exact
        }
    }

    #[inline(always)]
    unsafe fn one_row<L: Layout>(weights: [__m256i; 8], values: &[i8; GROUP], sums: [i32; 2]) -> [__m256i; 2] {
        // SAFETY: the caller has AVX2.
        unsafe {
            let ones = _mm256_set1_epi16(1);
            let mut exact = starts::<L>(L::OFFSET, sums);
            let mut pairs = _mm256_setzero_si256();
            for (at, four) in values.as_chunks::<4>().0.iter().enumerate() {
                let four = _mm256_set1_epi32(i32::from_le_bytes(four.map(|x| x as u8)));
                let products = if L::IS_SIGNED {
                    // Without their sign, which moves to the activations, pairs of products are at most 32,512.
                    _mm256_maddubs_epi16(_mm256_abs_epi8(weights[at]), _mm256_sign_epi8(four, weights[at]))
                } else {
                    _mm256_maddubs_epi16(weights[at], four)
                };
                pairs = if at % L::RUN == 0 { products } else { _mm256_add_epi16(pairs, products) };
                if at % L::RUN == L::RUN - 1 {
                    let part = part_of::<L>(at);
                    exact[part] = _mm256_add_epi32(exact[part], _mm256_madd_epi16(pairs, ones));
                }
            }
            exact
        }
    }
}

impl Multiply for Fours {
    #[inline(always)]
    unsafe fn keep(to: *mut Group, vector: usize, half: usize, bytes: __m256i) {
        // SAFETY: the caller's.
        unsafe { (*to).bytes[vector][half] = bytes };
    }

    #[inline(always)]
    unsafe fn four_rows<L: Layout>(weights: *const Group, values: [*const i8; 4]) -> [[[__m256i; 2]; 4]; 2] {
        // SAFETY: the caller's.
        unsafe {
            let bytes: *const [__m256i; 2] = (&raw const (*weights).bytes).cast();
            match L::BY_HALVES {
                true => {
                    let (upper, values_of_upper) = (bytes.add(4), values.map(|values| values.add(16)));
                    [run!(fours, bytes, values, 0 1 2 3), run!(fours, upper, values_of_upper, 0 1 2 3)]
                }
                false => [run!(fours, bytes, values, 0 1 2 3 4 5 6 7), [[_mm256_setzero_si256(); 2]; 4]],
            }
        }
    }

    #[inline(always)]
    unsafe fn one_row<L: Layout>(weights: [__m256i; 8], values: &[i8; GROUP], sums: [i32; 2]) -> [__m256i; 2] {
        // SAFETY: the caller has AVX2 and AVX-VNNI. Its intrinsic is no function that can become a part of this one, which
        // is compiled for AVX2.
        unsafe {
            let mut exact = starts::<L>(offset_of_unsigned::<L>(), sums);
            for (at, four) in values.as_chunks::<4>().0.iter().enumerate() {
                let four = _mm256_set1_epi32(i32::from_le_bytes(four.map(|x| x as u8)));
                let weights = if L::IS_SIGNED { unsigned(weights[at]) } else { weights[at] };
                asm!("{{vex}} vpdpbusd {sums}, {weights}, {four}", sums = inout(ymm_reg) exact[part_of::<L>(at)],
                    weights = in(ymm_reg) weights, four = in(ymm_reg) four,
                    options(pure, nomem, nostack, preserves_flags));
            }
            exact
        }
    }
}

/// Where exact sums begin, with what the weights' offset amounts to paid.
#[inline(always)]
unsafe fn starts<L: Layout>(offset: i32, [first, second]: [i32; 2]) -> [__m256i; 2] {
    // SAFETY: the caller has AVX2.
    unsafe {
        match L::BY_HALVES {
            true => [_mm256_set1_epi32(-offset * first), _mm256_set1_epi32(-offset * second)],
            false => [_mm256_set1_epi32(-offset * (first + second)), _mm256_setzero_si256()],
        }
    }
}

/// The sum that a vector of weights belongs to.
const fn part_of<L: Layout>(vector: usize) -> usize {
    if L::BY_HALVES { vector / 4 } else { 0 }
}

/// Adds sums of 16 bits, times the factors, to those of 32.
#[inline(always)]
unsafe fn add_pairs(sums: &mut [[__m256i; 2]; 4], pairs: [[__m256i; 2]; 4], factors: __m256i) {
    for (sums, pairs) in sums.as_flattened_mut().iter_mut().zip(pairs.as_flattened()) {
        // SAFETY: the caller has AVX2.
        *sums = unsafe { _mm256_add_epi32(*sums, _mm256_madd_epi16(*pairs, factors)) };
    }
}

/// # Safety
/// Of all three: as many vectors, from that with the given number on, and as many fours of values stand at the pointers; the
/// processor has AVX2.
#[inline(always)]
unsafe fn run_of_eight(weights: *const [__m256i; 2], values: [*const i8; 4]) -> [[__m256i; 2]; 4] {
    // SAFETY: the caller's.
    unsafe { run!(pairs, weights, values, 0 1 2 3 4 5 6 7) }
}

#[inline(always)]
unsafe fn run_of_four(weights: *const [__m256i; 2], values: [*const i8; 4], first: usize) -> [[__m256i; 2]; 4] {
    // SAFETY: the caller's.
    unsafe { run!(pairs, weights.add(first), values.map(|values| values.add(4 * first)), 0 1 2 3) }
}

#[inline(always)]
unsafe fn run_of_two(weights: *const [__m256i; 2], values: [*const i8; 4], first: usize) -> [[__m256i; 2]; 4] {
    // SAFETY: the caller's.
    unsafe { run!(pairs, weights.add(first), values.map(|values| values.add(4 * first)), 0 1) }
}
