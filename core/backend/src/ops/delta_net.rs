//! The gated delta net: each value head has a matrix that every token decays, corrects and then reads.
//!
//! With the matrix `S` of a head, `(key size, value size)`, and a token's query `q`, key `k`, value `v`, decay `a` and rate
//! `b`: `S = a S`, then `S = S + k (b (v - Sᵀ k))ᵀ`, then `o = Sᵀ q` (Yang, Kautz and Hatamizadeh, "Gated delta networks",
//! 2024).
//!
//! Tokens are computed strictly one after the other, so a result does not depend on how they are cut into steps. The columns
//! of a matrix do not depend on each other: a thread takes a block of them, which stays in its first-level cache during all
//! tokens of a step.

use std::ops::Range;

use crate::grid::Grid;
use crate::ops::gate::{Curve, Silu};
use crate::ops::norm::{scale, sum_of_squares};
use crate::simd::{LANES, Simd, Work};

/// Columns of a matrix that are stored together, `(key size, COLUMNS)`, and computed by one thread.
pub(crate) const COLUMNS: usize = 32;
/// What keeps keys of zeros from a division by zero.
const EPSILON: f32 = 1e-6;

/// The heads of a delta net.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeltaShape {
    /// Number of query heads, and of key heads.
    pub n_keys: usize,
    /// Number of value heads, a multiple of `n_keys`: those that share a key head are `n_keys` apart.
    pub n_values: usize,
    /// Elements of a query or key: a multiple of [`UNIT`](Self::UNIT), at most [`MAX_KEY`](Self::MAX_KEY).
    pub key_dim: usize,
    /// Elements of a value: a multiple of [`UNIT`](Self::UNIT).
    pub value_dim: usize,
}

impl DeltaShape {
    /// The largest key; known models have 128.
    pub const MAX_KEY: usize = 256;
    /// The sizes of keys and of values are multiples of this.
    pub const UNIT: usize = COLUMNS;

    /// Elements of a row: the queries and keys, then the values.
    pub fn n_channels(&self) -> usize {
        2 * self.n_keys * self.key_dim + self.n_values * self.value_dim
    }

    /// Elements of all matrices.
    pub fn n_elements(&self) -> usize {
        self.n_values * self.key_dim * self.value_dim
    }

    /// The key head of a value head.
    pub(crate) fn key_head(&self, value_head: usize) -> usize {
        value_head % self.n_keys
    }
}

/// Computes the queries, keys and values of one token: a causal convolution over its last few rows, a gate, and the length 1
/// for queries and keys. Queries are also divided by the root of their size. Overwrites `y`.
pub(crate) struct DeltaInputs<'a> {
    pub(crate) shape: DeltaShape,
    /// The sequence's rows of this step, `(rows, channels)`.
    pub(crate) projected: &'a [f32],
    /// The row to compute.
    pub(crate) row: usize,
    /// Rows before the step, oldest first: `(window - 1, channels)`.
    pub(crate) past: &'a [f32],
    /// `(window, channels)`, oldest first.
    pub(crate) taps: &'a [f32],
    pub(crate) y: &'a mut [f32],
}

impl Work for DeltaInputs<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let n = self.y.len();
        let (taps, _) = self.taps.as_chunks::<LANES>();
        let (projected, _) = self.projected.as_chunks::<LANES>();
        let (past, _) = self.past.as_chunks::<LANES>();
        let (n_vectors, n_past) = (n / LANES, taps.len() * LANES / n - 1);
        let (y, _) = self.y.as_chunks_mut::<LANES>();
        for (at, y) in y.iter_mut().enumerate() {
            let mut sum = simd.splat(0.0);
            for tap in 0..=n_past {
                let input = match (self.row + tap).checked_sub(n_past) {
                    Some(row) => simd.load(&projected[row * n_vectors + at]),
                    None => simd.load(&past[(self.row + tap) * n_vectors + at]),
                };
                sum = simd.mul_add(input, simd.load(&taps[tap * n_vectors + at]), sum);
            }
            simd.store(Silu::of(simd, sum), y);
        }
        let DeltaShape { n_keys, key_dim, .. } = self.shape;
        let (y, _) = y.as_flattened_mut().split_at_mut(2 * n_keys * key_dim);
        for (head, x) in y.chunks_exact_mut(key_dim).enumerate() {
            let length = (sum_of_squares(simd, x) + EPSILON).sqrt();
            let divisor = if head < n_keys { length * (key_dim as f32).sqrt() } else { length };
            for x in x {
                *x /= divisor;
            }
        }
    }
}

/// Tokens of a delta net.
#[derive(Clone, Copy)]
pub struct DeltaTokens<'a> {
    /// Queries, keys and values, as [`Cpu::delta_inputs`](crate::Cpu::delta_inputs) gives them: `(tokens, channels)`.
    pub rows: &'a [f32],
    /// Factors of the matrices: `(tokens, value heads)`.
    pub decays: &'a [f32],
    /// The parts of the errors that are corrected: `(tokens, value heads)`.
    pub rates: &'a [f32],
}

impl<'a> DeltaTokens<'a> {
    pub(crate) fn part(&self, tokens: &Range<usize>, shape: DeltaShape) -> Self {
        let part = |all: &'a [f32], width: usize| &all[tokens.start * width..tokens.end * width];
        Self {
            rows: part(self.rows, shape.n_channels()),
            decays: part(self.decays, shape.n_values),
            rates: part(self.rates, shape.n_values),
        }
    }
}

/// Two vectors of columns of a matrix.
type Columns<T> = [T; COLUMNS / LANES];

/// Computes the tokens of a sequence for a block of columns of one head.
pub(crate) struct DeltaBlock<'a> {
    pub(crate) shape: DeltaShape,
    /// The block among the blocks of all heads.
    pub(crate) block: usize,
    /// `(key size, COLUMNS)`
    pub(crate) memory: &'a mut [f32],
    pub(crate) tokens: DeltaTokens<'a>,
    /// The outputs, `(rows, value heads * value size)`, and the row of the first token. `None` to update the memory only.
    pub(crate) out: Option<(&'a Grid<'a>, usize)>,
}

impl Work for DeltaBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { shape, block, tokens, .. } = self;
        let DeltaShape { n_keys, n_values, key_dim, value_dim, .. } = shape;
        let (memory, _) = self.memory.as_chunks_mut::<LANES>();
        let (memory, _) = memory.as_chunks_mut::<{ COLUMNS / LANES }>();
        let first = block * COLUMNS;
        let head = first / value_dim;
        let key_head = shape.key_head(head);
        for (token, row) in tokens.rows.chunks_exact(shape.n_channels()).enumerate() {
            let q = &row[key_head * key_dim..][..key_dim];
            let k = &row[(n_keys + key_head) * key_dim..][..key_dim];
            let (v, _) = row[2 * n_keys * key_dim + first..][..COLUMNS].as_chunks::<LANES>();
            let at = token * n_values + head;
            let (decay, rate) = (simd.splat(tokens.decays[at]), simd.splat(tokens.rates[at]));
            let mut change = recall(simd, memory, k);
            for (change, v) in change.iter_mut().zip(v) {
                let error = simd.sub(simd.load(v), simd.mul(decay, *change));
                *change = simd.mul(rate, error);
            }
            let output = update(simd, memory, (q, k), decay, change);
            if let Some((grid, first_row)) = self.out {
                // SAFETY: one thread computes each block of each row.
                let out = unsafe { grid.part(first_row + token, first..first + COLUMNS) };
                let (out, _) = out.as_chunks_mut::<LANES>();
                for (out, sum) in out.iter_mut().zip(output) {
                    simd.store(sum, out);
                }
            }
        }
    }
}

/// The product of a key and the memory. Even and odd rows are summed apart: each addition waits for the one before it.
#[inline(always)]
fn recall<S: Simd>(simd: S, memory: &[Columns<[f32; LANES]>], k: &[f32]) -> Columns<S::Floats> {
    let mut sums = [[simd.splat(0.0); COLUMNS / LANES]; 2];
    for (memory, k) in memory.as_chunks::<2>().0.iter().zip(k.as_chunks::<2>().0) {
        for parity in 0..2 {
            let k = simd.splat(k[parity]);
            for (sum, memory) in sums[parity].iter_mut().zip(&memory[parity]) {
                *sum = simd.mul_add(simd.load(memory), k, *sum);
            }
        }
    }
    total(simd, sums)
}

/// Decays the memory and adds the outer product of a key and the change. Returns the product of the query and the result.
#[inline(always)]
fn update<S: Simd>(
    simd: S,
    memory: &mut [Columns<[f32; LANES]>],
    (q, k): (&[f32], &[f32]),
    decay: S::Floats,
    change: Columns<S::Floats>,
) -> Columns<S::Floats> {
    let mut sums = [[simd.splat(0.0); COLUMNS / LANES]; 2];
    let (q, k) = (q.as_chunks::<2>().0, k.as_chunks::<2>().0);
    for ((memory, q), k) in memory.as_chunks_mut::<2>().0.iter_mut().zip(q).zip(k) {
        for parity in 0..2 {
            let (q, k) = (simd.splat(q[parity]), simd.splat(k[parity]));
            for ((sum, memory), change) in sums[parity].iter_mut().zip(&mut memory[parity]).zip(change) {
                let value = simd.mul_add(k, change, simd.mul(decay, simd.load(memory)));
                *sum = simd.mul_add(value, q, *sum);
                simd.store(value, memory);
            }
        }
    }
    total(simd, sums)
}

#[inline(always)]
fn total<S: Simd>(simd: S, [mut even, odd]: [Columns<S::Floats>; 2]) -> Columns<S::Floats> {
    for (even, odd) in even.iter_mut().zip(odd) {
        *even = simd.add(*even, odd);
    }
    even
}

/// Normalises the heads of a row, each with the same weight, and gates them: `norm(x) * gate / (1 + e^-gate)`. Overwrites
/// `y`.
pub(crate) struct GatedNorms<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) gate: &'a [f32],
    pub(crate) weight: &'a [f32],
    pub(crate) epsilon: f32,
    pub(crate) y: &'a mut [f32],
}

impl Work for GatedNorms<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let n = self.weight.len();
        let (weight, _) = self.weight.as_chunks::<LANES>();
        for ((x, gate), y) in self.x.chunks_exact(n).zip(self.gate.chunks_exact(n)).zip(self.y.chunks_exact_mut(n)) {
            let scale = simd.splat(scale(simd, x, self.epsilon));
            let (x, gate, y) = (x.as_chunks::<LANES>().0, gate.as_chunks::<LANES>().0, y.as_chunks_mut::<LANES>().0);
            for (((x, gate), weight), y) in x.iter().zip(gate).zip(weight).zip(y) {
                let normed = simd.mul(simd.mul(simd.load(x), scale), simd.load(weight));
                simd.store(simd.mul(Silu::of(simd, simd.load(gate)), normed), y);
            }
        }
    }
}
