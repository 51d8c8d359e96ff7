//! NEON: multiplies signed bytes of four rows of weights with the same four activations. That takes one instruction with dot
//! products (`dotprod`) and four without; byte matrix products (`i8mm`) take two rows of weights and two of activations.

mod layouts;
mod registers;

use std::arch::aarch64::*;
use std::arch::asm;
use std::ops::Range;

use crate::activations::{GROUP, Quantised};
use crate::kernels::neon::layouts::{FormatLayout, Q4_0, Q4K, Q5_1, Q5K, Q6K, Q8_0};
use crate::kernels::neon::registers::RowSums;
use crate::kernels::outputs::Outputs;
use crate::matrix::{Format, Matrix, TILE};

/// The processor's instructions for products of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ByteProducts {
    Plain,
    Dots,
    Matrices,
}

impl ByteProducts {
    /// All that this processor has, the fastest last.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let has_dots = std::arch::is_aarch64_feature_detected!("dotprod");
        let has_matrices = has_dots && std::arch::is_aarch64_feature_detected!("i8mm");
        let known = [(true, Self::Plain), (has_dots, Self::Dots), (has_matrices, Self::Matrices)];
        known.into_iter().filter_map(|(is_there, bytes)| is_there.then_some(bytes))
    }
}

/// A way to multiply bytes.
trait Multiply {
    /// Returns the exact sums of products of `R` rows of activations with columns of a group of a tile; `columns` counts them in
    /// fours.
    ///
    /// # Safety
    /// The group must exist, each pointer must point at 32 values, and the processor must have the instructions.
    unsafe fn sums<L: FormatLayout, const R: usize>(
        block: *const u8,
        group: usize,
        columns: Range<usize>,
        values: [*const i8; R],
    ) -> [RowSums; R];
}

struct Plain;
struct Dots;
struct Matrices;

/// Adds the products of four columns, for each of four rows of weights.
trait Dot {
    unsafe fn add(sums: int32x4_t, weights: int8x16_t, values: int8x16_t) -> int32x4_t;
}

impl Dot for Plain {
    #[inline(always)]
    unsafe fn add(sums: int32x4_t, weights: int8x16_t, values: int8x16_t) -> int32x4_t {
        // SAFETY: every aarch64 processor has NEON. Pairs of products are at most 2 * 128 * 127, and fit 16 bits.
        unsafe {
            let (low, high) = (vmull_s8(vget_low_s8(weights), vget_low_s8(values)), vmull_high_s8(weights, values));
            vpadalq_s16(sums, vpaddq_s16(low, high))
        }
    }
}

impl Dot for Dots {
    #[inline(always)]
    unsafe fn add(mut sums: int32x4_t, weights: int8x16_t, values: int8x16_t) -> int32x4_t {
        // SAFETY: the caller guarantees dot products; the intrinsic is not stable yet.
        unsafe {
            asm!("sdot {sums:v}.4s, {weights:v}.16b, {values:v}.16b", sums = inout(vreg) sums,
                weights = in(vreg) weights, values = in(vreg) values, options(pure, nomem, nostack, preserves_flags));
        }
        sums
    }
}

impl<D: Dot> Multiply for D {
    #[inline(always)]
    unsafe fn sums<L: FormatLayout, const R: usize>(
        block: *const u8,
        group: usize,
        columns: Range<usize>,
        values: [*const i8; R],
    ) -> [RowSums; R] {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut sums = [[vdupq_n_s32(0); 4]; R];
            for index in columns {
                let weights = L::columns(block, group, index);
                for row in 0..R {
                    let four = vreinterpretq_s8_s32(vld1q_dup_s32(values[row].add(4 * index).cast()));
                    for quarter in 0..4 {
                        sums[row][quarter] = D::add(sums[row][quarter], weights[quarter], four);
                    }
                }
            }
            sums
        }
    }
}

impl Multiply for Matrices {
    #[inline(always)]
    unsafe fn sums<L: FormatLayout, const R: usize>(
        block: *const u8,
        group: usize,
        columns: Range<usize>,
        values: [*const i8; R],
    ) -> [RowSums; R] {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if R < 2 {
                return Dots::sums::<L, R>(block, group, columns, values);
            }
            // For each pair of rows of activations and each quarter of the tile: the products of both rows with the
            // quarter's first two rows of weights, then with its last two.
            let mut products = [[[vdupq_n_s32(0); 2]; 4]; R];
            for index in columns.step_by(2) {
                let (first, second) = (L::columns(block, group, index), L::columns(block, group, index + 1));
                for pair in 0..R / 2 {
                    let eight = |row: usize| vld1_s8(values[2 * pair + row].add(4 * index));
                    let values = vcombine_s8(eight(0), eight(1));
                    for quarter in 0..4 {
                        let words = (vreinterpretq_s32_s8(first[quarter]), vreinterpretq_s32_s8(second[quarter]));
                        let weights = [
                            vreinterpretq_s8_s32(vzip1q_s32(words.0, words.1)),
                            vreinterpretq_s8_s32(vzip2q_s32(words.0, words.1)),
                        ];
                        for half in 0..2 {
                            let sums = &mut products[pair][quarter][half];
                            asm!("smmla {sums:v}.4s, {weights:v}.16b, {values:v}.16b", sums = inout(vreg) *sums,
                                weights = in(vreg) weights[half], values = in(vreg) values,
                                options(pure, nomem, nostack, preserves_flags));
                        }
                    }
                }
            }
            let mut sums = [[vdupq_n_s32(0); 4]; R];
            for pair in 0..R / 2 {
                for quarter in 0..4 {
                    let [upper, lower] = products[pair][quarter];
                    sums[2 * pair][quarter] = vuzp1q_s32(upper, lower);
                    sums[2 * pair + 1][quarter] = vuzp2q_s32(upper, lower);
                }
            }
            sums
        }
    }
}

pub(super) fn product(bytes: ByteProducts, matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    macro_rules! of_format {
        ($product:ident) => {
            match matrix.format() {
                Format::Q4_0 => $product::<Q4_0>(matrix, tiles, x, out),
                Format::Q8_0 => $product::<Q8_0>(matrix, tiles, x, out),
                Format::Q4K => $product::<Q4K>(matrix, tiles, x, out),
                Format::Q5_1 => $product::<Q5_1>(matrix, tiles, x, out),
                Format::Q5K => $product::<Q5K>(matrix, tiles, x, out),
                Format::Q6K => $product::<Q6K>(matrix, tiles, x, out),
                Format::F32 | Format::F16 | Format::Bf16 => unreachable!("floats have kernels of their own"),
            }
        };
    }
    // SAFETY: `bytes` proves the features; the matrix has the layout's format.
    unsafe {
        match bytes {
            ByteProducts::Plain => of_format!(plain),
            ByteProducts::Dots => of_format!(dots),
            ByteProducts::Matrices => of_format!(matrices),
        }
    }
}

unsafe fn plain<L: FormatLayout>(matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    // SAFETY: guaranteed by the caller.
    unsafe { product_of::<L, Plain>(matrix, tiles, x, out) }
}

#[target_feature(enable = "dotprod")]
unsafe fn dots<L: FormatLayout>(matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    // SAFETY: guaranteed by the caller.
    unsafe { product_of::<L, Dots>(matrix, tiles, x, out) }
}

#[target_feature(enable = "dotprod,i8mm")]
unsafe fn matrices<L: FormatLayout>(matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    // SAFETY: guaranteed by the caller.
    unsafe { product_of::<L, Matrices>(matrix, tiles, x, out) }
}

#[inline(always)]
unsafe fn product_of<L: FormatLayout, M: Multiply>(
    matrix: &Matrix,
    tiles: Range<usize>,
    x: &Quantised,
    out: &Outputs<'_>,
) {
    for tile in tiles {
        let mut row = 0;
        while row < x.n_rows {
            // SAFETY: the caller guarantees the matrix; at least as many rows are left.
            row += unsafe {
                match x.n_rows - row {
                    4.. => rows::<L, M, 4>(matrix, tile, x, row, out),
                    2..4 => rows::<L, M, 2>(matrix, tile, x, row, out),
                    _ => rows::<L, M, 1>(matrix, tile, x, row, out),
                }
            };
        }
    }
}

/// Multiplies `R` rows of activations with a tile; returns `R`.
#[inline(always)]
unsafe fn rows<L: FormatLayout, M: Multiply, const R: usize>(
    matrix: &Matrix,
    tile: usize,
    x: &Quantised,
    row: usize,
    out: &Outputs<'_>,
) -> usize {
    let layout = L::FORMAT.layout();
    let n_groups = L::FORMAT.block() / GROUP;
    let bytes = matrix.tile(tile);
    assert!(row + R <= x.n_rows && bytes.len() == x.n_groups / n_groups * layout.tile_bytes());
    // Sums of each half of a group, or of the whole.
    let n_parts = if L::BY_HALVES { 2 } else { 1 };
    // SAFETY: the tile has this many blocks, as checked, and the activations have as many groups of these rows.
    unsafe {
        let mut y = [[vdupq_n_f32(0.0); 4]; R];
        let mut block = bytes.as_ptr();
        for first in (0..x.n_groups).step_by(n_groups) {
            for group in 0..n_groups {
                let mut places = [0; R];
                let mut values = [std::ptr::null(); R];
                for at in 0..R {
                    places[at] = x.at(row + at, first + group);
                    values[at] = x.values.get_unchecked(places[at]).as_ptr();
                }
                for part in 0..n_parts {
                    let columns = part * 8 / n_parts..(part + 1) * 8 / n_parts;
                    let sums = M::sums::<L, R>(block, group, columns, values);
                    let scales = L::scales(block, group, part);
                    for at in 0..R {
                        let [first, second] = *x.sums.get_unchecked(places[at]);
                        let of_values = if L::BY_HALVES { [first, second][part] } else { first + second };
                        let offset = vdupq_n_s32(L::OFFSET * of_values);
                        let scale = vdupq_n_f32(*x.scales.get_unchecked(places[at]));
                        for quarter in 0..4 {
                            let exact = vcvtq_f32_s32(vsubq_s32(sums[at][quarter], offset));
                            y[at][quarter] = vfmaq_f32(y[at][quarter], exact, vmulq_f32(scales[quarter], scale));
                        }
                    }
                }
                if L::HAS_MINIMA {
                    let minima = L::minima(block, group);
                    for at in 0..R {
                        let scaled_sum = vdupq_n_f32(*x.scaled_sums.get_unchecked(places[at]));
                        for quarter in 0..4 {
                            y[at][quarter] = vfmaq_f32(y[at][quarter], minima[quarter], scaled_sum);
                        }
                    }
                }
            }
            block = block.add(layout.tile_bytes());
        }
        for (at, y) in y.into_iter().enumerate() {
            let mut values = [0.0; TILE];
            for (quarter, y) in y.into_iter().enumerate() {
                vst1q_f32(values.as_mut_ptr().add(4 * quarter), y);
            }
            out.put(row + at, tile, &values);
        }
    }
    R
}
