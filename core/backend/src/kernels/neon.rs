//! NEON: signed bytes of four rows of weights meet the same four activations, in one instruction where the processor has
//! dot products, in four where not; with products of byte matrices, two rows of each meet.

use std::arch::aarch64::*;
use std::arch::asm;
use std::ops::Range;

use crate::activations::{GROUP, Quantised};
use crate::kernels::Outputs;
use crate::matrix::{Format, GROUPS, HALVES, Matrix, NIBBLES, TILE, VECTOR};
use crate::simd::wide;

/// What a processor has for bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bytes {
    Plain,
    Dots,
    Matrices,
}

impl Bytes {
    /// All that this processor has, the fastest last.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let has_dots = std::arch::is_aarch64_feature_detected!("dotprod");
        let has_matrices = has_dots && std::arch::is_aarch64_feature_detected!("i8mm");
        let known = [(true, Self::Plain), (has_dots, Self::Dots), (has_matrices, Self::Matrices)];
        known.into_iter().filter_map(|(is_there, bytes)| is_there.then_some(bytes))
    }
}

/// Sixteen bytes of each of a tile's four quarters: four columns of four rows.
type Columns = [int8x16_t; 4];
/// A number of each of a tile's rows.
type Row = [float32x4_t; 4];
type Sums = [int32x4_t; 4];

/// How a format's groups become bytes.
trait Layout {
    const FORMAT: Format;
    /// What is subtracted from the bytes.
    const OFFSET: i32 = 0;
    /// Whether each half of a group has a scale of its own.
    const BY_HALVES: bool = false;
    const HAS_MINIMA: bool = false;

    /// Columns `4 * index..` of a group.
    ///
    /// # Safety
    /// For all three: `block` is a block of this format in a tile.
    unsafe fn columns(block: *const u8, group: usize, index: usize) -> Columns;

    /// The scales of a half of a group.
    unsafe fn scales(block: *const u8, group: usize, half: usize) -> Row;

    /// The minima of a group, negative.
    #[inline(always)]
    unsafe fn minima(_: *const u8, _: usize) -> Row {
        // SAFETY: every aarch64 processor has NEON.
        unsafe { [vdupq_n_f32(0.0); 4] }
    }
}

/// Where a group of a block lies.
#[inline(always)]
fn group_of(format: Format, block: *const u8, group: usize) -> *const u8 {
    let layout = format.layout();
    block.wrapping_add(layout.head + group * layout.group)
}

#[inline(always)]
unsafe fn vector(at: *const u8, index: usize) -> [uint8x16_t; 4] {
    let at = at.wrapping_add(index * VECTOR);
    // SAFETY: the caller points into a tile.
    unsafe { [vld1q_u8(at), vld1q_u8(at.add(16)), vld1q_u8(at.add(32)), vld1q_u8(at.add(48))] }
}

/// Sixteen f16.
#[inline(always)]
unsafe fn halves(at: *const u8) -> Row {
    let at = at.cast::<u16>();
    // SAFETY: the caller points at sixteen of them; no alignment is needed.
    unsafe { [wide(vld1_u16(at)), wide(vld1_u16(at.add(4))), wide(vld1_u16(at.add(8))), wide(vld1_u16(at.add(12)))] }
}

/// Sixteen bytes as numbers.
#[inline(always)]
unsafe fn numbers<const IS_SIGNED: bool>(at: *const u8) -> Row {
    // SAFETY: the caller points at sixteen bytes.
    unsafe {
        if IS_SIGNED {
            let bytes = vld1q_s8(at.cast());
            let (low, high) = (vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes));
            [
                vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))),
                vcvtq_f32_s32(vmovl_high_s16(low)),
                vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))),
                vcvtq_f32_s32(vmovl_high_s16(high)),
            ]
        } else {
            let bytes = vld1q_u8(at);
            let (low, high) = (vmovl_u8(vget_low_u8(bytes)), vmovl_high_u8(bytes));
            [
                vcvtq_f32_u32(vmovl_u16(vget_low_u16(low))),
                vcvtq_f32_u32(vmovl_high_u16(low)),
                vcvtq_f32_u32(vmovl_u16(vget_low_u16(high))),
                vcvtq_f32_u32(vmovl_high_u16(high)),
            ]
        }
    }
}

#[inline(always)]
fn times(a: Row, b: Row) -> Row {
    // SAFETY: every aarch64 processor has NEON.
    unsafe { [vmulq_f32(a[0], b[0]), vmulq_f32(a[1], b[1]), vmulq_f32(a[2], b[2]), vmulq_f32(a[3], b[3])] }
}

/// Columns `4 * index..` of a group of nibbles, with further bits: those of a vector, shifted left (or right, where
/// negative), as far as the mask lets them through.
#[inline(always)]
unsafe fn nibbles(group: *const u8, index: usize, further: Option<(usize, i8, u8)>) -> Columns {
    // SAFETY: the caller points at a group of nibbles, and the further vector is part of it.
    unsafe {
        let lines = vector(group, index % 4);
        let (bits, shift, mask) = match further {
            Some((at, shift, mask)) => (vector(group, at), shift, mask),
            None => (lines, 0, 0),
        };
        let column = |at: usize| {
            let nibbles = if index < 4 { vandq_u8(lines[at], vdupq_n_u8(15)) } else { vshrq_n_u8::<4>(lines[at]) };
            let further = vandq_u8(vshlq_u8(bits[at], vdupq_n_s8(shift)), vdupq_n_u8(mask));
            vreinterpretq_s8_u8(vorrq_u8(nibbles, further))
        };
        [column(0), column(1), column(2), column(3)]
    }
}

struct Q4_0;

impl Layout for Q4_0 {
    const FORMAT: Format = Format::Q4_0;
    const OFFSET: i32 = 8;

    #[inline(always)]
    unsafe fn columns(block: *const u8, _: usize, index: usize) -> Columns {
        // SAFETY: the caller's block.
        unsafe { nibbles(group_of(Self::FORMAT, block, 0), index, None) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, _: usize, _: usize) -> Row {
        // SAFETY: the caller's block.
        unsafe { halves(block) }
    }
}

struct Q8_0;

impl Layout for Q8_0 {
    const FORMAT: Format = Format::Q8_0;

    #[inline(always)]
    unsafe fn columns(block: *const u8, _: usize, index: usize) -> Columns {
        // SAFETY: the caller's block.
        unsafe {
            let [a, b, c, d] = vector(group_of(Self::FORMAT, block, 0), index);
            [vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b), vreinterpretq_s8_u8(c), vreinterpretq_s8_u8(d)]
        }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, _: usize, _: usize) -> Row {
        // SAFETY: the caller's block.
        unsafe { halves(block) }
    }
}

/// The scales of a group of Q4_K or Q5_K, or its minima.
#[inline(always)]
unsafe fn k_scales(block: *const u8, of_all: usize, group: usize) -> Row {
    // SAFETY: the caller's block has a head of this form.
    unsafe { times(halves(block.add(of_all * HALVES)), numbers::<false>(block.add(2 * HALVES + group * TILE))) }
}

#[inline(always)]
unsafe fn k_minima(block: *const u8, group: usize) -> Row {
    // SAFETY: as above.
    unsafe {
        let [a, b, c, d] = k_scales(block, 1, GROUPS + group);
        [vnegq_f32(a), vnegq_f32(b), vnegq_f32(c), vnegq_f32(d)]
    }
}

struct Q4K;

impl Layout for Q4K {
    const FORMAT: Format = Format::Q4K;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn columns(block: *const u8, group: usize, index: usize) -> Columns {
        // SAFETY: the caller's block.
        unsafe { nibbles(group_of(Self::FORMAT, block, group), index, None) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize, _: usize) -> Row {
        // SAFETY: the caller's block.
        unsafe { k_scales(block, 0, group) }
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, group: usize) -> Row {
        // SAFETY: the caller's block.
        unsafe { k_minima(block, group) }
    }
}

struct Q5K;

impl Layout for Q5K {
    const FORMAT: Format = Format::Q5K;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn columns(block: *const u8, group: usize, index: usize) -> Columns {
        const FIFTH: usize = NIBBLES / VECTOR;
        // SAFETY: the caller's block.
        unsafe { nibbles(group_of(Self::FORMAT, block, group), index, Some((FIFTH, 4 - index as i8, 1 << 4))) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize, _: usize) -> Row {
        // SAFETY: the caller's block.
        unsafe { k_scales(block, 0, group) }
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, group: usize) -> Row {
        // SAFETY: the caller's block.
        unsafe { k_minima(block, group) }
    }
}

struct Q6K;

impl Layout for Q6K {
    const FORMAT: Format = Format::Q6K;
    const OFFSET: i32 = 32;
    const BY_HALVES: bool = true;

    #[inline(always)]
    unsafe fn columns(block: *const u8, group: usize, index: usize) -> Columns {
        const UPPER: usize = NIBBLES / VECTOR;
        let shift = 4 - 2 * (index % 4) as i8;
        // SAFETY: the caller's block.
        unsafe { nibbles(group_of(Self::FORMAT, block, group), index, Some((UPPER + index / 4, shift, 3 << 4))) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize, half: usize) -> Row {
        // SAFETY: the caller's block.
        unsafe { times(halves(block), numbers::<true>(block.add(HALVES + (2 * group + half) * TILE))) }
    }
}

/// How bytes are multiplied. The exact sums of four rows of activations and the columns `4 * first..4 * (first + n)` of a
/// group of a tile.
trait Multiply {
    /// # Safety
    /// The group is there, 32 values stand at each of the pointers, and the processor has the instructions.
    unsafe fn sums<L: Layout, const R: usize>(
        block: *const u8,
        group: usize,
        columns: Range<usize>,
        values: [*const i8; R],
    ) -> [Sums; R];
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
        // SAFETY: the caller has dot products; the intrinsic is not stable yet.
        unsafe {
            asm!("sdot {sums:v}.4s, {weights:v}.16b, {values:v}.16b", sums = inout(vreg) sums,
                weights = in(vreg) weights, values = in(vreg) values, options(pure, nomem, nostack, preserves_flags));
        }
        sums
    }
}

impl<D: Dot> Multiply for D {
    #[inline(always)]
    unsafe fn sums<L: Layout, const R: usize>(
        block: *const u8,
        group: usize,
        columns: Range<usize>,
        values: [*const i8; R],
    ) -> [Sums; R] {
        // SAFETY: the caller's.
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
    unsafe fn sums<L: Layout, const R: usize>(
        block: *const u8,
        group: usize,
        columns: Range<usize>,
        values: [*const i8; R],
    ) -> [Sums; R] {
        // SAFETY: the caller's.
        unsafe {
            if R < 2 {
                return Dots::sums::<L, R>(block, group, columns, values);
            }
            // Of each pair of rows of activations and each quarter: the products of its first two rows of weights with
            // both, then those of its last two.
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

pub(super) fn product(bytes: Bytes, matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    macro_rules! of_format {
        ($product:ident) => {
            match matrix.format() {
                Format::Q4_0 => $product::<Q4_0>(matrix, tiles, x, out),
                Format::Q8_0 => $product::<Q8_0>(matrix, tiles, x, out),
                Format::Q4K => $product::<Q4K>(matrix, tiles, x, out),
                Format::Q5K => $product::<Q5K>(matrix, tiles, x, out),
                Format::Q6K => $product::<Q6K>(matrix, tiles, x, out),
                Format::F32 | Format::F16 | Format::Bf16 => unreachable!("floats have kernels of their own"),
            }
        };
    }
    // SAFETY: the kind stands for the features; the matrix has the format of the layout.
    unsafe {
        match bytes {
            Bytes::Plain => of_format!(plain),
            Bytes::Dots => of_format!(dots),
            Bytes::Matrices => of_format!(matrices),
        }
    }
}

unsafe fn plain<L: Layout>(matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    // SAFETY: the caller's.
    unsafe { product_of::<L, Plain>(matrix, tiles, x, out) }
}

#[target_feature(enable = "dotprod")]
unsafe fn dots<L: Layout>(matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    // SAFETY: the caller's.
    unsafe { product_of::<L, Dots>(matrix, tiles, x, out) }
}

#[target_feature(enable = "dotprod,i8mm")]
unsafe fn matrices<L: Layout>(matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    // SAFETY: the caller's.
    unsafe { product_of::<L, Matrices>(matrix, tiles, x, out) }
}

#[inline(always)]
unsafe fn product_of<L: Layout, M: Multiply>(matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    for tile in tiles {
        let mut row = 0;
        while row < x.n_rows {
            // SAFETY: the caller's matrix; so many rows are left.
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

/// `R` rows of activations times a tile; returns the rows.
#[inline(always)]
unsafe fn rows<L: Layout, M: Multiply, const R: usize>(
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
    // Of each half of a group, or of the whole.
    let n_parts = if L::BY_HALVES { 2 } else { 1 };
    // SAFETY: the tile has this many blocks, as checked, and the activations as many groups of these rows.
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
