//! Unpacks the groups of each format to bytes.

use std::arch::aarch64::*;

use crate::kernels::neon::registers::{FourColumns, RowFloats};
use crate::matrix::{Format, GROUPS, HALVES, NIBBLES, TILE, VECTOR};
use crate::simd::widened_halves;

/// The layout of a format.
pub(super) trait FormatLayout {
    const FORMAT: Format;
    /// Offset to subtract from the bytes.
    const OFFSET: i32 = 0;
    /// Whether each half of a group has its own scale.
    const BY_HALVES: bool = false;
    const HAS_MINIMA: bool = false;

    /// Columns `4 * index..` of a group.
    ///
    /// # Safety
    /// All three methods: `block` must be a block of this format in a tile.
    unsafe fn columns(block: *const u8, group: usize, index: usize) -> FourColumns;

    /// The scales of half of a group; by default each row has one for the whole block.
    #[inline(always)]
    unsafe fn scales(block: *const u8, _: usize, _: usize) -> RowFloats {
        // SAFETY: the caller guarantees the block.
        unsafe { halves(block) }
    }

    /// The negative minima of a group; 0 by default.
    #[inline(always)]
    unsafe fn minima(_: *const u8, _: usize) -> RowFloats {
        // SAFETY: every aarch64 processor has NEON.
        unsafe { [vdupq_n_f32(0.0); 4] }
    }
}

/// Address of a group of a block.
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

/// Loads sixteen f16.
#[inline(always)]
unsafe fn halves(at: *const u8) -> RowFloats {
    let at = at.cast::<u16>();
    // SAFETY: the caller points at sixteen f16; no alignment is needed.
    unsafe {
        [
            widened_halves(vld1_u16(at)),
            widened_halves(vld1_u16(at.add(4))),
            widened_halves(vld1_u16(at.add(8))),
            widened_halves(vld1_u16(at.add(12))),
        ]
    }
}

/// Loads sixteen bytes as floats.
#[inline(always)]
unsafe fn bytes_as_floats<const IS_SIGNED: bool>(at: *const u8) -> RowFloats {
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
fn times(a: RowFloats, b: RowFloats) -> RowFloats {
    // SAFETY: every aarch64 processor has NEON.
    unsafe { [vmulq_f32(a[0], b[0]), vmulq_f32(a[1], b[1]), vmulq_f32(a[2], b[2]), vmulq_f32(a[3], b[3])] }
}

/// Columns `4 * index..` of a group of nibbles. `further` adds bits: a vector of the group, shifted left (right, if
/// negative), and a mask for the result.
#[inline(always)]
unsafe fn nibbles(group: *const u8, index: usize, further: Option<(usize, i8, u8)>) -> FourColumns {
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

pub(super) struct Q4_0;

impl FormatLayout for Q4_0 {
    const FORMAT: Format = Format::Q4_0;
    const OFFSET: i32 = 8;

    #[inline(always)]
    unsafe fn columns(block: *const u8, _: usize, index: usize) -> FourColumns {
        // SAFETY: the caller guarantees the block.
        unsafe { nibbles(group_of(Self::FORMAT, block, 0), index, None) }
    }
}

pub(super) struct Q8_0;

impl FormatLayout for Q8_0 {
    const FORMAT: Format = Format::Q8_0;

    #[inline(always)]
    unsafe fn columns(block: *const u8, _: usize, index: usize) -> FourColumns {
        // SAFETY: the caller guarantees the block.
        unsafe {
            let [a, b, c, d] = vector(group_of(Self::FORMAT, block, 0), index);
            [vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b), vreinterpretq_s8_u8(c), vreinterpretq_s8_u8(d)]
        }
    }
}

/// Index of the vector of a group's fifth bits.
const FIFTH: usize = NIBBLES / VECTOR;

pub(super) struct Q5_1;

impl FormatLayout for Q5_1 {
    const FORMAT: Format = Format::Q5_1;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn columns(block: *const u8, _: usize, index: usize) -> FourColumns {
        // SAFETY: the caller guarantees the block.
        unsafe { nibbles(group_of(Self::FORMAT, block, 0), index, Some((FIFTH, 4 - index as i8, 1 << 4))) }
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, _: usize) -> RowFloats {
        // SAFETY: the caller guarantees the block.
        unsafe { halves(block.add(HALVES)) }
    }
}

/// The scales of a group of Q4_K or Q5_K, or its minima.
#[inline(always)]
unsafe fn k_scales(block: *const u8, of_all: usize, group: usize) -> RowFloats {
    // SAFETY: the caller guarantees a block with a head of this form.
    unsafe { times(halves(block.add(of_all * HALVES)), bytes_as_floats::<false>(block.add(2 * HALVES + group * TILE))) }
}

#[inline(always)]
unsafe fn k_minima(block: *const u8, group: usize) -> RowFloats {
    // SAFETY: as above.
    unsafe {
        let [a, b, c, d] = k_scales(block, 1, GROUPS + group);
        [vnegq_f32(a), vnegq_f32(b), vnegq_f32(c), vnegq_f32(d)]
    }
}

pub(super) struct Q4K;

impl FormatLayout for Q4K {
    const FORMAT: Format = Format::Q4K;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn columns(block: *const u8, group: usize, index: usize) -> FourColumns {
        // SAFETY: the caller guarantees the block.
        unsafe { nibbles(group_of(Self::FORMAT, block, group), index, None) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize, _: usize) -> RowFloats {
        // SAFETY: the caller guarantees the block.
        unsafe { k_scales(block, 0, group) }
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, group: usize) -> RowFloats {
        // SAFETY: the caller guarantees the block.
        unsafe { k_minima(block, group) }
    }
}

pub(super) struct Q5K;

impl FormatLayout for Q5K {
    const FORMAT: Format = Format::Q5K;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn columns(block: *const u8, group: usize, index: usize) -> FourColumns {
        // SAFETY: the caller guarantees the block.
        unsafe { nibbles(group_of(Self::FORMAT, block, group), index, Some((FIFTH, 4 - index as i8, 1 << 4))) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize, _: usize) -> RowFloats {
        // SAFETY: the caller guarantees the block.
        unsafe { k_scales(block, 0, group) }
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, group: usize) -> RowFloats {
        // SAFETY: the caller guarantees the block.
        unsafe { k_minima(block, group) }
    }
}

pub(super) struct Q6K;

impl FormatLayout for Q6K {
    const FORMAT: Format = Format::Q6K;
    const OFFSET: i32 = 32;
    const BY_HALVES: bool = true;

    #[inline(always)]
    unsafe fn columns(block: *const u8, group: usize, index: usize) -> FourColumns {
        const UPPER: usize = NIBBLES / VECTOR;
        let shift = 4 - 2 * (index % 4) as i8;
        // SAFETY: the caller guarantees the block.
        unsafe { nibbles(group_of(Self::FORMAT, block, group), index, Some((UPPER + index / 4, shift, 3 << 4))) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize, half: usize) -> RowFloats {
        // SAFETY: the caller guarantees the block.
        unsafe { times(halves(block), bytes_as_floats::<true>(block.add(HALVES + (2 * group + half) * TILE))) }
    }
}
