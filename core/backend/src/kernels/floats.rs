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

/// Rows of inputs that meet a stretch of such weights.
const ROWS: usize = 48;
/// Columns of that stretch: of four tiles they take 16 KB, beside 12 KB of inputs and 12 KB of sums. Half as many, which the
/// 32 KB of older processors' nearest cache would hold as well, were slower where it holds 48 KB.
const COLUMNS: usize = 64;

/// Bytes that memory is asked for in advance.
const AHEAD: usize = 2048;

impl Product<'_> {
    /// Several tiles at once, where registers allow it: what is loaded then serves several products.
    #[inline(always)]
    fn all<S: Simd, const N: usize>(&self, simd: S, load: &impl Fn(&[u8; N]) -> S::Floats) {
        let (mut tile, end) = (self.tiles.start, self.tiles.end);
        while tile < end {
            tile += match (end - tile, self.x.n_rows) {
                (4.., MANY_ROWS..) if S::HAS_MANY_REGISTERS => self.many_rows::<S, N, 4>(simd, tile, load),
                (_, MANY_ROWS..) if S::HAS_MANY_REGISTERS => self.many_rows::<S, N, 1>(simd, tile, load),
                // One tile would wait for its sums, and four at once x86-64's memory gives more slowly than two.
                (2.., ..4) if cfg!(target_arch = "x86_64") => self.few_rows::<S, N, 2>(simd, tile, load),
                (4.., n_rows) if n_rows < 4 || S::HAS_MANY_REGISTERS => self.few_rows::<S, N, 4>(simd, tile, load),
                _ => self.few_rows::<S, N, 1>(simd, tile, load),
            };
        }
    }

    /// Weights of some columns of `T` tiles.
    #[inline(always)]
    fn tiles<const N: usize, const T: usize>(&self, first_tile: usize, columns: Range<usize>) -> [&[[u8; N]]; T] {
        std::array::from_fn(|at| &self.matrix.tile(first_tile + at).as_chunks::<N>().0[columns.clone()])
    }

    #[inline(always)]
    fn put<S: Simd, const T: usize>(&self, simd: S, row: usize, first_tile: usize, sums: &[S::Floats; T]) {
        for (at, sums) in sums.iter().enumerate() {
            self.out.put(row, first_tile + at, &simd.to_array(*sums));
        }
    }

    /// A few rows times `T` tiles; returns the tiles.
    #[inline(always)]
    fn few_rows<S: Simd, const N: usize, const T: usize>(
        &self,
        simd: S,
        first_tile: usize,
        load: &impl Fn(&[u8; N]) -> S::Floats,
    ) -> usize {
        let mut row = 0;
        while row < self.x.n_rows {
            row += match self.x.n_rows - row {
                // Six and two would take longer.
                8 => self.as_they_stand::<S, N, T, 4>(simd, row, first_tile, load),
                6.. if T == 1 => self.as_they_stand::<S, N, T, 6>(simd, row, first_tile, load),
                4.. => self.as_they_stand::<S, N, T, 4>(simd, row, first_tile, load),
                _ => self.as_they_stand::<S, N, T, 1>(simd, row, first_tile, load),
            };
        }
        T
    }

    /// `R` rows times `T` tiles, all read where they stand; returns the rows.
    #[inline(always)]
    fn as_they_stand<S: Simd, const N: usize, const T: usize, const R: usize>(
        &self,
        simd: S,
        row: usize,
        first_tile: usize,
        load: &impl Fn(&[u8; N]) -> S::Floats,
    ) -> usize {
        let n_columns = self.x.n_columns;
        let tiles: [&[[u8; N]]; T] = self.tiles(first_tile, 0..n_columns);
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

    /// All rows times `T` tiles; returns the tiles.
    #[inline(always)]
    fn many_rows<S: Simd, const N: usize, const T: usize>(
        &self,
        simd: S,
        first_tile: usize,
        load: &impl Fn(&[u8; N]) -> S::Floats,
    ) -> usize {
        let (n_rows, n_columns) = (self.x.n_rows, self.x.n_columns);
        for first_row in (0..n_rows).step_by(ROWS) {
            let rows = first_row..n_rows.min(first_row + ROWS);
            let mut sums = [[simd.splat(0.0); T]; ROWS];
            let mut weights = [[simd.splat(0.0); T]; COLUMNS];
            let mut inputs = [[0.0; COLUMNS]; ROWS];
            for first in (0..n_columns).step_by(COLUMNS) {
                let columns = first..n_columns.min(first + COLUMNS);
                let tiles: [_; T] = self.tiles(first_tile, columns.clone());
                let weights = &mut weights[..columns.len()];
                for (column, weights) in weights.iter_mut().enumerate() {
                    for at in 0..T {
                        weights[at] = load(&tiles[at][column]);
                    }
                }
                // Side by side: as they stand, rows lie where they drive each other from the cache.
                for (to, row) in inputs.iter_mut().zip(rows.clone()) {
                    to[..columns.len()].copy_from_slice(&self.x.row(row)[columns.clone()]);
                }
                let mut at = 0;
                while at < rows.len() {
                    at += match rows.len() - at {
                        // Six and two would take longer.
                        8 => some_rows::<S, T, 4>(simd, &inputs[at..], weights, &mut sums[at..]),
                        6.. => some_rows::<S, T, 6>(simd, &inputs[at..], weights, &mut sums[at..]),
                        4.. => some_rows::<S, T, 4>(simd, &inputs[at..], weights, &mut sums[at..]),
                        _ => some_rows::<S, T, 1>(simd, &inputs[at..], weights, &mut sums[at..]),
                    };
                }
            }
            for (row, sums) in rows.zip(&sums) {
                self.put(simd, row, first_tile, sums);
            }
        }
        T
    }
}

/// Adds what some columns give to the sums of the first `R` rows; returns the rows.
#[inline(always)]
fn some_rows<S: Simd, const T: usize, const R: usize>(
    simd: S,
    inputs: &[[f32; COLUMNS]],
    weights: &[[S::Floats; T]],
    to: &mut [[S::Floats; T]],
) -> usize {
    let (Some((inputs, _)), Some((to, _))) = (inputs.split_first_chunk::<R>(), to.split_first_chunk_mut::<R>()) else {
        unreachable!("there are so many rows")
    };
    let mut sums = *to;
    // Compilers see from `take` that inputs have all these columns.
    for (column, weights) in weights.iter().enumerate().take(COLUMNS) {
        for at in 0..R {
            let x = simd.splat(inputs[at][column]);
            for tile in 0..T {
                sums[at][tile] = simd.mul_add(weights[tile], x, sums[at][tile]);
            }
        }
    }
    *to = sums;
    R
}
