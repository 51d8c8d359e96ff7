//! AVX-512 with VNNI: unsigned bytes of sixteen rows of weights meet signed bytes of activations, four to a lane.
//!
//! The weights' offset (8, 32 or 128) is paid in advance: an integer sum begins at minus the offset times the sum of the
//! activations.

use std::arch::x86_64::*;
use std::ops::Range;

use crate::activations::{GROUP, Quantised, QuantisedBand, QuantisedGroup, inverse};
use crate::kernels::Outputs;
use crate::matrix::{Format, GROUPS, HALVES, Matrix, NIBBLES, TILE, VECTOR};
use crate::simd::Avx512;

/// Bytes ahead of the ones at work that are asked for from memory; twice as far was slower.
const AHEAD: usize = 2304;

pub(super) fn quantise(_: Avx512, x: &[f32], to: &mut QuantisedBand<'_>, row: usize) {
    // SAFETY: the token stands for the features.
    unsafe { quantise_row(x, to, row) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn quantise_row(x: &[f32], to: &mut QuantisedBand<'_>, row: usize) {
    to.put(row, x, |x| {
        // SAFETY: 32 values are read; the features are the caller's.
        unsafe {
            let parts = [_mm512_loadu_ps(x.as_ptr()), _mm512_loadu_ps(x.as_ptr().add(16))];
            let magnitudes = parts.map(|part| _mm512_castps_si512(_mm512_abs_ps(part)));
            let largest = _mm512_reduce_max_epu32(_mm512_max_epu32(magnitudes[0], magnitudes[1]));
            let largest = f32::from_bits(largest);
            let inverse = _mm512_set1_ps(inverse(largest));
            let whole = parts.map(|part| {
                let scaled = _mm512_mul_ps(part, inverse);
                // Infinity times 0 is no number, and counts as 0: the scale tells of it.
                let is_number = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(scaled, scaled);
                _mm512_maskz_cvtps_epi32(is_number, scaled)
            });
            let mut values = [0i8; GROUP];
            _mm_storeu_si128(values.as_mut_ptr().cast(), _mm512_cvtsepi32_epi8(whole[0]));
            _mm_storeu_si128(values.as_mut_ptr().add(16).cast(), _mm512_cvtsepi32_epi8(whole[1]));
            let sums = whole.map(|whole| _mm512_reduce_add_epi32(whole));
            QuantisedGroup { values, scale: largest / 127.0, sums }
        }
    });
}

/// How a format's groups become bytes.
pub(super) trait Layout {
    const FORMAT: Format;
    /// What is subtracted from the unsigned bytes.
    const OFFSET: i32;
    /// Whether each half of a group has a scale of its own.
    const BY_HALVES: bool = false;
    const HAS_MINIMA: bool = false;

    /// The bytes of a group: vector `g` holds columns `4g..` of each row.
    ///
    /// # Safety
    /// For all three: `block` is a block of this format in a tile, and the processor has AVX-512.
    unsafe fn bytes(block: *const u8, group: usize) -> [__m512i; 8];

    /// The scales of both halves of a group.
    unsafe fn scales(block: *const u8, group: usize) -> [__m512; 2];

    /// The minima of a group, negative.
    #[inline(always)]
    unsafe fn minima(_: *const u8, _: usize) -> __m512 {
        // SAFETY: the caller has AVX-512.
        unsafe { _mm512_setzero_ps() }
    }
}

/// Where a group of a block lies.
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

pub(super) struct Q4_0;

impl Layout for Q4_0 {
    const FORMAT: Format = Format::Q4_0;
    const OFFSET: i32 = 8;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, _: usize) -> [__m512i; 8] {
        // SAFETY: the caller's block.
        unsafe { nibbles(group_of(Self::FORMAT, block, 0)) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, _: usize) -> [__m512; 2] {
        // SAFETY: the caller's block.
        [unsafe { halves(block) }; 2]
    }
}

pub(super) struct Q8_0;

impl Layout for Q8_0 {
    const FORMAT: Format = Format::Q8_0;
    const OFFSET: i32 = 128;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, _: usize) -> [__m512i; 8] {
        // SAFETY: the caller's block.
        unsafe {
            let (group, sign) = (group_of(Self::FORMAT, block, 0), _mm512_set1_epi8(-128));
            std::array::from_fn(|at| _mm512_xor_si512(vector(group, at), sign))
        }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, _: usize) -> [__m512; 2] {
        // SAFETY: the caller's block.
        [unsafe { halves(block) }; 2]
    }
}

/// The scales of a group of Q4_K or Q5_K, or its minima.
#[inline(always)]
unsafe fn k_scales(block: *const u8, of_all: usize, group: usize) -> __m512 {
    // SAFETY: the caller's block has a head of this form.
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

pub(super) struct Q4K;

impl Layout for Q4K {
    const FORMAT: Format = Format::Q4K;
    const OFFSET: i32 = 0;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, group: usize) -> [__m512i; 8] {
        // SAFETY: the caller's block.
        unsafe { nibbles(group_of(Self::FORMAT, block, group)) }
    }

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize) -> [__m512; 2] {
        // SAFETY: the caller's block.
        [unsafe { k_scales(block, 0, group) }; 2]
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, group: usize) -> __m512 {
        // SAFETY: the caller's block.
        unsafe { k_minima(block, group) }
    }
}

pub(super) struct Q5K;

impl Layout for Q5K {
    const FORMAT: Format = Format::Q5K;
    const OFFSET: i32 = 0;
    const HAS_MINIMA: bool = true;

    #[inline(always)]
    unsafe fn bytes(block: *const u8, group: usize) -> [__m512i; 8] {
        // SAFETY: the caller's block.
        unsafe {
            let group = group_of(Self::FORMAT, block, group);
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

    #[inline(always)]
    unsafe fn scales(block: *const u8, group: usize) -> [__m512; 2] {
        // SAFETY: the caller's block.
        [unsafe { k_scales(block, 0, group) }; 2]
    }

    #[inline(always)]
    unsafe fn minima(block: *const u8, group: usize) -> __m512 {
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
    unsafe fn bytes(block: *const u8, group: usize) -> [__m512i; 8] {
        /// (a & b) | c
        const MERGE: i32 = 0xEA;
        // SAFETY: the caller's block.
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
        // SAFETY: the caller's block.
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

pub(super) fn product(_: Avx512, matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    // SAFETY: the token stands for the features; the matrix has the format of the layout.
    unsafe {
        match matrix.format() {
            Format::Q4_0 => product_of::<Q4_0>(matrix, tiles, x, out),
            Format::Q8_0 => product_of::<Q8_0>(matrix, tiles, x, out),
            Format::Q4K => product_of::<Q4K>(matrix, tiles, x, out),
            Format::Q5K => product_of::<Q5K>(matrix, tiles, x, out),
            Format::Q6K => product_of::<Q6K>(matrix, tiles, x, out),
            Format::F32 | Format::F16 | Format::Bf16 => unreachable!("floats have kernels of their own"),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,f16c")]
unsafe fn product_of<L: Layout>(matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    for tile in tiles {
        let mut row = 0;
        while row < x.n_rows {
            // SAFETY: the caller's matrix; so many rows are left.
            row += unsafe {
                match x.n_rows - row {
                    16.. => rows::<L, 16>(matrix, tile, x, row, out),
                    8..16 => rows::<L, 8>(matrix, tile, x, row, out),
                    4..8 => rows::<L, 4>(matrix, tile, x, row, out),
                    2..4 => rows::<L, 2>(matrix, tile, x, row, out),
                    _ => rows::<L, 1>(matrix, tile, x, row, out),
                }
            };
        }
    }
}

/// `R` rows of activations times a tile; returns the rows.
#[inline(always)]
unsafe fn rows<L: Layout, const R: usize>(
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
    // SAFETY: the tile has this many blocks, as checked, and the activations as many groups of these rows.
    unsafe {
        let places: [usize; R] = std::array::from_fn(|at| x.at(row + at, 0));
        let mut y = [_mm512_setzero_ps(); R];
        let mut block = bytes.as_ptr();
        for first in (0..x.n_groups).step_by(n_groups) {
            for group in 0..n_groups {
                if R <= 2 {
                    let start = group_of(L::FORMAT, block, group).wrapping_add(AHEAD);
                    for line in (0..layout.group).step_by(VECTOR) {
                        _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line).cast());
                    }
                }
                let weights = L::bytes(block, group);
                let scales = L::scales(block, group);
                let minima = L::minima(block, group);
                for at in 0..R {
                    let place = places[at] + (first + group) * x.height;
                    let values = x.values.as_ptr().add(place).cast::<i32>();
                    let four = |at: usize| _mm512_set1_epi32(values.add(at).read_unaligned());
                    let sums = *x.sums.get_unchecked(place);
                    let scale = _mm512_set1_ps(*x.scales.get_unchecked(place));
                    // Whole numbers: two chains hide the time of one, and give the same.
                    let mut halves = [_mm512_set1_epi32(-L::OFFSET * sums[0]), _mm512_set1_epi32(-L::OFFSET * sums[1])];
                    for column in 0..4 {
                        halves[0] = _mm512_dpbusd_epi32(halves[0], weights[column], four(column));
                        halves[1] = _mm512_dpbusd_epi32(halves[1], weights[column + 4], four(column + 4));
                    }
                    if L::BY_HALVES {
                        for half in 0..2 {
                            let factor = _mm512_mul_ps(scales[half], scale);
                            y[at] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(halves[half]), factor, y[at]);
                        }
                    } else {
                        let sum = _mm512_cvtepi32_ps(_mm512_add_epi32(halves[0], halves[1]));
                        y[at] = _mm512_fmadd_ps(sum, _mm512_mul_ps(scales[0], scale), y[at]);
                    }
                    if L::HAS_MINIMA {
                        let scaled_sum = _mm512_set1_ps(*x.scaled_sums.get_unchecked(place));
                        y[at] = _mm512_fmadd_ps(minima, scaled_sum, y[at]);
                    }
                }
            }
            block = block.add(layout.tile_bytes());
        }
        for (at, y) in y.into_iter().enumerate() {
            let mut values = [0.0; TILE];
            _mm512_storeu_ps(values.as_mut_ptr(), y);
            out.put(row + at, tile, &values);
        }
    }
    R
}
