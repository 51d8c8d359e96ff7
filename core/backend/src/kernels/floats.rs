//! Products with float weights: `y = fma(w, x, y)` over the columns in ascending order.

use std::ops::Range;

use crate::activations::Activations;
use crate::kernels::outputs::{Outputs, prefetch_offset};
use crate::matrix::{Format, Matrix, TILE};
use crate::simd::{Simd, Work};

pub(super) struct FloatProduct<'a> {
    pub(super) matrix: &'a Matrix,
    pub(super) tiles: Range<usize>,
    pub(super) x: &'a Activations,
    pub(super) out: &'a Outputs<'a>,
}

impl Work for FloatProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.matrix.format() {
            Format::F16 => self.all_vectors::<S, _, 2>(simd, &|at: &[u8; 2 * TILE]| simd.load_f16(&halves(at))),
            Format::Bf16 => self.all_vectors::<S, _, 2>(simd, &|at: &[u8; 2 * TILE]| simd.load_bf16(&halves(at))),
            _ => self.all_vectors::<S, _, 1>(simd, &|at: &[u8; 4 * TILE]| simd.load(&floats(at))),
        }
    }
}

#[inline(always)]
fn halves(bytes: &[u8; 2 * TILE]) -> [u16; TILE] {
    let mut halves = [0; TILE];
    for at in 0..TILE {
        halves[at] = u16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]);
    }
    halves
}

#[inline(always)]
fn floats(bytes: &[u8; 4 * TILE]) -> [f32; TILE] {
    let mut floats = [0.0; TILE];
    for at in 0..TILE {
        floats[at] = f32::from_le_bytes([bytes[4 * at], bytes[4 * at + 1], bytes[4 * at + 2], bytes[4 * at + 3]]);
    }
    floats
}

/// Fewer rows than this are computed one at a time.
const FEW: usize = 4;
/// From this many rows on, weights are converted once for many rows.
const MANY: usize = 12;
/// Rows of a block, a multiple of all numbers of rows that are computed at once.
const BLOCK: usize = 72;
/// Columns whose converted weights, of two vectors at most, stay in the first-level cache for the rows of a block.
const COLUMNS: usize = 128;
/// Parts of a block, of some vectors each, that are computed together: all read the same columns of the rows, which stay in
/// the second-level cache meanwhile.
const PARTS: usize = 8;
/// Columns that are computed without checks of indices between them.
const STEP: usize = 8;

/// A column of a tile is `V` vectors of sixteen weights, of `N` bytes each. Vectors are numbered through all tiles.
impl FloatProduct<'_> {
    /// Computes several vectors at once if there are registers, so that each load serves several products.
    #[inline(always)]
    fn all_vectors<S: Simd, const N: usize, const V: usize>(&self, simd: S, load: &impl Fn(&[u8; N]) -> S::Floats) {
        let (mut vector, end) = (self.tiles.start * V, (self.tiles.end * V).min(self.matrix.n_rows().div_ceil(TILE)));
        while vector < end {
            vector += match (end - vector, self.x.n_rows) {
                (n @ 2.., MANY..) if S::HAS_MANY_REGISTERS => self.blocks::<S, N, V, 2>(simd, (vector, n), load),
                (n, MANY..) => self.blocks::<S, N, V, 1>(simd, (vector, n), load),
                // Few rows are bound by memory, which x86-64 reads fastest in a single stream.
                (n, ..FEW) if V <= n && cfg!(target_arch = "x86_64") => self.rows::<S, N, V, V>(simd, vector, load),
                // With one vector, each addition would wait for the one before.
                (4.., ..FEW) if !cfg!(target_arch = "x86_64") => self.rows::<S, N, V, 4>(simd, vector, load),
                (2.., FEW..) if S::HAS_MANY_REGISTERS => self.rows::<S, N, V, 2>(simd, vector, load),
                _ => self.rows::<S, N, V, 1>(simd, vector, load),
            };
        }
    }

    /// Multiplies many rows with up to `PARTS` parts of `W` vectors of each column, in blocks; returns the number of vectors.
    #[inline(always)]
    fn blocks<S: Simd, const N: usize, const V: usize, const W: usize>(
        &self,
        simd: S,
        (first, n_vectors): (usize, usize),
        load: &impl Fn(&[u8; N]) -> S::Floats,
    ) -> usize {
        let (n_parts, n_columns) = ((n_vectors / W).min(PARTS), self.x.n_columns);
        let mut weights = [[simd.splat(0.0); W]; COLUMNS];
        for start in (0..self.x.n_rows).step_by(BLOCK) {
            let rows = start..self.x.n_rows.min(start + BLOCK);
            let mut sums = [[[simd.splat(0.0); W]; BLOCK]; PARTS];
            for start in (0..n_columns).step_by(COLUMNS) {
                let columns = start..n_columns.min(start + COLUMNS);
                for (part, sums) in sums[..n_parts].iter_mut().enumerate() {
                    let vectors = self.vectors::<N, V, W>(first + part * W);
                    let weights = &mut weights[..columns.len()];
                    for (at, weights) in weights.iter_mut().enumerate() {
                        for vector in 0..W {
                            weights[vector] = load(&vectors[vector][(start + at) * V]);
                        }
                    }
                    self.add_block(simd, (rows.clone(), columns.clone()), weights, sums);
                }
            }
            // Row by row, so that memory is written in long runs.
            for (at, row) in rows.enumerate() {
                for (part, sums) in sums[..n_parts].iter().enumerate() {
                    for (vector, sums) in sums[at].iter().enumerate() {
                        self.out.put(row, first + part * W + vector, &simd.to_array(*sums));
                    }
                }
            }
        }
        n_parts * W
    }

    /// Adds the products of some columns of a block of rows to their sums.
    #[inline(always)]
    fn add_block<S: Simd, const W: usize>(
        &self,
        simd: S,
        (rows, columns): (Range<usize>, Range<usize>),
        weights: &[[S::Floats; W]],
        sums: &mut [[S::Floats; W]; BLOCK],
    ) {
        let mut row = 0;
        while row < rows.len() {
            let (at, sums) = ((rows.start + row, columns.clone()), &mut sums[row..]);
            row += match rows.len() - row {
                8.. if W == 2 => self.add_columns::<S, W, 8>(simd, at, weights, sums),
                // Six rows and then two would take longer.
                8 => self.add_columns::<S, W, 4>(simd, at, weights, sums),
                6.. if W == 1 => self.add_columns::<S, W, 6>(simd, at, weights, sums),
                FEW.. => self.add_columns::<S, W, 4>(simd, at, weights, sums),
                _ => self.add_columns::<S, W, 1>(simd, at, weights, sums),
            };
        }
    }

    /// Adds the products of some columns of `R` rows to their sums; returns `R`.
    #[inline(always)]
    fn add_columns<S: Simd, const W: usize, const R: usize>(
        &self,
        simd: S,
        (row, columns): (usize, Range<usize>),
        weights: &[[S::Floats; W]],
        sums: &mut [[S::Floats; W]],
    ) -> usize {
        let mut kept = [[simd.splat(0.0); W]; R];
        kept.copy_from_slice(&sums[..R]);
        let (steps, rest) = weights.as_chunks::<STEP>();
        let mut rows = [(&[][..], &[][..]); R];
        for (at, part) in rows.iter_mut().enumerate() {
            *part = self.x.row(row + at)[columns.clone()].as_chunks::<STEP>();
        }
        let mut x = [0.0; R];
        for (step, weights) in steps.iter().enumerate() {
            // Arrays, so that no index is checked.
            let mut parts = [&[0.0; STEP]; R];
            for at in 0..R {
                parts[at] = &rows[at].0[step];
            }
            for column in 0..STEP {
                for at in 0..R {
                    x[at] = parts[at][column];
                }
                add_column(simd, &weights[column], x, &mut kept);
            }
        }
        for (column, weights) in rest.iter().enumerate() {
            for at in 0..R {
                x[at] = rows[at].1[column];
            }
            add_column(simd, weights, x, &mut kept);
        }
        sums[..R].copy_from_slice(&kept);
        R
    }

    /// The weights of `W` vectors, each from its own first weight on; the first weights of a column are `V` apart.
    #[inline(always)]
    fn vectors<const N: usize, const V: usize, const W: usize>(&self, first: usize) -> [&[[u8; N]]; W] {
        let mut vectors = [&[][..]; W];
        for at in 0..W {
            let (tile, _) = self.matrix.tile((first + at) / V).as_chunks();
            vectors[at] = &tile[(first + at) % V..];
        }
        vectors
    }

    /// Multiplies all rows with `W` vectors of each column; returns `W`.
    #[inline(always)]
    fn rows<S: Simd, const N: usize, const V: usize, const W: usize>(
        &self,
        simd: S,
        first: usize,
        load: &impl Fn(&[u8; N]) -> S::Floats,
    ) -> usize {
        let mut row = 0;
        while row < self.x.n_rows {
            row += match self.x.n_rows - row {
                8.. if W == 2 && S::HAS_MANY_REGISTERS => self.some_rows::<S, N, V, W, 8>(simd, row, first, load),
                // Six rows and then two would take longer.
                8 => self.some_rows::<S, N, V, W, 4>(simd, row, first, load),
                6.. if W == 1 => self.some_rows::<S, N, V, W, 6>(simd, row, first, load),
                FEW.. => self.some_rows::<S, N, V, W, 4>(simd, row, first, load),
                _ => self.some_rows::<S, N, V, W, 1>(simd, row, first, load),
            };
        }
        W
    }

    /// Multiplies `R` rows with `W` vectors of each column; returns `R`.
    #[inline(always)]
    fn some_rows<S: Simd, const N: usize, const V: usize, const W: usize, const R: usize>(
        &self,
        simd: S,
        row: usize,
        first: usize,
        load: &impl Fn(&[u8; N]) -> S::Floats,
    ) -> usize {
        let n_columns = self.x.n_columns;
        let vectors = self.vectors::<N, V, W>(first);
        let mut rows = [&[][..]; R];
        for (at, whole) in rows.iter_mut().enumerate() {
            *whole = self.x.row(row + at);
        }
        let mut sums = [[simd.splat(0.0); W]; R];
        // In pairs, because the loop's own instructions take a part of the time; the number of columns may be odd.
        for column in (0..n_columns).step_by(2) {
            for column in [column, column + 1] {
                if column == n_columns {
                    break;
                }
                let distance =
                    prefetch_offset(column * V * N, simd.prefetch_distance::<R>(), (W.div_ceil(V), n_columns * V * N));
                let mut weights = [simd.splat(0.0); W];
                for at in 0..W {
                    // Once for each tile of the step.
                    if (first + at).is_multiple_of(V) {
                        simd.prefetch(vectors[at].as_ptr().wrapping_add(column * V).wrapping_byte_add(distance));
                    }
                    weights[at] = load(&vectors[at][column * V]);
                }
                for at in 0..R {
                    let x = simd.splat(rows[at][column]);
                    for vector in 0..W {
                        sums[at][vector] = simd.mul_add(weights[vector], x, sums[at][vector]);
                    }
                }
            }
        }
        for (at, sums) in sums.iter().enumerate() {
            for (vector, sums) in sums.iter().enumerate() {
                self.out.put(row + at, first + vector, &simd.to_array(*sums));
            }
        }
        R
    }
}

/// Adds the products of a column of rows to their sums.
#[inline(always)]
fn add_column<S: Simd, const W: usize, const R: usize>(
    simd: S,
    weights: &[S::Floats; W],
    x: [f32; R],
    sums: &mut [[S::Floats; W]; R],
) {
    for at in 0..R {
        let x = simd.splat(x[at]);
        for vector in 0..W {
            sums[at][vector] = simd.mul_add(weights[vector], x, sums[at][vector]);
        }
    }
}
