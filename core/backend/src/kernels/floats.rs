//! Products with weights that are floats: `y = fma(w, x, y)` over the columns in ascending order.

use std::ops::Range;

use crate::activations::Activations;
use crate::kernels::{MANY_ROWS, Outputs, ahead_of};
use crate::matrix::{Format, Matrix, TILE, VECTOR};
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

/// Bytes that memory is asked for in advance.
const AHEAD: usize = 2048;

impl Product<'_> {
    /// Several tiles at once, where registers allow it: what is loaded then serves several products.
    #[inline(always)]
    fn all<S: Simd, const N: usize>(&self, simd: S, load: &impl Fn(&[u8; N]) -> S::Floats) {
        let (mut tile, end) = (self.tiles.start, self.tiles.end);
        while tile < end {
            tile += match (end - tile, self.x.n_rows) {
                (2.., MANY_ROWS..) if S::HAS_MANY_REGISTERS => self.rows::<S, N, 2>(simd, tile, load),
                // One tile would wait for its sums, and four at once x86-64's memory gives more slowly than two.
                (2.., ..4) if cfg!(target_arch = "x86_64") => self.rows::<S, N, 2>(simd, tile, load),
                (4.., n_rows) if n_rows < 4 || S::HAS_MANY_REGISTERS => self.rows::<S, N, 4>(simd, tile, load),
                _ => self.rows::<S, N, 1>(simd, tile, load),
            };
        }
    }

    #[inline(always)]
    fn put<S: Simd, const T: usize>(&self, simd: S, row: usize, first_tile: usize, sums: &[S::Floats; T]) {
        for (at, sums) in sums.iter().enumerate() {
            self.out.put(row, first_tile + at, &simd.to_array(*sums));
        }
    }

    /// All rows times `T` tiles; returns the tiles.
    #[inline(always)]
    fn rows<S: Simd, const N: usize, const T: usize>(
        &self,
        simd: S,
        first_tile: usize,
        load: &impl Fn(&[u8; N]) -> S::Floats,
    ) -> usize {
        let mut row = 0;
        while row < self.x.n_rows {
            row += match self.x.n_rows - row {
                8.. if T == 2 && S::HAS_MANY_REGISTERS => self.some_rows::<S, N, T, 8>(simd, row, first_tile, load),
                // Six and two would take longer.
                8 => self.some_rows::<S, N, T, 4>(simd, row, first_tile, load),
                6.. if T == 1 => self.some_rows::<S, N, T, 6>(simd, row, first_tile, load),
                4.. => self.some_rows::<S, N, T, 4>(simd, row, first_tile, load),
                _ => self.some_rows::<S, N, T, 1>(simd, row, first_tile, load),
            };
        }
        T
    }

    /// `R` rows times `T` tiles; returns the rows.
    #[inline(always)]
    fn some_rows<S: Simd, const N: usize, const T: usize, const R: usize>(
        &self,
        simd: S,
        row: usize,
        first_tile: usize,
        load: &impl Fn(&[u8; N]) -> S::Floats,
    ) -> usize {
        let n_columns = self.x.n_columns;
        let tiles: [&[[u8; N]]; T] = std::array::from_fn(|at| self.matrix.tile(first_tile + at).as_chunks().0);
        let rows: [_; R] = std::array::from_fn(|at| self.x.row(row + at));
        let mut sums = [[simd.splat(0.0); T]; R];
        // In pairs, since what a loop itself takes is a part of the time; the number of columns may be odd.
        for first in (0..n_columns).step_by(2) {
            for column in [first, first + 1] {
                if column == n_columns {
                    break;
                }
                let ahead = ahead_of(column * N, AHEAD, (T, n_columns * N));
                let mut weights = [simd.splat(0.0); T];
                for at in 0..T {
                    if (column * N).is_multiple_of(VECTOR) {
                        simd.ask_for(tiles[at].as_ptr().wrapping_add(column).wrapping_byte_add(ahead));
                    }
                    weights[at] = load(&tiles[at][column]);
                }
                for at in 0..R {
                    let x = simd.splat(rows[at][column]);
                    for tile in 0..T {
                        sums[at][tile] = simd.mul_add(weights[tile], x, sums[at][tile]);
                    }
                }
            }
        }
        for (at, sums) in sums.iter().enumerate() {
            self.put(simd, row + at, first_tile, sums);
        }
        R
    }
}
