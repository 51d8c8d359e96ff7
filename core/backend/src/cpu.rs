//! The operations of models, computed on the CPU.

use std::io;
use std::ops::Range;

use crate::activations::{Activations, BAND};
use crate::arguments::{AttentionStep, ConvolutionStep, DeltaStep, Product, ResidualAddition, Rotation};
use crate::grid::Grid;
use crate::kernels::{Outputs, Tier};
use crate::matrix::{Format, MappedTiles, Matrix};
use crate::memory::Arena;
use crate::model_file::{MappedFile, ModelFile};
use crate::ops::attention::{AttentionMask, BLOCK, HeadAttention};
use crate::ops::bound::Bound;
use crate::ops::channel_convolution::{ChannelConvolution, ChannelGrid};
use crate::ops::convolution::{self, Convolution};
use crate::ops::delta_net::{COLUMNS, DeltaInputs, DeltaShape, DeltaTokens, GatedNorms};
use crate::ops::gate::{Activate, Gate, GateFunction, Sigmoid};
use crate::ops::grid_convolution::{GridConvolution, PatchGrid};
use crate::ops::norm::{AddRow, HeadNorms, LayerNorm, Norm};
use crate::ops::relative_attention::{HeadColumns, QUERIES, RelativeAttention, RelativeHead};
use crate::ops::rotation;
use crate::pool::Pool;
use crate::simd::LANES;

/// Minimum number of input rows for which work is split at every fourth tile only.
const MANY_ROWS: usize = 8;

/// The processor and the threads that a model computes with.
///
/// The rows of several sequences are concatenated; operations over time take the range of rows of each sequence.
pub struct Cpu {
    pub(crate) tier: Tier,
    pool: Pool,
    /// Memory of the matrices.
    arena: Arena,
}

impl Cpu {
    /// Uses the fastest instructions that this processor has. `n_threads` includes the calling thread; 0 means 1.
    pub fn new(n_threads: usize) -> Self {
        Self::with(Tier::detect(), Pool::new(n_threads))
    }

    /// One `Cpu` for each instruction set of this processor, with its name, the fastest last. They differ only in speed.
    pub fn each(n_threads: usize) -> impl Iterator<Item = (&'static str, Self)> {
        Tier::all().into_iter().map(move |tier| (tier.name(), Self::with(tier, Pool::new(n_threads))))
    }

    pub(crate) fn with(tier: Tier, pool: Pool) -> Self {
        Self { tier, pool, arena: Arena::default() }
    }

    /// Number of computing threads, including the caller.
    pub fn n_threads(&self) -> usize {
        self.pool.n_threads()
    }

    /// Reads and packs a matrix, `(rows, columns)`. `read` returns a range of the matrix's bytes as a GGUF file has them;
    /// several threads call it at once.
    ///
    /// # Errors
    /// Errors of `read`; [`io::ErrorKind::OutOfMemory`]; [`io::ErrorKind::InvalidData`] if the number of columns is not a
    /// multiple of the format's block, or if `read` returns fewer or more bytes than requested.
    pub fn matrix<B: AsRef<[u8]>>(
        &self,
        format: Format,
        shape: (usize, usize),
        read: impl Fn(Range<usize>) -> io::Result<B> + Sync,
    ) -> io::Result<Matrix> {
        Matrix::pack(format, shape, (&self.pool, &self.arena), read)
    }

    /// A matrix, `(rows, columns)`, whose tiles lie in a mapped file, as [`Matrix::tile_bytes`] gave them. The file holds nothing else.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the shape or the length is not that of such a matrix, or if the bytes do not begin at a
    /// multiple of 64.
    pub fn mapped_matrix(&self, format: Format, shape: (usize, usize), file: MappedFile) -> io::Result<Matrix> {
        Matrix::map(format, shape, file)
    }

    /// The same matrix, read into memory.
    ///
    /// # Errors
    /// As [`mapped_matrix`](Self::mapped_matrix), errors of reading, and [`io::ErrorKind::OutOfMemory`].
    pub fn read_matrix(&self, format: Format, shape: (usize, usize), file: &ModelFile) -> io::Result<Matrix> {
        Matrix::read(format, shape, (&self.pool, &self.arena), file)
    }

    /// Copies a piece of mapped tiles to memory on large pages, in a fraction of a millisecond; returns whether all are copied.
    ///
    /// # Errors
    /// [`io::ErrorKind::OutOfMemory`]; the tiles stay mapped.
    pub fn copy_piece(&self, tiles: &MappedTiles) -> io::Result<bool> {
        tiles.copy_piece(&self.arena)
    }

    /// Fills the rows of inputs. `write` receives the index of a row and the row; several threads call it. With `quantises`,
    /// rows are also quantised, as quantised weights require; the number of columns must then be a multiple of 32.
    pub fn inputs(
        &self,
        x: &mut Activations,
        shape: (usize, usize),
        quantises: bool,
        write: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        x.fill((&self.tier, &self.pool), shape, quantises, write);
    }

    /// Computes `rows / sqrt(mean(rows²) + epsilon) * weight` as inputs; rows are as long as the weight.
    pub fn norm(&self, rows: &[f32], weight: &[f32], epsilon: f32, quantises: bool, x: &mut Activations) {
        let n = weight.len();
        self.inputs(x, (rows.len() / n, n), quantises, |row, y| {
            self.tier.run(Norm { x: &rows[row * n..][..n], weight, epsilon, y });
        });
    }

    /// Computes `(rows - mean(rows)) / sqrt(variance(rows) + epsilon) * weight + bias` as inputs; rows are as long as the
    /// weight.
    pub fn layer_norm(
        &self,
        rows: &[f32],
        (weight, bias, epsilon): (&[f32], &[f32], f32),
        quantises: bool,
        x: &mut Activations,
    ) {
        let n = weight.len();
        self.inputs(x, (rows.len() / n, n), quantises, |row, y| {
            self.tier.run(LayerNorm { x: &rows[row * n..][..n], weight, bias, epsilon, y });
        });
    }

    /// Computes `function(rows)` as inputs; a row has `width` elements.
    pub fn activate(
        &self,
        function: GateFunction,
        (rows, width): (&[f32], usize),
        quantises: bool,
        x: &mut Activations,
    ) {
        self.inputs(x, (rows.len() / width, width), quantises, |row, y| {
            self.tier.run(Activate { function, x: &rows[row * width..][..width], y });
        });
    }

    /// Computes `function(gate) * up` as inputs, both `(rows, width)`.
    pub fn gate(
        &self,
        function: GateFunction,
        (gate, up, width): (&[f32], &[f32], usize),
        quantises: bool,
        x: &mut Activations,
    ) {
        self.inputs(x, (gate.len() / width, width), quantises, |row, y| {
            let row = row * width..(row + 1) * width;
            self.tier.run(Gate { function, gate: &gate[row.clone()], up: &up[row], y });
        });
    }

    /// Computes `first * function(second)` of the two halves of rows; a row of the output has `width` elements.
    pub fn gate_halves(&self, function: GateFunction, pairs: &[f32], out: &mut [f32], width: usize) {
        self.for_rows(out, width, |row, y| {
            let (up, gate) = pairs[row * 2 * width..][..2 * width].split_at(width);
            self.tier.run(Gate { function, gate, up, y });
        });
    }

    /// The function of rows that have `width` elements.
    ///
    /// # Panics
    /// If sizes do not match.
    pub fn activate_rows(&self, function: GateFunction, x: &[f32], out: &mut [f32], width: usize) {
        self.for_rows(out, width, |row, y| self.tier.run(Activate { function, x: &x[row * width..][..width], y }));
    }

    /// Replaces values by their sigmoid, `1 / (1 + e^-x)`.
    pub fn sigmoid(&self, values: &mut [f32]) {
        self.tier.run(Sigmoid(values));
    }

    /// Multiplies the same inputs with several matrices.
    ///
    /// # Panics
    /// If sizes do not match, or if weights are quantised and inputs are not.
    pub fn product<const N: usize>(&self, x: &Activations, products: [Product<'_>; N]) {
        let mut n_tiles = 0;
        let parts = products.map(|Product { matrix, out, adds }| {
            let (first, n_outputs) = (n_tiles, matrix.n_rows());
            assert!(matrix.n_columns() == x.n_columns && out.len() == x.n_rows * n_outputs, "sizes must match");
            assert!(!matrix.format().is_quantised() || x.is_quantised, "inputs must be quantised");
            n_tiles += matrix.n_tiles();
            (first, matrix, Outputs::new(out, n_outputs, adds))
        });
        // Small enough that no thread waits long for a slow core, large enough that memory is read in long runs.
        let tiles_of_piece = (n_tiles / (8 * self.n_threads())).clamp(1, 64);
        // Kernels for many rows take four tiles at a time.
        let tiles_of_piece = if x.n_rows < MANY_ROWS { tiles_of_piece } else { tiles_of_piece.next_multiple_of(4) };
        self.pool.run(n_tiles.div_ceil(tiles_of_piece), &|piece| {
            let (start, end) = (piece * tiles_of_piece, n_tiles.min((piece + 1) * tiles_of_piece));
            for (first, matrix, out) in &parts {
                let tiles = start.saturating_sub(*first)..end.saturating_sub(*first).min(matrix.n_tiles());
                if tiles.start < tiles.end {
                    // SAFETY: each tile belongs to one piece, and one thread computes each piece.
                    unsafe { self.tier.product(matrix, tiles, x, out) };
                }
            }
        });
    }

    /// Normalises and rotates the heads of rows in place. A row has `width` elements, a head `head_dim`.
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
            if let Some(Rotation { cosines, sines, n_pairs, pairing }) = rotation {
                let angles = row * n_pairs..(row + 1) * n_pairs;
                rotation::rotate(heads, head_dim, &cosines[angles.clone()], &sines[angles], pairing);
            }
        });
    }

    /// Attention of queries, `(rows, query heads * head_dim)`, over the tokens of their sequences that the masks show them.
    /// `scale` is the factor of scores. Writes the weighted values to `mixed`, which has the shape of the queries.
    ///
    /// # Panics
    /// If sizes do not match.
    pub fn attention(&self, queries: &[f32], steps: &[AttentionStep<'_>], scale: f32, mixed: &mut [f32]) {
        let Some(shape) = steps.first().map(|step| step.past.shape()) else { return };
        // All of the tokens may be tokens of another sequence, shorter than the rows.
        let includes_rows = |step: &AttentionStep<'_>| {
            step.mask == AttentionMask::Bidirectional || step.rows.len() <= step.past.n_tokens()
        };
        let is_known = |step: &AttentionStep<'_>| step.past.shape() == shape && includes_rows(step);
        assert!(steps.iter().all(is_known), "keys and values must include the rows and have one shape");
        // Two threads must not write to the same row.
        assert!(
            steps.windows(2).all(|pair| pair[0].rows.end <= pair[1].rows.start),
            "rows of steps must be in order and disjoint"
        );
        let n_rows: usize = steps.iter().map(|step| step.rows.len()).sum();
        let width = queries.len() / n_rows.max(1);
        let n_sharing = width / (shape.n_heads * shape.head_dim);
        assert!(
            queries.len() == mixed.len() && width == n_sharing * shape.n_heads * shape.head_dim,
            "sizes must match"
        );
        let out = Grid::new(mixed, width);
        // As many rows as read a page together.
        let rows_of_piece = (BLOCK / n_sharing.max(1)).max(1);
        let pieces_of = |step: &AttentionStep<'_>| step.rows.len().div_ceil(rows_of_piece) * shape.n_heads;
        self.pool.run(steps.iter().map(pieces_of).sum(), &|piece| {
            let mut left = piece;
            for step in steps {
                if left < pieces_of(step) {
                    let first = left / shape.n_heads * rows_of_piece;
                    return self.tier.run(HeadAttention {
                        queries: &queries[step.rows.start * width..step.rows.end * width],
                        past: step.past,
                        rows: first..step.rows.len().min(first + rows_of_piece),
                        n_before: step.past.n_tokens().saturating_sub(step.rows.len()),
                        key_head: left % shape.n_heads,
                        n_sharing,
                        mask: step.mask,
                        scale,
                        out: &out,
                        first_out: step.rows.start,
                    });
                }
                left -= pieces_of(step);
            }
        });
    }

    /// The gated short convolution as inputs. Each row is `[B; C; X]`; with `u = B * X`, it computes
    /// `C_t * (bias + Σ_k tap_k * u_(t - window + 1 + k))`.
    ///
    /// `projected` is `(rows, 3 * hidden)`, `taps` is `(window, hidden)` with the oldest first, `bias` is `(hidden)`.
    pub fn convolution(
        &self,
        projected: &[f32],
        (taps, bias, hidden): (&[f32], Option<&[f32]>, usize),
        steps: &mut [ConvolutionStep<'_>],
        quantises: bool,
        x: &mut Activations,
    ) {
        let rows_of = |rows: &Range<usize>| &projected[3 * hidden * rows.start..3 * hidden * rows.end];
        let of_steps = &*steps;
        self.inputs(x, (projected.len() / (3 * hidden), hidden), quantises, |row, y| {
            if let Some(step) = of_steps.iter().find(|step| step.rows.contains(&row)) {
                let (projected, row) = (rows_of(&step.rows), row - step.rows.start);
                self.tier.run(Convolution { projected, row, past: step.past, n_after: 0, taps, bias, y });
            }
        });
        for step in steps {
            let projected = rows_of(&step.rows);
            convolution::advance(step.past, hidden, step.rows.len(), |row, past| {
                let row = &projected[3 * row * hidden..][..3 * hidden];
                past.iter_mut().zip(&row[..hidden]).zip(&row[2 * hidden..]).for_each(|((past, b), x)| *past = b * x);
            });
        }
    }

    /// The gated convolution of whole sequences as inputs, with as many inputs after each row as before it, and zeros beyond both
    /// ends of a sequence. Otherwise as [`convolution`](Self::convolution).
    ///
    /// # Panics
    /// If the number of taps is even.
    pub fn centred_convolution(
        &self,
        projected: &[f32],
        (taps, bias, hidden): (&[f32], Option<&[f32]>, usize),
        sequences: &[Range<usize>],
        quantises: bool,
        x: &mut Activations,
    ) {
        let n_after = taps.len() / hidden / 2;
        assert!(taps.len() == (2 * n_after + 1) * hidden, "the number of taps must be odd");
        let past = vec![0.0; 2 * n_after * hidden];
        self.inputs(x, (projected.len() / (3 * hidden), hidden), quantises, |row, y| {
            if let Some(rows) = sequences.iter().find(|rows| rows.contains(&row)) {
                let projected = &projected[3 * hidden * rows.start..3 * hidden * rows.end];
                let row = row - rows.start;
                self.tier.run(Convolution { projected, row, past: &past, n_after, taps, bias, y });
            }
        });
    }

    /// The gated convolution of some patches of a grid as inputs. Each row of the grid is `[B; C; X]`; with `u = B * X`, and zeros
    /// beyond the edges, it computes `C * Σ tap * u` over the square around each patch.
    ///
    /// # Panics
    /// If sizes do not match.
    pub fn grid_convolution(&self, grid: PatchGrid<'_>, patches: Range<usize>, quantises: bool, x: &mut Activations) {
        let PatchGrid { projected, n_columns, taps, side, hidden } = grid;
        let n_patches = projected.len() / (3 * hidden);
        assert!(
            n_patches.is_multiple_of(n_columns) && patches.end <= n_patches && taps.len() == side * side * hidden,
            "sizes must match"
        );
        self.inputs(x, (patches.len(), hidden), quantises, |row, y| {
            self.tier.run(GridConvolution { grid, patch: patches.start + row, y });
        });
    }

    /// The depthwise convolution of some grid rows, `(grid rows * columns of outputs, channels)`.
    ///
    /// # Panics
    /// If sizes do not match.
    pub fn channel_convolution(&self, grid: ChannelGrid<'_>, rows: Range<usize>, out: &mut [f32]) {
        let (n_channels, n_outputs) = (grid.n_channels, grid.n_outputs());
        assert!(
            grid.taps.len() == grid.kernel.0 * grid.kernel.1 * n_channels
                && grid.bias.is_none_or(|bias| bias.len() == n_channels)
                && out.len() == rows.len() * n_outputs * n_channels,
            "sizes must match"
        );
        self.for_rows(out, n_channels, |at, y| {
            let place = (rows.start + at / n_outputs, at % n_outputs);
            self.tier.run(ChannelConvolution { grid, place, y });
        });
    }

    /// Attention with relative positions. Writes the weighted values to `mixed`, which has the shape of the queries.
    ///
    /// # Panics
    /// If sizes do not match.
    pub fn relative_attention(&self, all: RelativeAttention<'_>, mixed: &mut [f32]) {
        let width = all.width();
        let n_queries = all.queries.len() / width;
        assert!(
            width.is_multiple_of(all.n_heads)
                && all.position_bias.len() == width
                && all.queries.len() == mixed.len()
                && all.keys.len() == all.values.len()
                && (all.first_query + n_queries) * width <= all.keys.len()
                && all.positions.len() == (all.n_before + 1 + all.n_after) * width,
            "sizes must match"
        );
        let columns = HeadColumns::new(&all, |rows, width, write| self.for_rows(rows, width, write));
        let out = Grid::new(mixed, width);
        // As many queries as keep a piece small, and the keys of a head in the cache.
        let rows_of_piece = 4 * QUERIES;
        self.pool.run(n_queries.div_ceil(rows_of_piece) * all.n_heads, &|piece| {
            let first = piece / all.n_heads * rows_of_piece;
            self.tier.run(RelativeHead {
                all,
                columns: &columns,
                head: piece % all.n_heads,
                queries: first..n_queries.min(first + rows_of_piece),
                out: &out,
            });
        });
    }

    /// Adds outputs to the rows of the residual stream, which are as wide.
    pub fn add_outputs(&self, stream: &mut [f32], outputs: &[f32], width: usize, how: ResidualAddition<'_>) {
        let ResidualAddition { norm, factor } = how;
        self.for_rows(stream, width, |row, y| {
            self.tier.run(AddRow { x: &outputs[row * width..][..width], norm, factor, y });
        });
    }

    /// Bounds the values of rows, which have `width` elements: `bound * tanh(value / bound)`.
    pub fn bound(&self, rows: &mut [f32], width: usize, bound: f32) {
        self.for_rows(rows, width, |_, values| self.tier.run(Bound { values, bound }));
    }

    /// The queries, keys and values of a delta net, `(rows, channels)`: a causal convolution of `projected`, which has the same
    /// shape, and `x / (1 + e^-x)`. Queries and keys are then brought to the length 1; queries are also divided by the root
    /// of their size.
    ///
    /// `taps` is `(window, channels)` with the oldest first.
    ///
    /// # Panics
    /// If sizes do not match.
    pub fn delta_inputs(
        &self,
        projected: &[f32],
        (shape, taps): (DeltaShape, &[f32]),
        steps: &mut [ConvolutionStep<'_>],
        mixed: &mut [f32],
    ) {
        let width = shape.n_channels();
        assert!(width.is_multiple_of(COLUMNS) && taps.len().is_multiple_of(width), "sizes must match");
        let rows_of = |rows: &Range<usize>| &projected[width * rows.start..width * rows.end];
        let of_steps = &*steps;
        self.for_rows(mixed, width, |row, y| {
            if let Some(step) = of_steps.iter().find(|step| step.rows.contains(&row)) {
                let (projected, row) = (rows_of(&step.rows), row - step.rows.start);
                self.tier.run(DeltaInputs { shape, projected, row, past: step.past, taps, y });
            }
        });
        for step in steps {
            let projected = rows_of(&step.rows);
            convolution::advance(step.past, width, step.rows.len(), |row, past| {
                past.copy_from_slice(&projected[row * width..][..width]);
            });
        }
    }

    /// Computes tokens of several sequences with their memories, each sequence strictly in order. Writes the outputs,
    /// `(rows, value heads * value size)`.
    ///
    /// # Panics
    /// If sizes do not match.
    pub fn delta_net(&self, tokens: DeltaTokens<'_>, steps: &mut [DeltaStep<'_>], out: &mut [f32]) {
        let Some(shape) = steps.first().map(|step| step.memory.shape()) else { return };
        assert!(steps.iter().all(|step| step.memory.shape() == shape), "memories must have one shape");
        let out = Grid::new(out, shape.n_values * shape.value_dim);
        for DeltaStep { rows, memory } in steps {
            memory.advance((self.tier, &self.pool), tokens.part(rows, shape), (&out, rows.start));
        }
    }

    /// Normalises and gates the heads of rows, as inputs: `norm(x) * gate / (1 + e^-gate)`. `x` and `gate` are
    /// `(rows, width)`; all heads have the same weight.
    ///
    /// # Panics
    /// If the size of a head is not a multiple of 16.
    pub fn gated_norm(
        &self,
        x: &[f32],
        gate: &[f32],
        (width, weight, epsilon): (usize, &[f32], f32),
        quantises: bool,
        inputs: &mut Activations,
    ) {
        assert!(weight.len().is_multiple_of(LANES), "heads must be whole vectors");
        self.inputs(inputs, (x.len() / width, width), quantises, |row, y| {
            let row = row * width..(row + 1) * width;
            self.tier.run(GatedNorms { x: &x[row.clone()], gate: &gate[row], weight, epsilon, y });
        });
    }

    /// Adds the same values to each row.
    pub fn add_to_rows(&self, rows: &mut [f32], values: &[f32]) {
        self.for_rows(rows, values.len(), |_, row| row.iter_mut().zip(values).for_each(|(y, value)| *y += value));
    }

    /// Calls `work` with the index of each row and the row, which has `width` elements. Several threads do so.
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
