//! Unpacks the groups of each format to bytes.

use std::arch::x86_64::*;

use crate::matrix::{Format, GROUPS, HALVES, NIBBLES, TILE, VECTOR};

/// The layout of a format.
pub(in crate::kernels) trait FormatLayout {
    const FORMAT: Format;
    /// Offset to subtract from the unsigned bytes.
    const OFFSET: i32;
    /// Whether each half of a group has its own scale.
    const BY_HALVES: bool = false;
    const HAS_MINIMA: bool = false;

    /// The bytes of a group: vector `g` holds columns `4g..` of each row.
    ///
    /// # Safety
    /// All three methods: `block` must be a block of this format in a tile, and the processor must have AVX-512.
    unsafe fn bytes(block: *const u8, group: usize) -> [__m512i; 8];

    /// The scales of both halves of a group; by default each row has one for the whole block.
    #[inline(always)]
    unsafe fn scales(block: *const u8, _: usize) -> [__m512; 2] {
        // SAFETY: the caller guarantees the block.
        [unsafe { halves(block) }; 2]
    }

    /// The negative minima of a group; 0 by default.
    #[inline(always)]
    unsafe fn minima(_: *const u8, _: usize) -> __m512 {
        // SAFETY: the caller guarantees AVX-512.
        unsafe { _mm512_setzero_ps() }
    }
}

/// Address of a group of a block.
#[inline(always)]
fn group_of(format: Format, block: *const u8, group: usize) -> *const u8 {
    let layout = format.layout();
    block.wrapping_add(layout.head + group * layout.group)
}

#[inline(always)]
unsafe fn vector(at: *const u8, index: usize) -> __m512i {
    // SAFETY: the caller points into a tile.
    unsafe { _mm512_loadu_si512(at.add(index * VECTOR).cast()) }
}

#[inline(always)]
unsafe fn halves(at: *const u8) -> __m512 {
    // SAFETY: the caller points at sixteen f16.
    unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(at.cast())) }
}

#[inline(always)]
unsafe fn nibbles(group: *const u8) -> [__m512i; 8] {
    // SAFETY: the caller points at the nibbles of a group.
    unsafe {
        let low = _mm512_set1_epi8(15);
        let v = [vector(group, 0), vector(group, 1), vector(group, 2), vector(group, 3)];
        let lower = |at: usize| _mm512_and_si512(v[at], low);
        let upper = |at: usize| _mm512_and_si512(_mm512_srli_epi16::<4>(v[at]), low);
        [lower(0), lower(1), lower(2), lower(3), upper(0), upper(1), upper(2), upper(3)]
    }
}

pub(in crate::kernels) struct Q4_0;

impl FormatLayout for Q4_0 {
    const FORMAT: Format = Format::Q4_0;
    const OFFSET: i32 = 8;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, _: usize) -> [__m512i; 8] {
        // SAFETY: the caller guarantees the block.
        unsafe { nibbles(group_of(Self::FORMAT, block, 0)) }
    }
}

pub(in crate::kernels) struct Q8_0;

impl FormatLayout for Q8_0 {
    const FORMAT: Format = Format::Q8_0;
    const OFFSET: i32 = 128;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, _: usize) -> [__m512i; 8] {
        // SAFETY: the caller guarantees the block.
        unsafe {
            let (group, sign) = (group_of(Self::FORMAT, block, 0), _mm512_set1_epi8(-128));
            let mut bytes = [sign; 8];
            for (at, bytes) in bytes.iter_mut().enumerate() {
                *bytes = _mm512_xor_si512(vector(group, at), sign);
            }
            bytes
        }
    }
}

/// Nibbles, followed by their fifth bits.
#[inline(always)]
unsafe fn five_bits(group: *const u8) -> [__m512i; 8] {
    // SAFETY: the caller points at a group of this form.
    unsafe {
        let (mut bytes, fifth) = (nibbles(group), vector(group.add(NIBBLES), 0));
        let bit = _mm512_set1_epi8(16);
        bytes[0] = _mm512_or_si512(bytes[0], _mm512_and_si512(_mm512_slli_epi16::<4>(fifth), bit));
        bytes[1] = _mm512_or_si512(bytes[1], _mm512_and_si512(_mm512_slli_epi16::<3>(fifth), bit));
        bytes[2] = _mm512_or_si512(bytes[2], _mm512_and_si512(_mm512_slli_epi16::<2>(fifth), bit));
        bytes[3] = _mm512_or_si512(bytes[3], _mm512_and_si512(_mm512_slli_epi16::<1>(fifth), bit));
        bytes[4] = _mm512_or_si512(bytes[4], _mm512_and_si512(fifth, bit));
        bytes[5] = _mm512_or_si512(bytes[5], _mm512_and_si512(_mm512_srli_epi16::<1>(fifth), bit));
        bytes[6] = _mm512_or_si512(bytes[6], _mm512_and_si512(_mm512_srli_epi16::<2>(fifth), bit));
        bytes[7] = _mm512_or_si512(bytes[7], _mm512_and_si512(_mm512_srli_epi16::<3>(fifth), bit));
        bytes
    }
}

pub(in crate::kernels) struct Q5_1;

impl FormatLayout for Q5_1 {
    const FORMAT: Format = Format::Q5_1;
    const OFFSET: i32 = 0;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, _: usize) -> [__m512i; 8] {
        // SAFETY: the caller guarantees the block.
        unsafe { five_bits(group_of(Self::FORMAT, block, 0)) }
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, _: usize) -> __m512 {
        // SAFETY: the caller guarantees the block.
        unsafe { halves(block.add(HALVES)) }
    }
}

/// The scales of a group of Q4_K or Q5_K, or its minima.
#[inline(always)]
unsafe fn k_scales(block: *const u8, of_all: usize, group: usize) -> __m512 {
    // SAFETY: the caller guarantees a block with a head of this form.
    unsafe {
        let bytes = _mm_loadu_si128(block.add(2 * HALVES + group * TILE).cast());
        _mm512_mul_ps(halves(block.add(of_all * HALVES)), _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)))
    }
}

#[inline(always)]
unsafe fn k_minima(block: *const u8, group: usize) -> __m512 {
    // SAFETY: as above.
    unsafe { _mm512_sub_ps(_mm512_setzero_ps(), k_scales(block, 1, GROUPS + group)) }
}

pub(in crate::kernels) struct Q4K;

impl FormatLayout for Q4K {
    const FORMAT: Format = Format::Q4K;
    const OFFSET: i32 = 0;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, group: usize) -> [__m512i; 8] {
        // SAFETY: the caller guarantees the block.
        unsafe { nibbles(group_of(Self::FORMAT, block, group)) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize) -> [__m512; 2] {
        // SAFETY: the caller guarantees the block.
        [unsafe { k_scales(block, 0, group) }; 2]
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, group: usize) -> __m512 {
        // SAFETY: the caller guarantees the block.
        unsafe { k_minima(block, group) }
    }
}

pub(in crate::kernels) struct Q5K;

impl FormatLayout for Q5K {
    const FORMAT: Format = Format::Q5K;
    const OFFSET: i32 = 0;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, group: usize) -> [__m512i; 8] {
        // SAFETY: the caller guarantees the block.
        unsafe { five_bits(group_of(Self::FORMAT, block, group)) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize) -> [__m512; 2] {
        // SAFETY: the caller guarantees the block.
        [unsafe { k_scales(block, 0, group) }; 2]
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, group: usize) -> __m512 {
        // SAFETY: the caller guarantees the block.
        unsafe { k_minima(block, group) }
    }
}

pub(in crate::kernels) struct Q6K;

impl FormatLayout for Q6K {
    const FORMAT: Format = Format::Q6K;
    const OFFSET: i32 = 32;
    const BY_HALVES: bool = true;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, group: usize) -> [__m512i; 8] {
        /// (a & b) | c
        const MERGE: i32 = 0xEA;
        // SAFETY: the caller guarantees the block.
        unsafe {
            let group = group_of(Self::FORMAT, block, group);
            let (low, high) = (_mm512_set1_epi8(15), _mm512_set1_epi8(0x30));
            let lines = [vector(group, 0), vector(group, 1), vector(group, 2), vector(group, 3)];
            let upper = [vector(group, 4), vector(group, 5)];
            let bits = |v: __m512i| {
                [
                    _mm512_and_si512(_mm512_slli_epi16::<4>(v), high),
                    _mm512_and_si512(_mm512_slli_epi16::<2>(v), high),
                    _mm512_and_si512(v, high),
                    _mm512_and_si512(_mm512_srli_epi16::<2>(v), high),
                ]
            };
            let (first, second) = (bits(upper[0]), bits(upper[1]));
            let lower = |at: usize| _mm512_ternarylogic_epi32::<MERGE>(lines[at], low, first[at]);
            let higher =
                |at: usize| _mm512_ternarylogic_epi32::<MERGE>(_mm512_srli_epi16::<4>(lines[at]), low, second[at]);
            [lower(0), lower(1), lower(2), lower(3), higher(0), higher(1), higher(2), higher(3)]
        }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize) -> [__m512; 2] {
        // SAFETY: the caller guarantees the block.
        unsafe {
            let all = halves(block);
            let scales = |half: usize| {
                let bytes = _mm_loadu_si128(block.add(HALVES + (2 * group + half) * TILE).cast());
                _mm512_mul_ps(all, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)))
            };
            [scales(0), scales(1)]
        }
    }
}
