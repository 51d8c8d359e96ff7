//! Products with weights that are floats: `y = fma(w, x, y)` over the columns in ascending order.

use std::ops::Range;

use crate::activations::Activations;
use crate::kernels::Outputs;
use crate::matrix::{Format, Matrix, TILE};
use crate::simd::{Simd, Work};

pub(super) struct Product<'a> {
    pub(super) matrix: &'a Matrix,
    pub(super) tiles: Range<usize>,
    pub(super) x: &'a Activations,
    pub(super) out: &'a Outputs<'a>,
}

impl Work for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.matrix.format() {
            Format::F16 => self.all(simd, &|at: &[u8; 2 * TILE]| simd.load_f16(&halves(at))),
            Format::Bf16 => self.all(simd, &|at: &[u8; 2 * TILE]| simd.load_bf16(&halves(at))),
            _ => self.all(simd, &|at: &[u8; 4 * TILE]| simd.load(&floats(at))),
        }
    }
}

#[inline(always)]
fn halves(bytes: &[u8; 2 * TILE]) -> [u16; TILE] {
    std::array::from_fn(|at| u16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]))
}

#[inline(always)]
fn floats(bytes: &[u8; 4 * TILE]) -> [f32; TILE] {
    std::array::from_fn(|at| {
        f32::from_le_bytes([bytes[4 * at], bytes[4 * at + 1], bytes[4 * at + 2], bytes[4 * at + 3]])
    })
}

impl Product<'_> {
    /// Several tiles at once for few rows, since each sum waits for the one before it; several rows for many.
    #[inline(always)]
    fn all<S: Simd, const N: usize>(&self, simd: S, load: &impl Fn(&[u8; N]) -> S::Floats) {
        let (mut tile, end) = (self.tiles.start, self.tiles.end);
        while tile < end {
            let n_rows = self.x.n_rows;
            let n_tiles = match end - tile {
                4.. if n_rows < 4 || S::HAS_MANY_REGISTERS => 4,
                _ => 1,
            };
            let mut row = 0;
            while row < n_rows {
                row += match (n_tiles, n_rows - row) {
                    (4, 4..) => self.some::<S, N, 4, 4>(simd, tile, row, load),
                    (4, _) => self.some::<S, N, 4, 1>(simd, tile, row, load),
                    (_, 6..) => self.some::<S, N, 1, 6>(simd, tile, row, load),
                    (_, 4..) => self.some::<S, N, 1, 4>(simd, tile, row, load),
                    _ => self.some::<S, N, 1, 1>(simd, tile, row, load),
                };
            }
            tile += n_tiles;
        }
    }

    /// `T` tiles times `R` rows; returns the rows.
    #[inline(always)]
    fn some<S: Simd, const N: usize, const T: usize, const R: usize>(
        &self,
        simd: S,
        tile: usize,
        row: usize,
        load: &impl Fn(&[u8; N]) -> S::Floats,
    ) -> usize {
        let n_columns = self.x.n_columns;
        let tiles: [&[[u8; N]]; T] =
            std::array::from_fn(|at| &self.matrix.tile(tile + at).as_chunks::<N>().0[..n_columns]);
        let rows: [&[f32]; R] = std::array::from_fn(|at| &self.x.floats[(row + at) * n_columns..][..n_columns]);
        let mut sums = [[simd.splat(0.0); T]; R];
        for column in 0..n_columns {
            let mut weights = [simd.splat(0.0); T];
            for at in 0..T {
                weights[at] = load(&tiles[at][column]);
            }
            for at in 0..R {
                let x = simd.splat(rows[at][column]);
                for tile in 0..T {
                    sums[at][tile] = simd.mul_add(weights[tile], x, sums[at][tile]);
                }
            }
        }
        for (at, sums) in sums.into_iter().enumerate() {
            for (offset, sum) in sums.into_iter().enumerate() {
                self.out.put(row + at, tile + offset, &simd.to_array(sum));
            }
        }
        R
    }
}
