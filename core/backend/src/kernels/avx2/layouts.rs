//! Unpacks the groups of each format to bytes.

use std::arch::x86_64::*;

use crate::matrix::{Format, GROUPS, HALVES, NIBBLES, TILE, VECTOR};

/// The layout of a format. Methods take half of a tile's sixteen rows at a time.
pub(super) trait FormatLayout {
    const FORMAT: Format;
    /// Offset to subtract from the unsigned bytes.
    const OFFSET: i32;
    /// Number of vectors whose pairs of products can be added in 16 bits. With activations up to 127, it is eight for bytes
    /// up to 15, four up to 31, two up to 63.
    const RUN: usize;
    /// Whether the bytes are signed.
    const IS_SIGNED: bool = false;
    /// Whether each half of a group has its own scale.
    const BY_HALVES: bool = false;
    const HAS_MINIMA: bool = false;

    /// The bytes of a group: vector `g` holds columns `4g..` of each row.
    ///
    /// # Safety
    /// All three methods: `block` must be a block of this format in a tile, and the processor must have AVX2.
    unsafe fn bytes(block: *const u8, group: usize, half: usize) -> [__m256i; 8];

    /// The scales of both halves of a group; by default each row has one for the whole block.
    #[inline(always)]
    unsafe fn scales(block: *const u8, _: usize, half: usize) -> [__m256; 2] {
        // SAFETY: the caller guarantees the block.
        [unsafe { halves(block, half) }; 2]
    }

    /// The negative minima of a group; 0 by default.
    #[inline(always)]
    unsafe fn minima(_: *const u8, _: usize, _: usize) -> __m256 {
        // SAFETY: the caller guarantees AVX2.
        unsafe { _mm256_setzero_ps() }
    }
}

/// Address of half of a group of a block.
#[inline(always)]
fn group_of(format: Format, block: *const u8, group: usize, half: usize) -> *const u8 {
    let layout = format.layout();
    block.wrapping_add(layout.head + group * layout.group + half * VECTOR / 2)
}

#[inline(always)]
unsafe fn vector(at: *const u8, index: usize) -> __m256i {
    // SAFETY: the caller points into a tile.
    unsafe { _mm256_loadu_si256(at.add(index * VECTOR).cast()) }
}

#[inline(always)]
unsafe fn halves(at: *const u8, half: usize) -> __m256 {
    // SAFETY: the caller points at sixteen f16.
    unsafe { _mm256_cvtph_ps(_mm_loadu_si128(at.add(half * HALVES / 2).cast())) }
}

#[inline(always)]
unsafe fn eight(at: *const u8, half: usize) -> __m128i {
    // SAFETY: the caller points at sixteen bytes.
    unsafe { _mm_loadl_epi64(at.add(half * TILE / 2).cast()) }
}

#[inline(always)]
unsafe fn nibbles(group: *const u8) -> [__m256i; 8] {
    // SAFETY: the caller points at the nibbles of a group.
    unsafe {
        let low = _mm256_set1_epi8(15);
        let v = [vector(group, 0), vector(group, 1), vector(group, 2), vector(group, 3)];
        let lower = |at: usize| _mm256_and_si256(v[at], low);
        let upper = |at: usize| _mm256_and_si256(_mm256_srli_epi16::<4>(v[at]), low);
        [lower(0), lower(1), lower(2), lower(3), upper(0), upper(1), upper(2), upper(3)]
    }
}

pub(super) struct Q4_0;

impl FormatLayout for Q4_0 {
    const FORMAT: Format = Format::Q4_0;
    const OFFSET: i32 = 8;
    const RUN: usize = 8;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, _: usize, half: usize) -> [__m256i; 8] {
        // SAFETY: the caller guarantees the block.
        unsafe { nibbles(group_of(Self::FORMAT, block, 0, half)) }
    }
}

pub(super) struct Q8_0;

impl FormatLayout for Q8_0 {
    const FORMAT: Format = Format::Q8_0;
    const OFFSET: i32 = 0;
    const RUN: usize = 1;
    const IS_SIGNED: bool = true;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, _: usize, half: usize) -> [__m256i; 8] {
        // SAFETY: the caller guarantees the block.
        unsafe {
            let at = group_of(Self::FORMAT, block, 0, half);
            let v = |index: usize| vector(at, index);
            [v(0), v(1), v(2), v(3), v(4), v(5), v(6), v(7)]
        }
    }
}

/// Nibbles, followed by their fifth bits.
#[inline(always)]
unsafe fn five_bits(group: *const u8) -> [__m256i; 8] {
    // SAFETY: the caller points at a group of this form.
    unsafe {
        let (mut bytes, fifth) = (nibbles(group), vector(group.add(NIBBLES), 0));
        let bit = _mm256_set1_epi8(16);
        bytes[0] = _mm256_or_si256(bytes[0], _mm256_and_si256(_mm256_slli_epi16::<4>(fifth), bit));
        bytes[1] = _mm256_or_si256(bytes[1], _mm256_and_si256(_mm256_slli_epi16::<3>(fifth), bit));
        bytes[2] = _mm256_or_si256(bytes[2], _mm256_and_si256(_mm256_slli_epi16::<2>(fifth), bit));
        bytes[3] = _mm256_or_si256(bytes[3], _mm256_and_si256(_mm256_slli_epi16::<1>(fifth), bit));
        bytes[4] = _mm256_or_si256(bytes[4], _mm256_and_si256(fifth, bit));
        bytes[5] = _mm256_or_si256(bytes[5], _mm256_and_si256(_mm256_srli_epi16::<1>(fifth), bit));
        bytes[6] = _mm256_or_si256(bytes[6], _mm256_and_si256(_mm256_srli_epi16::<2>(fifth), bit));
        bytes[7] = _mm256_or_si256(bytes[7], _mm256_and_si256(_mm256_srli_epi16::<3>(fifth), bit));
        bytes
    }
}

pub(super) struct Q5_1;

impl FormatLayout for Q5_1 {
    const FORMAT: Format = Format::Q5_1;
    const OFFSET: i32 = 0;
    const RUN: usize = 4;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, _: usize, half: usize) -> [__m256i; 8] {
        // SAFETY: the caller guarantees the block.
        unsafe { five_bits(group_of(Self::FORMAT, block, 0, half)) }
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, _: usize, half: usize) -> __m256 {
        // SAFETY: the caller guarantees the block.
        unsafe { halves(block.add(HALVES), half) }
    }
}

/// The scales of a group of Q4_K or Q5_K, or its minima.
#[inline(always)]
unsafe fn k_scales(block: *const u8, of_all: usize, group: usize, half: usize) -> __m256 {
    // SAFETY: the caller guarantees a block with a head of this form.
    unsafe {
        let bytes = _mm256_cvtepu8_epi32(eight(block.add(2 * HALVES + group * TILE), half));
        _mm256_mul_ps(halves(block.add(of_all * HALVES), half), _mm256_cvtepi32_ps(bytes))
    }
}

#[inline(always)]
unsafe fn k_minima(block: *const u8, group: usize, half: usize) -> __m256 {
    // SAFETY: as above.
    unsafe { _mm256_sub_ps(_mm256_setzero_ps(), k_scales(block, 1, GROUPS + group, half)) }
}

pub(super) struct Q4K;

impl FormatLayout for Q4K {
    const FORMAT: Format = Format::Q4K;
    const OFFSET: i32 = 0;
    const RUN: usize = 8;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, group: usize, half: usize) -> [__m256i; 8] {
        // SAFETY: the caller guarantees the block.
        unsafe { nibbles(group_of(Self::FORMAT, block, group, half)) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize, half: usize) -> [__m256; 2] {
        // SAFETY: the caller guarantees the block.
        [unsafe { k_scales(block, 0, group, half) }; 2]
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, group: usize, half: usize) -> __m256 {
        // SAFETY: the caller guarantees the block.
        unsafe { k_minima(block, group, half) }
    }
}

pub(super) struct Q5K;

impl FormatLayout for Q5K {
    const FORMAT: Format = Format::Q5K;
    const OFFSET: i32 = 0;
    const RUN: usize = 4;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, group: usize, half: usize) -> [__m256i; 8] {
        // SAFETY: the caller guarantees the block.
        unsafe { five_bits(group_of(Self::FORMAT, block, group, half)) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize, half: usize) -> [__m256; 2] {
        // SAFETY: the caller guarantees the block.
        [unsafe { k_scales(block, 0, group, half) }; 2]
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, group: usize, half: usize) -> __m256 {
        // SAFETY: the caller guarantees the block.
        unsafe { k_minima(block, group, half) }
    }
}

pub(super) struct Q6K;

impl FormatLayout for Q6K {
    const FORMAT: Format = Format::Q6K;
    const OFFSET: i32 = 32;
    const RUN: usize = 2;
    const BY_HALVES: bool = true;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, group: usize, half: usize) -> [__m256i; 8] {
        // SAFETY: the caller guarantees the block.
        unsafe {
            let group = group_of(Self::FORMAT, block, group, half);
            let (mut bytes, bits) = (nibbles(group), _mm256_set1_epi8(0x30));
            for part in 0..2 {
                let (at, upper) = (4 * part, vector(group, 4 + part));
                bytes[at] = _mm256_or_si256(bytes[at], _mm256_and_si256(_mm256_slli_epi16::<4>(upper), bits));
                bytes[at + 1] = _mm256_or_si256(bytes[at + 1], _mm256_and_si256(_mm256_slli_epi16::<2>(upper), bits));
                bytes[at + 2] = _mm256_or_si256(bytes[at + 2], _mm256_and_si256(upper, bits));
                bytes[at + 3] = _mm256_or_si256(bytes[at + 3], _mm256_and_si256(_mm256_srli_epi16::<2>(upper), bits));
            }
            bytes
        }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize, half: usize) -> [__m256; 2] {
        // SAFETY: the caller guarantees the block.
        unsafe {
            let all = halves(block, half);
            let scales = |part: usize| {
                let bytes = _mm256_cvtepi8_epi32(eight(block.add(HALVES + (2 * group + part) * TILE), half));
                _mm256_mul_ps(all, _mm256_cvtepi32_ps(bytes))
            };
            [scales(0), scales(1)]
        }
    }
}
