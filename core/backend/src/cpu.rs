//! What models are made of, computed on the CPU.

use std::io;
use std::ops::Range;

use crate::activations::{Activations, BAND};
use crate::grid::Grid;
use crate::kernels::{Outputs, Tier};
use crate::matrix::{Format, Matrix};
use crate::memory::Arena;
use crate::ops::attention::Attention;
use crate::ops::convolution::{self, Convolution};
use crate::ops::gate::Gate;
use crate::ops::norm::{HeadNorms, Norm};
use crate::ops::rotation::{self, Pairing};
use crate::pages::KeyValues;
use crate::pool::Pool;

/// Rows of inputs from which on work is cut at every fourth tile.
const MANY_ROWS: usize = 8;

/// The processor and the threads that a model computes with.
///
/// Rows of several sequences stand one below the other; operations over time are told which rows are whose.
pub struct Cpu {
    tier: Tier,
    pool: Pool,
    /// Where matrices lie.
    arena: Arena,
}

/// One of several products with the same inputs.
pub struct Product<'a> {
    /// The weights, `(outputs, inputs)`.
    pub matrix: &'a Matrix,
    /// Where the outputs go, `(rows, outputs)`.
    pub out: &'a mut [f32],
    /// Whether they are added to what is there.
    pub adds: bool,
}

/// How the heads of a row turn: the rows' cosines and sines, each `(rows, head_dim / 2)`.
#[derive(Clone, Copy)]
pub struct Rotation<'a> {
    /// Of the angles.
    pub cosines: &'a [f32],
    /// Of the angles.
    pub sines: &'a [f32],
    /// Which numbers make a pair.
    pub pairing: Pairing,
}

/// A sequence's part in a step of attention.
pub struct AttentionStep<'a> {
    /// Its rows among all rows.
    pub rows: Range<usize>,
    /// Its keys and values, those of these rows included.
    pub past: &'a KeyValues,
}

/// A sequence's part in a step of a short convolution.
pub struct ConvolutionStep<'a> {
    /// Its rows among all rows.
    pub rows: Range<usize>,
    /// Its last inputs, `(window - 1, hidden)`, oldest first; replaced by those of the step.
    pub past: &'a mut [f32],
}

impl Cpu {
    /// `n_threads` counts the one that calls; 0 is taken for 1.
    pub fn new(n_threads: usize) -> Self {
        Self::with(Tier::detect(), Pool::new(n_threads))
    }

    /// Whether this processor has kernels of its own. On others the portable ones compute: rightly, and slowly.
    pub fn is_known() -> bool {
        !matches!(Tier::detect(), Tier::Portable)
    }

    /// One for each set of instructions that this processor has, with its name, the fastest last: they differ in speed alone.
    pub fn each(n_threads: usize) -> impl Iterator<Item = (&'static str, Self)> {
        Tier::all().into_iter().map(move |tier| (tier.name(), Self::with(tier, Pool::new(n_threads))))
    }

    pub(crate) fn with(tier: Tier, pool: Pool) -> Self {
        Self { tier, pool, arena: Arena::default() }
    }

    /// Threads that compute, the caller among them.
    pub fn n_threads(&self) -> usize {
        self.pool.n_threads()
    }

    /// Reads and packs a matrix, `(rows, columns)`. `read` gives a part of its bytes, in the form of GGUF files; several
    /// threads call it at once.
    ///
    /// # Errors
    /// Those of `read`; [`io::ErrorKind::OutOfMemory`]; [`io::ErrorKind::InvalidData`] when columns are no whole number
    /// of blocks, or `read` gives another number of bytes than it was asked for.
    pub fn matrix<B: AsRef<[u8]>>(
        &self,
        format: Format,
        shape: (usize, usize),
        read: impl Fn(Range<usize>) -> io::Result<B> + Sync,
    ) -> io::Result<Matrix> {
        Matrix::pack(format, shape, (&self.pool, &self.arena), read)
    }

    /// Fills in rows of inputs, each of which `write` is given with its number; several threads do it. With `quantises`
    /// they are made ready for quantised weights as well, which takes a multiple of 32 columns.
    pub fn inputs(
        &self,
        x: &mut Activations,
        shape: (usize, usize),
        quantises: bool,
        write: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        x.fill((self.tier, &self.pool), shape, quantises, write);
    }

    /// `rows / sqrt(mean(rows²) + epsilon) * weight` as inputs; rows are as long as the weight.
    pub fn norm(&self, rows: &[f32], weight: &[f32], epsilon: f32, quantises: bool, x: &mut Activations) {
        let n = weight.len();
        self.inputs(x, (rows.len() / n, n), quantises, |row, y| {
            self.tier.run(Norm { x: &rows[row * n..][..n], weight, epsilon, y });
        });
    }

    /// `gate / (1 + e^-gate) * up` as inputs, both `(rows, width)`.
    pub fn gate(&self, gate: &[f32], up: &[f32], width: usize, quantises: bool, x: &mut Activations) {
        self.inputs(x, (gate.len() / width, width), quantises, |row, y| {
            let row = row * width..(row + 1) * width;
            self.tier.run(Gate { gate: &gate[row.clone()], up: &up[row], y });
        });
    }

    /// Multiplies the same inputs with several matrices.
    ///
    /// # Panics
    /// When sizes do not fit, or inputs were not made ready for quantised weights.
    pub fn product<const N: usize>(&self, x: &Activations, products: [Product<'_>; N]) {
        let mut n_tiles = 0;
        let parts = products.map(|Product { matrix, out, adds }| {
            let (first, n_outputs) = (n_tiles, matrix.n_rows());
            assert!(matrix.n_columns() == x.n_columns && out.len() == x.n_rows * n_outputs, "sizes do not fit");
            assert!(!matrix.format().is_quantised() || x.is_quantised, "inputs are not quantised");
            n_tiles += matrix.n_tiles();
            (first, matrix, Outputs::new(out, n_outputs, adds))
        });
        // Small enough that a slow core holds up nobody, large enough that memory is read in long runs.
        let tiles_of_piece = (n_tiles / (8 * self.n_threads())).clamp(1, 64);
        // Many rows meet four tiles at a time.
        let tiles_of_piece = if x.n_rows < MANY_ROWS { tiles_of_piece } else { tiles_of_piece.next_multiple_of(4) };
        self.pool.run(n_tiles.div_ceil(tiles_of_piece), &|piece| {
            let (start, end) = (piece * tiles_of_piece, n_tiles.min((piece + 1) * tiles_of_piece));
            for (first, matrix, out) in &parts {
                let tiles = start.saturating_sub(*first)..end.saturating_sub(*first).min(matrix.n_tiles());
                if tiles.start < tiles.end {
                    // SAFETY: each tile is in one piece, and each piece is done by one thread.
                    unsafe { self.tier.product(matrix, tiles, x, out) };
                }
            }
        });
    }

    /// Norms and turns the heads of rows, in place. Rows are `width` numbers, heads `head_dim` of them.
    pub fn rotate(
        &self,
        rows: &mut [f32],
        (width, head_dim): (usize, usize),
        norm: Option<(&[f32], f32)>,
        rotation: Option<Rotation<'_>>,
    ) {
        self.for_rows(rows, width, |row, heads| {
            if let Some((weight, epsilon)) = norm {
                self.tier.run(HeadNorms { heads, weight, epsilon });
            }
            if let Some(Rotation { cosines, sines, pairing }) = rotation {
                let angles = row * head_dim / 2..(row + 1) * head_dim / 2;
                rotation::rotate(heads, &cosines[angles.clone()], &sines[angles], pairing);
            }
        });
    }

    /// Attention of queries, `(rows, query heads * head_dim)`, to the tokens of their sequences up to their own, the last
    /// `window` of them: the values, each weighted by its share, where the queries stand.
    ///
    /// # Panics
    /// When sizes do not fit.
    pub fn attention(&self, queries: &[f32], steps: &[AttentionStep<'_>], window: usize, mixed: &mut [f32]) {
        let Some(shape) = steps.first().map(|step| step.past.shape()) else { return };
        let is_known = |step: &AttentionStep<'_>| step.past.shape() == shape && step.rows.len() <= step.past.n_tokens();
        assert!(steps.iter().all(is_known), "keys and values of the rows, of one shape");
        // Two threads must not write to the same rows.
        assert!(steps.windows(2).all(|pair| pair[0].rows.end <= pair[1].rows.start), "rows of one step each, in order");
        let n_rows: usize = steps.iter().map(|step| step.rows.len()).sum();
        let width = queries.len() / n_rows.max(1);
        let n_sharing = width / (shape.n_heads * shape.head_dim);
        assert!(
            queries.len() == mixed.len() && width == n_sharing * shape.n_heads * shape.head_dim,
            "sizes do not fit"
        );
        let out = Grid::new(mixed, width);
        let pieces_of = |step: &AttentionStep<'_>| step.rows.len().div_ceil(BAND) * shape.n_heads;
        self.pool.run(steps.iter().map(pieces_of).sum(), &|piece| {
            let mut left = piece;
            for step in steps {
                if left < pieces_of(step) {
                    let first = left / shape.n_heads * BAND;
                    return self.tier.run(Attention {
                        queries: &queries[step.rows.start * width..step.rows.end * width],
                        past: step.past,
                        rows: first..step.rows.len().min(first + BAND),
                        n_before: step.past.n_tokens() - step.rows.len(),
                        key_head: left % shape.n_heads,
                        n_sharing,
                        window,
                        out: &out,
                        first_out: step.rows.start,
                    });
                }
                left -= pieces_of(step);
            }
        });
    }

    /// The gated short convolution as inputs: of each row's `[B; C; X]`, with `u = B * X`,
    /// `C_t * (bias + Σ_k tap_k * u_(t - window + 1 + k))`.
    ///
    /// `projected` is `(rows, 3 * hidden)`, `taps` `(window, hidden)` with the oldest first, `bias` `(hidden)`.
    pub fn convolution(
        &self,
        projected: &[f32],
        (taps, bias, hidden): (&[f32], Option<&[f32]>, usize),
        steps: &mut [ConvolutionStep<'_>],
        quantises: bool,
        x: &mut Activations,
    ) {
        let part = |rows: &Range<usize>| &projected[3 * hidden * rows.start..3 * hidden * rows.end];
        let of_steps = &*steps;
        self.inputs(x, (projected.len() / (3 * hidden), hidden), quantises, |row, y| {
            if let Some(step) = of_steps.iter().find(|step| step.rows.contains(&row)) {
                let (projected, row) = (part(&step.rows), row - step.rows.start);
                self.tier.run(Convolution { projected, row, past: step.past, taps, bias, y });
            }
        });
        for step in steps {
            convolution::advance(step.past, part(&step.rows), hidden);
        }
    }

    /// Adds the same numbers to each row.
    pub fn add_to_rows(&self, rows: &mut [f32], numbers: &[f32]) {
        self.for_rows(rows, numbers.len(), |_, row| row.iter_mut().zip(numbers).for_each(|(y, number)| *y += number));
    }

    /// Works on rows of numbers, each `width` long; several threads do it.
    pub fn for_rows(&self, rows: &mut [f32], width: usize, work: impl Fn(usize, &mut [f32]) + Sync) {
        let some = |first: usize, rows: &mut [f32]| {
            rows.chunks_exact_mut(width).enumerate().for_each(|(at, row)| work(first + at, row));
        };
        if rows.len() <= BAND * width {
            return some(0, rows);
        }
        self.pool.for_each(rows.chunks_mut(BAND * width).enumerate().collect(), |(at, rows)| some(at * BAND, rows));
    }
}
