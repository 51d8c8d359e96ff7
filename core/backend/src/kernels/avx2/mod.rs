//! AVX2: multiplies unsigned bytes of eight rows of weights with signed bytes of activations, in pairs whose sums fit 16 bits,
//! or with AVX-VNNI four to a lane of 32 bits.

mod group;
mod layouts;
mod many;
mod multiply;
mod one;

use std::arch::x86_64::*;
use std::ops::Range;

use crate::activations::{BAND, GROUP, Quantised, QuantisedBand, QuantisedGroup, inverse};
use crate::kernels::avx2::group::put;
use crate::kernels::avx2::layouts::{FormatLayout, Q4_0, Q4K, Q5_1, Q5K, Q6K, Q8_0};
use crate::kernels::avx2::many::{ROWS, TILES};
use crate::kernels::avx2::multiply::{Fours, Multiply, Pairs};
use crate::kernels::outputs::Outputs;
use crate::matrix::{Format, Matrix};
use crate::simd::Avx2;

/// The processor's instructions for products of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ByteProducts {
    /// AVX2.
    Pairs,
    /// AVX-VNNI.
    Fours,
}

impl ByteProducts {
    /// All that this processor has, the fastest last.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let has_fours = is_x86_feature_detected!("avxvnni");
        let known = [(true, Self::Pairs), (has_fours, Self::Fours)];
        known.into_iter().filter_map(|(is_there, bytes)| is_there.then_some(bytes))
    }
}

/// Minimum number of rows of activations for which weights are unpacked for four rows at a time, from bands of sixteen.
pub(super) const MIN_ROWS: usize = 3;

pub(super) fn quantise(_: Avx2, x: &[f32], to: &mut QuantisedBand<'_>, row: usize) {
    // SAFETY: `Avx2` proves the features.
    unsafe { quantise_row(x, to, row) }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn quantise_row(x: &[f32], to: &mut QuantisedBand<'_>, row: usize) {
    to.set_row(row, x, |x| {
        let largest = x.iter().map(|x| x.to_bits() & !(1 << 31)).max().unwrap_or_default();
        let largest = f32::from_bits(largest);
        let inverse = _mm256_set1_ps(inverse(largest));
        let (mut values, mut sums) = ([0; GROUP], [0; 2]);
        for (at, x) in x.as_chunks::<8>().0.iter().enumerate() {
            // SAFETY: eight values are read.
            let scaled = unsafe { _mm256_mul_ps(_mm256_loadu_ps(x.as_ptr()), inverse) };
            // Infinity times 0 is NaN and becomes 0; the scale is not finite in this case.
            let is_number = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_ORD_Q>(scaled, scaled));
            let whole = _mm256_and_si256(_mm256_cvtps_epi32(scaled), is_number);
            let mut eight = [0i32; 8];
            // SAFETY: eight values are written.
            unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), whole) };
            sums[at / 2] += eight.iter().sum::<i32>();
            values[8 * at..][..8].iter_mut().zip(eight).for_each(|(to, value)| *to = value as i8); // -127 to 127
        }
        QuantisedGroup { values, scale: largest / 127.0, sums }
    });
}

pub(super) fn product(
    _: Avx2,
    bytes: ByteProducts,
    matrix: &Matrix,
    tiles: Range<usize>,
    x: &Quantised,
    out: &Outputs<'_>,
) {
    // SAFETY: `Avx2` proves AVX2, FMA and F16C; the processor has the instructions of `bytes`.
    unsafe {
        match bytes {
            ByteProducts::Pairs => product_with::<Pairs>(matrix, tiles, x, out),
            ByteProducts::Fours => product_with::<Fours>(matrix, tiles, x, out),
        }
    }
}

/// # Safety
/// The processor must have AVX2, FMA and F16C, and the instructions of `M`.
unsafe fn product_with<M: Multiply>(matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    // SAFETY: the caller guarantees the features; the matrix has the layout's format.
    unsafe {
        match matrix.format() {
            Format::Q4_0 => product_of::<Q4_0, M>(matrix, tiles, x, out),
            Format::Q8_0 => product_of::<Q8_0, M>(matrix, tiles, x, out),
            Format::Q4K => product_of::<Q4K, M>(matrix, tiles, x, out),
            Format::Q5_1 => product_of::<Q5_1, M>(matrix, tiles, x, out),
            Format::Q5K => product_of::<Q5K, M>(matrix, tiles, x, out),
            Format::Q6K => product_of::<Q6K, M>(matrix, tiles, x, out),
            Format::F32 | Format::F16 | Format::Bf16 => unreachable!("floats have kernels of their own"),
        }
    }
}

/// # Safety
/// The matrix must have the layout's format, and the processor the instructions of `M`.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn product_of<L: FormatLayout, M: Multiply>(
    matrix: &Matrix,
    tiles: Range<usize>,
    x: &Quantised,
    out: &Outputs<'_>,
) {
    assert!(matrix.n_columns() == x.n_groups * GROUP);
    // A single last row is faster alone; two or three are not.
    let n_in_fours = match x.n_rows % 4 {
        _ if x.height < BAND => 0,
        1 => x.n_rows - 1,
        _ => x.n_rows,
    };
    for first_tile in tiles.clone().step_by(TILES) {
        let tiles = first_tile..tiles.end.min(first_tile + TILES);
        for first_row in (0..n_in_fours).step_by(ROWS) {
            // SAFETY: the rows exist, in bands of sixteen; the caller guarantees matrix and instructions.
            unsafe {
                many::rows::<L, M>((matrix, tiles.clone()), (x, first_row..n_in_fours.min(first_row + ROWS)), out)
            };
        }
        for tile in tiles {
            for row in n_in_fours..x.n_rows {
                // SAFETY: as above.
                put(out, row, tile, &unsafe { one::row::<L, M>(matrix.tile(tile), x, row) });
            }
        }
    }
}
