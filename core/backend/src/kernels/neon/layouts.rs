//! How each format's groups become bytes.

use std::arch::aarch64::*;

use crate::kernels::neon::{Columns, Row};
use crate::matrix::{Format, GROUPS, HALVES, NIBBLES, TILE, VECTOR};
use crate::simd::wide;

/// What products need to know of a format.
pub(super) trait Layout {
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

pub(super) struct Q4_0;

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

pub(super) struct Q8_0;

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

/// Where the fifth bits of a group stand.
const FIFTH: usize = NIBBLES / VECTOR;

pub(super) struct Q5_1;

impl Layout for Q5_1 {
    const FORMAT: Format = Format::Q5_1;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn columns(block: *const u8, _: usize, index: usize) -> Columns {
        // SAFETY: the caller's block.
        unsafe { nibbles(group_of(Self::FORMAT, block, 0), index, Some((FIFTH, 4 - index as i8, 1 << 4))) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, _: usize, _: usize) -> Row {
        // SAFETY: the caller's block.
        unsafe { halves(block) }
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, _: usize) -> Row {
        // SAFETY: the caller's block.
        unsafe { halves(block.add(HALVES)) }
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

pub(super) struct Q4K;

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

pub(super) struct Q5K;

impl Layout for Q5K {
    const FORMAT: Format = Format::Q5K;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn columns(block: *const u8, group: usize, index: usize) -> Columns {
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

pub(super) struct Q6K;

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
