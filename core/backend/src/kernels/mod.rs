//! Products of activations and weights, for each kind of processor.
//!
//! All kernels compute the same bits; [`portable`] defines the order of operations. So the choice of a kernel, the number of
//! rows it takes at once and the thread that runs it affect speed only.

mod outputs;
mod portable;
mod floats;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) mod amx;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(test)]
mod tests;

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use crate::activations::BAND;
use crate::activations::{Activations, QuantisedBand, QuantisedGroup, Quantiser};
use crate::matrix::Matrix;
#[cfg(target_arch = "aarch64")]
use crate::simd::Neon;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{Portable, Simd, Work};

pub(crate) use outputs::Outputs;

/// The instructions that kernels use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tier {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2, avx2::ByteProducts),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    /// AVX-512, and AMX tiles for many rows.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Amx(Avx512, amx::Amx),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon, neon::ByteProducts),
}

impl Tier {
    /// The fastest tier of this processor.
    pub(crate) fn detect() -> Self {
        Self::all().pop().unwrap_or(Self::Portable)
    }

    /// All tiers of this processor, the fastest last.
    pub(crate) fn all() -> Vec<Self> {
        #[allow(unused_mut, reason = "not changed on other processors")]
        let mut all = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            all.extend(avx2::ByteProducts::all().map(|bytes| Self::Avx2(avx2, bytes)));
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(avx512) = Avx512::detect() {
            all.push(Self::Avx512(avx512));
            #[cfg(target_os = "linux")]
            all.extend(amx::Amx::detect().map(|amx| Self::Amx(avx512, amx)));
        }
        #[cfg(target_arch = "aarch64")]
        all.extend(neon::ByteProducts::all().map(|bytes| Self::Neon(Neon, bytes)));
        all
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_, avx2::ByteProducts::Pairs) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_, avx2::ByteProducts::Fours) => "AVX-VNNI",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "AVX-512",
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::Amx(..) => "AMX",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_, neon::ByteProducts::Plain) => "NEON",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_, neon::ByteProducts::Dots) => "dotprod",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_, neon::ByteProducts::Matrices) => "i8mm",
        }
    }

    /// Runs work over floats with the vectors of this tier.
    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        match self {
            Self::Portable => Portable.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2, _) => avx2.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(avx512) => avx512.run(work),
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::Amx(avx512, _) => avx512.run(work),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(neon, _) => neon.run(work),
        }
    }

    /// Computes the outputs of some tiles, for all rows of activations.
    ///
    /// # Safety
    /// No other thread may write the outputs of these tiles at the same time.
    pub(crate) unsafe fn product(self, matrix: &Matrix, tiles: Range<usize>, x: &Activations, out: &Outputs<'_>) {
        debug_assert!(x.n_columns == matrix.n_columns() && tiles.end <= matrix.n_tiles());
        if !matrix.format().is_quantised() {
            return self.run(floats::FloatProduct { matrix, tiles, x, out });
        }
        let x = &x.quantised;
        match self {
            Self::Portable => portable::product(matrix, tiles, x, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2, bytes) => avx2::product(avx2, bytes, matrix, tiles, x, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(avx512) => avx512::product(avx512, matrix, tiles, x, out),
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::Amx(avx512, amx) => match x.n_rows {
                amx::MIN_ROWS.. => amx::product(amx, matrix, tiles, x, out),
                _ => avx512::product(avx512, matrix, tiles, x, out),
            },
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_, bytes) => neon::product(bytes, matrix, tiles, x, out),
        }
    }
}

impl Quantiser for Tier {
    #[allow(unused_variables, reason = "it is one on other processors")]
    fn band_height(&self, n_rows: usize) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(..) if avx2::MIN_ROWS <= n_rows => BAND,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => avx512::band_height(n_rows),
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::Amx(..) => avx512::band_height(n_rows),
            _ => 1,
        }
    }

    fn quantise(&self, x: &[f32], to: &mut QuantisedBand<'_>, row: usize) {
        match self {
            Self::Portable => to.set_row(row, x, QuantisedGroup::new),
            // The compiler vectorises the definition.
            #[cfg(target_arch = "aarch64")]
            Self::Neon(..) => to.set_row(row, x, QuantisedGroup::new),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2, _) => avx2::quantise(*avx2, x, to, row),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(avx512) => avx512::quantise(*avx512, x, to, row),
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::Amx(avx512, _) => avx512::quantise(*avx512, x, to, row),
        }
    }
}
