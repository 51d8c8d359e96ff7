//! Exact sums of products of bytes.

use std::arch::asm;
use std::arch::x86_64::*;

use crate::activations::GROUP;
use crate::kernels::avx2::layouts::FormatLayout;

/// An unpacked group of a tile, with both halves of the tile interleaved.
#[derive(Clone, Copy)]
pub(super) struct UnpackedGroup {
    /// Unsigned bytes, with four columns in each vector, or signed words, with two columns in each vector.
    weights: [[__m256i; 2]; 16],
    pub(super) scales: [__m256; 2],
    /// Set if each half of the group has its own scale.
    pub(super) scales_of_second_half: [__m256; 2],
    /// Set if the format has minima.
    pub(super) minima: [__m256; 2],
}

/// Converts signed bytes to unsigned ones that are larger by 128.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn unsigned(bytes: __m256i) -> __m256i {
    _mm256_xor_si256(bytes, _mm256_set1_epi8(-128))
}

/// The offset of a format's bytes after conversion to unsigned ones.
const fn offset_of_unsigned<L: FormatLayout>() -> i32 {
    if L::IS_SIGNED { 128 } else { L::OFFSET }
}

/// A way to multiply bytes. It returns exact sums: one for each half of a group, or the sum of the whole group and zero.
pub(super) trait Multiply {
    /// The offset of the weights that `keep` stores.
    fn offset<L: FormatLayout>() -> i32;

    /// Stores a vector of a layout's bytes for `four_rows`.
    ///
    /// # Safety
    /// `to` must be writable, and the processor must have AVX2.
    unsafe fn keep<L: FormatLayout>(to: *mut UnpackedGroup, vector: usize, half: usize, bytes: __m256i);

    /// Four rows of activations, prepared for `four_rows`.
    type PreparedValues;

    /// Prepares four rows of activations.
    ///
    /// # Safety
    /// The processor must have AVX2.
    unsafe fn prepare<L: FormatLayout>(values: &[[i8; GROUP]; 4]) -> Self::PreparedValues;

    /// Multiplies four rows of activations with the stored weights of both halves of a tile.
    ///
    /// # Safety
    /// All vectors of the group must be stored, the rows passed to `prepare` must still exist, and the processor must have
    /// AVX2, FMA, F16C and the instructions of this type.
    unsafe fn four_rows<L: FormatLayout>(
        group: *const UnpackedGroup,
        values: &Self::PreparedValues,
    ) -> [[[__m256i; 2]; 4]; 2];

    /// Multiplies a row of activations with the weights of half of a tile. `sums` are the sums of the row's halves.
    ///
    /// # Safety
    /// The processor must have AVX2, FMA, F16C and the instructions of this type.
    unsafe fn one_row<L: FormatLayout>(weights: [__m256i; 8], values: &[i8; GROUP], sums: [i32; 2]) -> [__m256i; 2];
}

/// AVX2: multiplies bytes in pairs whose sums fit 16 bits, or words if they would not.
pub(super) struct Pairs;

/// A pointer to the values of four rows or, for layouts with signed bytes, the values widened to words.
pub(super) union BytesOrWords {
    bytes: *const i8,
    words: [[__m256i; 2]; 4],
}

/// AVX-VNNI: multiplies four bytes of a lane at once.
pub(super) struct Fours;

/// Sums of products of vectors of weights, for both halves of a tile, with four rows of activations that are `$stride` bytes
/// apart. It is in assembly because compilers keep all weights in registers, of which there are too few. Two products come
/// before two additions: alternating them took a tenth longer on AMD's Zen 3.
macro_rules! run {
    ($products:ident, $weights:expr, $values:expr, $stride:literal, $($at:tt)*) => {{
        let [[mut p0, mut q0], [mut p1, mut q1], [mut p2, mut q2], [mut p3, mut q3]] = [[_mm256_undefined_si256(); 2]; 4];
        asm!(
            $(
                concat!("vmovdqa {v}, [{w} + 64 * ", $at, "]"),
                concat!("vmovdqa {u}, [{w} + 64 * ", $at, " + 32]"),
                run!(@$products $at "{p0}" "{q0}" 0 $stride),
                run!(@$products $at "{p1}" "{q1}" 1 $stride),
                run!(@$products $at "{p2}" "{q2}" 2 $stride),
                run!(@$products $at "{p3}" "{q3}" 3 $stride),
            )*
            // `fours` does not use `y`, and every operand must be named.
            "/* {y} */",
            w = in(reg) $weights, values = in(reg) $values,
            p0 = out(ymm_reg) p0, p1 = out(ymm_reg) p1, p2 = out(ymm_reg) p2, p3 = out(ymm_reg) p3,
            q0 = out(ymm_reg) q0, q1 = out(ymm_reg) q1, q2 = out(ymm_reg) q2, q3 = out(ymm_reg) q3,
            v = out(ymm_reg) _, u = out(ymm_reg) _, x = out(ymm_reg) _, y = out(ymm_reg) _,
            options(pure, readonly, nostack, preserves_flags)
        );
        [[p0, q0], [p1, q1], [p2, q2], [p3, q3]]
    }};
    // Bytes, with sums of 16 bits.
    (@bytes $at:tt $p:tt $q:tt $row:tt $stride:tt) => { run!(@pairs "vpmaddubsw" "vpaddw" $at $p $q $row $stride) };
    // Words, with sums of 32 bits.
    (@words $at:tt $p:tt $q:tt $row:tt $stride:tt) => { run!(@pairs "vpmaddwd" "vpaddd" $at $p $q $row $stride) };
    (@pairs $multiply:tt $add:tt 0 $p:tt $q:tt $row:tt $stride:tt) => {
        concat!(
            "vpbroadcastd {x}, [{values} + ", $row, " * ", $stride, "]\n",
            $multiply, " ", $p, ", {v}, {x}\n",
            $multiply, " ", $q, ", {u}, {x}"
        )
    };
    (@pairs $multiply:tt $add:tt $at:tt $p:tt $q:tt $row:tt $stride:tt) => {
        concat!(
            "vpbroadcastd {x}, [{values} + ", $row, " * ", $stride, " + 4 * ", $at, "]\n",
            $multiply, " {y}, {v}, {x}\n",
            $multiply, " {x}, {u}, {x}\n",
            $add, " ", $p, ", ", $p, ", {y}\n",
            $add, " ", $q, ", ", $q, ", {x}"
        )
    };
    // Bytes, four of them to a sum of 32 bits.
    (@fours 0 $p:tt $q:tt $row:tt $stride:tt) => {
        concat!("vpxor ", $p, ", ", $p, ", ", $p, "\n", "vpxor ", $q, ", ", $q, ", ", $q, "\n", run!(@four 0 $p $q $row $stride))
    };
    (@fours $at:tt $p:tt $q:tt $row:tt $stride:tt) => { run!(@four $at $p $q $row $stride) };
    (@four $at:tt $p:tt $q:tt $row:tt $stride:tt) => {
        concat!(
            "vpbroadcastd {x}, [{values} + ", $row, " * ", $stride, " + 4 * ", $at, "]\n",
            "{{vex}} vpdpbusd ", $p, ", {v}, {x}\n",
            "{{vex}} vpdpbusd ", $q, ", {u}, {x}"
        )
    };
}

impl Multiply for Pairs {
    fn offset<L: FormatLayout>() -> i32 {
        L::OFFSET
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn keep<L: FormatLayout>(to: *mut UnpackedGroup, vector: usize, half: usize, bytes: __m256i) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if !L::IS_SIGNED {
                (*to).weights[vector][half] = bytes;
                return;
            }
            // Moves two of each four bytes to the upper halves of words, then shifts them down.
            let word = |at: i32| {
                let places = _mm_set_epi32(0x0d800c80, 0x09800880, 0x05800480, 0x01800080);
                let places = _mm_add_epi8(places, _mm_set1_epi32(at * 0x0200_0200));
                _mm256_srai_epi16::<8>(_mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(places)))
            };
            (*to).weights[2 * vector][half] = word(0);
            (*to).weights[2 * vector + 1][half] = word(1);
        }
    }

    type PreparedValues = BytesOrWords;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn prepare<L: FormatLayout>(values: &[[i8; GROUP]; 4]) -> BytesOrWords {
        if !L::IS_SIGNED {
            return BytesOrWords { bytes: values.as_flattened().as_ptr() };
        }
        let [first, second, third, fourth] = values;
        BytesOrWords { words: [words(first), words(second), words(third), words(fourth)] }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn four_rows<L: FormatLayout>(group: *const UnpackedGroup, values: &BytesOrWords) -> [[[__m256i; 2]; 4]; 2] {
        // SAFETY: guaranteed by the caller; values prepared for signed bytes are words.
        unsafe {
            let weights = (*group).weights.as_ptr();
            if L::IS_SIGNED {
                let words = values.words.as_ptr();
                return [
                    run!(words, weights, words, 64, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
                    [[_mm256_setzero_si256(); 2]; 4],
                ];
            }
            let bytes = values.bytes;
            let zero = [[_mm256_setzero_si256(); 2]; 4];
            match L::RUN {
                8 => [widened(run!(bytes, weights, bytes, 32, 0 1 2 3 4 5 6 7)), zero],
                4 => {
                    let first = widened(run!(bytes, weights, bytes, 32, 0 1 2 3));
                    [added(first, run!(bytes, weights.add(4), bytes.add(16), 32, 0 1 2 3)), zero]
                }
                _ => {
                    let first = widened(run!(bytes, weights, bytes, 32, 0 1));
                    let first = added(first, run!(bytes, weights.add(2), bytes.add(8), 32, 0 1));
                    let second = widened(run!(bytes, weights.add(4), bytes.add(16), 32, 0 1));
                    [first, added(second, run!(bytes, weights.add(6), bytes.add(24), 32, 0 1))]
                }
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn one_row<L: FormatLayout>(weights: [__m256i; 8], values: &[i8; GROUP], sums: [i32; 2]) -> [__m256i; 2] {
        let ones = _mm256_set1_epi16(1);
        let mut exact = starts::<L>(L::OFFSET, sums);
        let mut pairs = _mm256_setzero_si256();
        for (at, four) in values.as_chunks::<4>().0.iter().enumerate() {
            let four = _mm256_set1_epi32(i32::from_le_bytes(four.map(|x| x as u8)));
            let products = if L::IS_SIGNED {
                // The weights' sign moves to the activations, so that pairs of products are at most 32,512.
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

impl Multiply for Fours {
    fn offset<L: FormatLayout>() -> i32 {
        offset_of_unsigned::<L>()
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn keep<L: FormatLayout>(to: *mut UnpackedGroup, vector: usize, half: usize, bytes: __m256i) {
        // SAFETY: guaranteed by the caller.
        unsafe { (*to).weights[vector][half] = if L::IS_SIGNED { unsigned(bytes) } else { bytes } };
    }

    type PreparedValues = *const i8;

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn prepare<L: FormatLayout>(values: &[[i8; GROUP]; 4]) -> *const i8 {
        values.as_flattened().as_ptr()
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn four_rows<L: FormatLayout>(group: *const UnpackedGroup, values: &*const i8) -> [[[__m256i; 2]; 4]; 2] {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let (weights, bytes) = ((*group).weights.as_ptr(), *values);
            match L::BY_HALVES {
                true => {
                    [run!(fours, weights, bytes, 32, 0 1 2 3), run!(fours, weights.add(4), bytes.add(16), 32, 0 1 2 3)]
                }
                false => [run!(fours, weights, bytes, 32, 0 1 2 3 4 5 6 7), [[_mm256_setzero_si256(); 2]; 4]],
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn one_row<L: FormatLayout>(weights: [__m256i; 8], values: &[i8; GROUP], sums: [i32; 2]) -> [__m256i; 2] {
        // SAFETY: the caller guarantees AVX2 and AVX-VNNI. The intrinsic could not be inlined into this function, which is
        // compiled for AVX2.
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

/// Initial values of exact sums: minus the weights' offset times the sum of the activations.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn starts<L: FormatLayout>(offset: i32, [first, second]: [i32; 2]) -> [__m256i; 2] {
    match L::BY_HALVES {
        true => [_mm256_set1_epi32(-offset * first), _mm256_set1_epi32(-offset * second)],
        false => [_mm256_set1_epi32(-offset * (first + second)), _mm256_setzero_si256()],
    }
}

/// Index of the sum that a vector of weights adds to.
const fn part_of<L: FormatLayout>(vector: usize) -> usize {
    if L::BY_HALVES { vector / 4 } else { 0 }
}

/// Adds sums of 16 bits in pairs, to sums of 32 bits.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn widened(mut sums: [[__m256i; 2]; 4]) -> [[__m256i; 2]; 4] {
    for sums in sums.as_flattened_mut() {
        *sums = _mm256_madd_epi16(*sums, _mm256_set1_epi16(1));
    }
    sums
}

/// Adds sums of 16 bits, in pairs, to existing sums of 32 bits.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn added(mut sums: [[__m256i; 2]; 4], more: [[__m256i; 2]; 4]) -> [[__m256i; 2]; 4] {
    for (sums, more) in sums.as_flattened_mut().iter_mut().zip(widened(more).as_flattened()) {
        *sums = _mm256_add_epi32(*sums, *more);
    }
    sums
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn words(bytes: &[i8; GROUP]) -> [__m256i; 2] {
    // SAFETY: each half reads sixteen bytes.
    unsafe {
        let half = |at: usize| _mm256_cvtepi8_epi16(_mm_loadu_si128(bytes.as_ptr().add(at).cast()));
        [half(0), half(16)]
    }
}
