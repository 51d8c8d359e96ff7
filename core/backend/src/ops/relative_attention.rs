//! Attention with relative positions, as Transformer-XL has it: a query scores a key by both of their contents, and by its own
//! content and their distance.
//!
//! `score = (q + u) · k + (q + v) · p`, where `p` belongs to the distance. Each query is computed alone, over the keys that it
//! attends to in their order, so its result does not depend on other queries.

use std::ops::Range;

use crate::grid::Grid;
use crate::ops::bound::bounded;
use crate::simd::{LANES, Simd, Work};

/// Queries that read the keys together.
pub(crate) const QUERIES: usize = 4;
/// Vectors of a head's values that are summed at once.
const VECTORS: usize = 4;

/// The rows of a sequence, and the rows of some of its queries.
#[derive(Clone, Copy)]
pub struct RelativeAttention<'a> {
    /// `(queries, heads * head_dim)`
    pub queries: &'a [f32],
    /// Index of the first query among the keys.
    pub first_query: usize,
    /// `(keys, heads * head_dim)`
    pub keys: &'a [f32],
    /// `(keys, heads * head_dim)`
    pub values: &'a [f32],
    /// Rows for the distances from `n_before` keys before a query to `n_after` keys after it, `(distances, heads * head_dim)`.
    pub positions: &'a [f32],
    /// `u`, `(heads * head_dim)`
    pub content_bias: &'a [f32],
    /// `v`, `(heads * head_dim)`
    pub position_bias: &'a [f32],
    /// Heads.
    pub n_heads: usize,
    /// Keys that a query attends to before itself.
    pub n_before: usize,
    /// Keys that a query attends to after itself.
    pub n_after: usize,
    /// Factor of the scores.
    pub scale: f32,
    /// If given, scaled scores are bounded: `bound * tanh(score / bound)`.
    pub bound: Option<f32>,
}

/// Keys, positions and values of all heads in the order in which scores and sums read them.
pub(crate) struct HeadColumns {
    pub(crate) head_dim: usize,
    n_keys: usize,
    /// `(heads, head_dim, keys)`, with zeros up to whole vectors.
    keys: Vec<f32>,
    /// `(heads, head_dim, distances)`, between vectors of zeros.
    positions: Vec<f32>,
    n_positions: usize,
    /// `(heads, keys, head_dim)`, with zeros up to whole vectors.
    values: Vec<f32>,
}

/// Attention of some queries of one head.
pub(crate) struct RelativeHead<'a> {
    pub(crate) all: RelativeAttention<'a>,
    pub(crate) columns: &'a HeadColumns,
    pub(crate) head: usize,
    pub(crate) queries: Range<usize>,
    /// `(queries, heads * head_dim)`
    pub(crate) out: &'a Grid<'a>,
}

impl RelativeAttention<'_> {
    /// Elements of a row.
    pub(crate) fn width(&self) -> usize {
        self.content_bias.len()
    }
}

impl HeadColumns {
    /// `for_rows` calls its last argument with the index of each row of some values, and the row.
    pub(crate) fn new(
        all: &RelativeAttention<'_>,
        for_rows: impl Fn(&mut [f32], usize, &(dyn Fn(usize, &mut [f32]) + Sync)),
    ) -> Self {
        let width = all.width();
        let (head_dim, n_keys, n_distances) =
            (width / all.n_heads, all.keys.len() / width, all.positions.len() / width);
        let padded_keys = n_keys.next_multiple_of(LANES);
        let n_positions = 3 * LANES + n_distances;
        let padded_dim = head_dim.next_multiple_of(LANES);
        let mut keys = vec![0.0; width * padded_keys];
        for_rows(&mut keys, padded_keys, &|column, to| {
            to.iter_mut().zip(all.keys[column..].iter().step_by(width)).for_each(|(to, key)| *to = *key);
        });
        let mut positions = vec![0.0; width * n_positions];
        for_rows(&mut positions, n_positions, &|column, to| {
            let from = all.positions[column..].iter().step_by(width);
            to[LANES..].iter_mut().zip(from).for_each(|(to, position)| *to = *position);
        });
        let mut values = vec![0.0; all.n_heads * n_keys * padded_dim];
        for_rows(&mut values, padded_dim, &|row, to| {
            let (head, key) = (row / n_keys, row % n_keys);
            to[..head_dim].copy_from_slice(&all.values[key * width + head * head_dim..][..head_dim]);
        });
        Self { head_dim, n_keys, keys, positions, n_positions, values }
    }
}

impl Work for RelativeHead<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let padded_keys = self.columns.n_keys.next_multiple_of(LANES);
        let mut scores = vec![0.0; QUERIES * padded_keys];
        let mut first = self.queries.start;
        while first < self.queries.end {
            // A group of fewer queries computes each of them in the same order.
            if first + QUERIES <= self.queries.end {
                self.scores::<S, QUERIES>(simd, first, &mut scores);
                for (at, scores) in scores.chunks_exact_mut(padded_keys).enumerate() {
                    self.mix(simd, first + at, scores);
                }
                first += QUERIES;
            } else {
                self.scores::<S, 1>(simd, first, &mut scores);
                self.mix(simd, first, &mut scores[..padded_keys]);
                first += 1;
            }
        }
    }
}

impl RelativeHead<'_> {
    /// The keys that a query attends to.
    #[inline(always)]
    fn seen(&self, query: usize) -> Range<usize> {
        let at = self.all.first_query + query;
        at.saturating_sub(self.all.n_before)..self.columns.n_keys.min(at + self.all.n_after + 1)
    }

    /// Writes the scores of queries in the vectors of keys that any of them attends to, `(queries, keys)`.
    #[inline(always)]
    fn scores<S: Simd, const Q: usize>(&self, simd: S, first: usize, scores: &mut [f32]) {
        let HeadColumns { head_dim, n_keys, keys, positions, n_positions, .. } = self.columns;
        let (head_dim, n_positions, padded_keys) = (*head_dim, *n_positions, n_keys.next_multiple_of(LANES));
        let width = self.all.width();
        let column = self.head * head_dim;
        let queries: [&[f32]; Q] =
            std::array::from_fn(|at| &self.all.queries[(first + at) * width + column..][..head_dim]);
        let content_bias = &self.all.content_bias[column..][..head_dim];
        let position_bias = &self.all.position_bias[column..][..head_dim];
        let end = self.seen(first + Q - 1).end;
        for key in (self.seen(first).start / LANES * LANES..end).step_by(LANES) {
            let mut sums = [simd.splat(0.0); Q];
            // The place of a query's first distance. A vector that a query does not see at all lies outside, and is not used.
            let places: [usize; Q] = std::array::from_fn(|at| {
                let place = (LANES + self.all.n_before + key).saturating_sub(self.all.first_query + first + at);
                place.min(n_positions - LANES)
            });
            for dim in 0..head_dim {
                let keys = &keys[(column + dim) * padded_keys + key..];
                let positions = &positions[(column + dim) * n_positions..][..n_positions];
                let keys = match keys.first_chunk::<LANES>() {
                    Some(keys) => simd.load(keys),
                    None => simd.splat(0.0),
                };
                for at in 0..Q {
                    let position = match positions[places[at]..].first_chunk::<LANES>() {
                        Some(position) => simd.load(position),
                        None => simd.splat(0.0),
                    };
                    let query = queries[at][dim];
                    sums[at] = simd.mul_add(keys, simd.splat(query + content_bias[dim]), sums[at]);
                    sums[at] = simd.mul_add(position, simd.splat(query + position_bias[dim]), sums[at]);
                }
            }
            for at in 0..Q {
                if let Some(to) = scores[at * padded_keys + key..].first_chunk_mut::<LANES>() {
                    simd.store(sums[at], to);
                }
            }
        }
    }

    /// Converts the scores of a query to weights, and writes the sum of the values by them.
    #[inline(always)]
    fn mix<S: Simd>(&self, simd: S, query: usize, scores: &mut [f32]) {
        let seen = self.seen(query);
        let first = seen.start / LANES * LANES;
        let scores = &mut scores[first..seen.end.next_multiple_of(LANES)];
        for vector in scores.as_chunks_mut::<LANES>().0 {
            let scaled = simd.mul(simd.load(vector), simd.splat(self.all.scale));
            simd.store(self.all.bound.map_or(scaled, |bound| bounded(simd, scaled, bound)), vector);
        }
        scores[..seen.start - first].fill(f32::NEG_INFINITY);
        scores[seen.end - first..].fill(f32::NEG_INFINITY);
        let (vectors, _) = scores.as_chunks_mut::<LANES>();
        let mut largest = simd.splat(f32::NEG_INFINITY);
        for vector in vectors.iter_mut() {
            largest = simd.max(simd.load(vector), largest);
        }
        let largest = simd.splat(simd.largest(largest));
        let mut total = simd.splat(0.0);
        for vector in vectors.iter_mut() {
            let weights = simd.exp(simd.sub(simd.load(vector), largest));
            total = simd.add(total, weights);
            simd.store(weights, vector);
        }
        let total = simd.sum(total);
        let HeadColumns { head_dim, n_keys, values, .. } = self.columns;
        let n_vectors = head_dim.div_ceil(LANES);
        let (values, _) = values[self.head * n_keys * n_vectors * LANES..].as_chunks::<LANES>();
        let column = self.head * head_dim;
        // SAFETY: this thread alone computes the place, and the reference ends here.
        let out = unsafe { self.out.part(query, column..column + head_dim) };
        for (at, out) in out.chunks_mut(VECTORS * LANES).enumerate() {
            let n = out.len().div_ceil(LANES);
            let mut sums = [simd.splat(0.0); VECTORS];
            for (key, weight) in seen.clone().zip(&scores[seen.start - first..]) {
                let weight = simd.splat(*weight);
                let values = &values[key * n_vectors + at * VECTORS..][..n];
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = simd.mul_add(simd.load(value), weight, *sum);
                }
            }
            for (out, sum) in out.chunks_mut(LANES).zip(sums) {
                out.iter_mut().zip(simd.to_array(sum)).for_each(|(out, sum)| *out = sum / total);
            }
        }
    }
}
