//! Products of activations and weights, for each kind of processor.
//!
//! All kernels give the same bits (the order of operations is in [`portable`]), so which of them serves, how many rows it
//! takes at once, and which thread runs it make no difference to any result. What they differ in is speed.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod floats;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(test)]
mod tests;

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use crate::activations::BAND;
use crate::activations::{Activations, QuantisedBand, QuantisedGroup};
use crate::grid::Grid;
use crate::matrix::{Matrix, TILE};
#[cfg(target_arch = "aarch64")]
use crate::simd::Neon;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{Portable, Simd, Work};

/// The fastest that this processor can do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tier {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2, avx2::Bytes),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    /// AVX-512, and tiles for many rows.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Amx(Avx512, amx::Amx),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon, neon::Bytes),
}

impl Tier {
    pub(crate) fn detect() -> Self {
        Self::all().pop().unwrap_or(Self::Portable)
    }

    /// All that this processor can do, the fastest last.
    pub(crate) fn all() -> Vec<Self> {
        #[allow(unused_mut, reason = "other processors have none beside")]
        let mut all = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            all.extend(avx2::Bytes::all().map(|bytes| Self::Avx2(avx2, bytes)));
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(avx512) = Avx512::detect() {
            all.push(Self::Avx512(avx512));
            #[cfg(target_os = "linux")]
            all.extend(amx::Amx::detect().map(|amx| Self::Amx(avx512, amx)));
        }
        #[cfg(target_arch = "aarch64")]
        all.extend(neon::Bytes::all().map(|bytes| Self::Neon(Neon, bytes)));
        all
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_, avx2::Bytes::Pairs) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_, avx2::Bytes::Fours) => "AVX-VNNI",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "AVX-512",
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::Amx(..) => "AMX",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_, neon::Bytes::Plain) => "NEON",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_, neon::Bytes::Dots) => "dotprod",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_, neon::Bytes::Matrices) => "i8mm",
        }
    }

    /// Does work over floats with the vectors of this processor.
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

    /// The rows of a band, where activations of this many rows are quantised.
    #[allow(unused_variables, reason = "not all processors want more than one")]
    pub(crate) fn band_height(self, n_rows: usize) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(..) if avx2::FEWEST_ROWS <= n_rows => BAND,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => avx512::band_height(n_rows),
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::Amx(..) => avx512::band_height(n_rows),
            _ => 1,
        }
    }

    /// Quantises a row of a stretch.
    pub(crate) fn quantise(self, x: &[f32], to: &mut QuantisedBand<'_>, row: usize) {
        match self {
            Self::Portable => to.put(row, x, QuantisedGroup::of),
            // Compiled to vectors as it stands.
            #[cfg(target_arch = "aarch64")]
            Self::Neon(..) => to.put(row, x, QuantisedGroup::of),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2, _) => avx2::quantise(avx2, x, to, row),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(avx512) => avx512::quantise(avx512, x, to, row),
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::Amx(avx512, _) => avx512::quantise(avx512, x, to, row),
        }
    }

    /// The outputs of some tiles, for all rows of activations.
    ///
    /// # Safety
    /// No other thread writes these tiles' outputs meanwhile.
    pub(crate) unsafe fn product(self, matrix: &Matrix, tiles: Range<usize>, x: &Activations, out: &Outputs<'_>) {
        debug_assert!(x.n_columns == matrix.n_columns() && tiles.end <= matrix.n_tiles());
        if !matrix.format().is_quantised() {
            return self.run(floats::Product { matrix, tiles, x, out });
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
                amx::FEWEST_ROWS.. => amx::product(amx, matrix, tiles, x, out),
                _ => avx512::product(avx512, matrix, tiles, x, out),
            },
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_, bytes) => neon::product(bytes, matrix, tiles, x, out),
        }
    }
}

/// How many bytes ahead of a place in a tile memory is asked for, where `n_tiles` tiles are at work: `ahead` of them, and
/// behind the end of the tile those of the next ones, which lie behind all that are at work.
#[inline(always)]
fn ahead_of(place: usize, ahead: usize, (n_tiles, tile_bytes): (usize, usize)) -> usize {
    if place + ahead < tile_bytes { ahead } else { ahead + (n_tiles - 1) * tile_bytes }
}

/// Where a product's outputs go, `(rows, outputs)`, which threads fill by tiles.
pub(crate) struct Outputs<'a> {
    grid: Grid<'a>,
    /// Whether outputs are added to what is there.
    adds: bool,
}

impl<'a> Outputs<'a> {
    pub(crate) fn new(out: &'a mut [f32], n_outputs: usize, adds: bool) -> Self {
        Self { grid: Grid::new(out, n_outputs), adds }
    }

    /// Writes sixteen outputs of a row, by their number among all sixteens. Kernels call it for those of the tiles that they
    /// were given.
    #[inline(always)]
    fn put(&self, row: usize, sixteen: usize, values: &[f32; TILE]) {
        let start = sixteen * TILE;
        // SAFETY: the tile is this thread's, as the caller of `Tier::product` says.
        let to = unsafe { self.grid.part(row, start..self.grid.n_columns.min(start + TILE)) };
        match <&mut [f32; TILE]>::try_from(&mut *to) {
            Ok(to) if !self.adds => *to = *values,
            Ok(to) => to.iter_mut().zip(values).for_each(|(to, value)| *to += value),
            Err(_) => {
                to.iter_mut().zip(values).for_each(|(to, value)| *to = if self.adds { *to + value } else { *value })
            }
        }
    }
}
