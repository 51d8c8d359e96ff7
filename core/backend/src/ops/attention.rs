//! Attention over pages of keys and values.
//!
//! Each query of each head is computed alone: its scores, page by page; of each page the largest, so that what was summed
//! before shrinks to the new scale; the weights `e^(score - largest)`; and the values summed by them, token by token.
//! Pages lie at fixed places, so the order is the same for a query that came alone and for one among many. Queries that
//! share a key head go through a page together, to read it once.

use crate::grid::Grid;
use crate::pages::{CacheType, GROUP, Kept, KeyValues, PAGE};
use crate::simd::{LANES, Simd, Work};

/// Vectors of tokens in a page.
const VECTORS: usize = PAGE / LANES;
/// Bytes that memory gives at a time.
const LINE: usize = 64;

/// Queries of one sequence that share a key head.
pub(crate) struct Attention<'a> {
    /// `(rows, query heads * head_dim)`
    pub(crate) queries: &'a [f32],
    pub(crate) past: &'a KeyValues,
    /// Tokens before the first row.
    pub(crate) n_before: usize,
    /// Rows at work.
    pub(crate) rows: std::ops::Range<usize>,
    /// The key head at work, and the query heads that share it.
    pub(crate) key_head: usize,
    pub(crate) n_sharing: usize,
    /// Tokens that a token sees, itself included; `usize::MAX` for all before it.
    pub(crate) window: usize,
    /// Where rows go, as the queries lie; the first row of `queries` is `first_out`.
    pub(crate) out: &'a Grid<'a>,
    pub(crate) first_out: usize,
}

impl Work for Attention<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.past.shape().cache_type {
            CacheType::F16 => self.all::<S, u16>(simd),
            CacheType::F32 => self.all::<S, f32>(simd),
            CacheType::Q8_0 => self.all::<S, i8>(simd),
        }
    }
}

/// The keys or the values of a page and a head.
#[derive(Clone, Copy)]
struct Rows<'a, T> {
    numbers: &'a [[T; LANES]],
    /// Empty where numbers stand for themselves.
    scales: &'a [f32],
}

/// A head's part of a page's numbers, of which each token has so many.
#[inline(always)]
fn part<T>(numbers: &[T], head: usize, width: usize) -> &[T] {
    &numbers[head * PAGE * width..][..PAGE * width]
}

/// What a query has summed up.
#[derive(Clone, Copy)]
struct Sums {
    largest: f32,
    weights: f32,
}

impl Attention<'_> {
    #[inline(always)]
    fn all<S: Simd, T: Kept>(&self, simd: S) {
        let n = self.rows.len() * self.n_sharing;
        let mut first = 0;
        while first < n {
            first += match n - first {
                4.. => self.some::<S, T, 4>(simd, first),
                2.. => self.some::<S, T, 2>(simd, first),
                _ => self.some::<S, T, 1>(simd, first),
            };
        }
    }

    /// The row and head of a query.
    #[inline(always)]
    fn place(&self, query: usize) -> (usize, usize) {
        (self.rows.start + query / self.n_sharing, self.key_head * self.n_sharing + query % self.n_sharing)
    }

    /// `Q` queries from the given one on; returns their number.
    #[inline(always)]
    fn some<S: Simd, T: Kept, const Q: usize>(&self, simd: S, first: usize) -> usize {
        let shape = self.past.shape();
        let (head_dim, padded_dim, n_groups) = (shape.head_dim, shape.padded_dim(), shape.n_groups());
        let width = self.out.n_columns;
        let places: [(usize, usize); Q] = std::array::from_fn(|at| self.place(first + at));
        let queries = places.map(|(row, head)| &self.queries[row * width + head * head_dim..][..head_dim]);
        // Tokens that each query sees.
        let ends = places.map(|(row, _)| self.n_before + row + 1);
        let starts = ends.map(|end| end.saturating_sub(self.window));
        let (start, end) = (starts[0], ends[Q - 1]); // rows ascend
        let scale = simd.splat(1.0 / (head_dim as f32).sqrt());

        let mut sums = [Sums { largest: f32::NEG_INFINITY, weights: 0.0 }; Q];
        // SAFETY: heads of rows, each the work of one thread.
        let mut out = places
            .map(|(row, head)| unsafe { self.out.part(self.first_out + row, head * head_dim..(head + 1) * head_dim) });
        out.iter_mut().for_each(|out| out.fill(0.0));
        for page_at in start / PAGE..end.div_ceil(PAGE) {
            let page = self.past.page::<T>(page_at);
            let n_tokens = (end - page_at * PAGE).min(PAGE);
            let keys = Rows {
                numbers: part(&page.keys, self.key_head, head_dim).as_chunks().0,
                scales: part(&page.key_scales, self.key_head, if T::HAS_SCALE { n_groups } else { 0 }),
            };
            let values = Rows {
                numbers: part(&page.values, self.key_head, padded_dim).as_chunks().0,
                scales: part(&page.value_scales, self.key_head, if T::HAS_SCALE { n_groups } else { 0 }),
            };
            // While keys are read, memory is asked for the values, and while values are, for the next keys. The first queries
            // ask; the others find it nearer.
            let (mut soon, mut later) = (&[][..], &[][..]);
            if first == 0 {
                soon = values.numbers;
                if (page_at + 1) * PAGE < end {
                    later = part(&self.past.page::<T>(page_at + 1).keys, self.key_head, head_dim).as_chunks().0;
                }
            }
            // Several vectors at once where there is room: each sum waits for the one before it.
            let mut scores = match (Q, S::HAS_MANY_REGISTERS) {
                (..=2, true) => self.scores::<S, T, Q, 4>(simd, keys, &queries, n_tokens, soon),
                (..=2, false) | (_, true) => self.scores::<S, T, Q, 2>(simd, keys, &queries, n_tokens, soon),
                _ => self.scores::<S, T, Q, 1>(simd, keys, &queries, n_tokens, soon),
            };
            let mut shrinks = [1.0; Q];
            for at in 0..Q {
                hide(&mut scores[at], starts[at], ends[at], page_at * PAGE);
                shrinks[at] = weigh(simd, &mut scores[at], &mut sums[at], scale);
            }
            let n_dims = padded_dim / LANES;
            let mut dim = 0;
            while dim < n_dims {
                let place = (n_dims, dim, n_tokens);
                dim += match n_dims - dim {
                    4.. if S::HAS_MANY_REGISTERS || Q == 1 => {
                        add::<S, T, Q, 4>(simd, values, place, &scores, shrinks, &mut out, later)
                    }
                    2.. if Q <= 2 => add::<S, T, Q, 2>(simd, values, place, &scores, shrinks, &mut out, later),
                    _ => add::<S, T, Q, 1>(simd, values, place, &scores, shrinks, &mut out, later),
                };
            }
        }
        for (out, sums) in out.into_iter().zip(sums) {
            out.iter_mut().for_each(|x| *x /= sums.weights);
        }
        Q
    }

    /// The products of queries and keys of a page: `(queries, PAGE)`.
    #[inline(always)]
    fn scores<S: Simd, T: Kept, const Q: usize, const V: usize>(
        &self,
        simd: S,
        keys: Rows<'_, T>,
        queries: &[&[f32]; Q],
        n_tokens: usize,
        soon: &[[T; LANES]],
    ) -> [[f32; PAGE]; Q] {
        let head_dim = queries[0].len();
        let (scales, _) = keys.scales.as_chunks::<LANES>();
        let mut scores = [[0.0; PAGE]; Q];
        for vector in (0..n_tokens.div_ceil(LANES)).step_by(V) {
            let keys: [&[[T; LANES]]; V] =
                std::array::from_fn(|at| &keys.numbers[(vector + at) * head_dim..][..head_dim]);
            let mut sums = [[simd.splat(0.0); V]; Q];
            let mut scale = [simd.splat(1.0); V];
            for dim in 0..head_dim {
                let mut key = [simd.splat(0.0); V];
                for at in 0..V {
                    ask(simd, soon, (vector + at) * head_dim + dim);
                    key[at] = T::load(simd, &keys[at][dim]);
                    if T::HAS_SCALE {
                        if dim % GROUP == 0 {
                            scale[at] = simd.load(&scales[(vector + at) * head_dim.div_ceil(GROUP) + dim / GROUP]);
                        }
                        key[at] = simd.mul(key[at], scale[at]);
                    }
                }
                for at in 0..Q {
                    let x = simd.splat(queries[at][dim]);
                    for (sum, key) in sums[at].iter_mut().zip(key) {
                        *sum = simd.mul_add(key, x, *sum);
                    }
                }
            }
            for at in 0..Q {
                let (to, _) = scores[at].as_chunks_mut::<LANES>();
                for (to, sum) in to[vector..].iter_mut().zip(sums[at]) {
                    simd.store(sum, to);
                }
            }
        }
        scores
    }
}

/// Asks memory for the vector at this place, once for each line.
#[inline(always)]
fn ask<S: Simd, T>(simd: S, soon: &[[T; LANES]], at: usize) {
    if (at * size_of::<[T; LANES]>()).is_multiple_of(LINE)
        && let Some(vector) = soon.get(at)
    {
        simd.ask_for_later(vector);
    }
}

/// Sets what a query does not see to minus infinity.
#[inline(always)]
fn hide(scores: &mut [f32; PAGE], start: usize, end: usize, first: usize) {
    let (start, end) = (start.saturating_sub(first).min(PAGE), end.saturating_sub(first).min(PAGE));
    scores[..start].fill(f32::NEG_INFINITY);
    scores[end.max(start)..].fill(f32::NEG_INFINITY);
}

/// Turns the scores of a page into weights, and returns what all sums before it shrink by.
#[inline(always)]
fn weigh<S: Simd>(simd: S, scores: &mut [f32; PAGE], sums: &mut Sums, scale: S::Floats) -> f32 {
    let (vectors, _) = scores.as_chunks_mut::<LANES>();
    let mut largest = simd.splat(f32::NEG_INFINITY);
    for vector in vectors.iter_mut() {
        let scaled = simd.mul(simd.load(vector), scale);
        largest = simd.max(scaled, largest);
        simd.store(scaled, vector);
    }
    let largest = simd.largest(largest).max(sums.largest);
    if largest == f32::NEG_INFINITY {
        scores.fill(0.0); // nothing of this page is seen
        return 1.0;
    }
    let shrink = simd.to_array(simd.exp(simd.splat(sums.largest - largest)))[0];
    let mut total = simd.splat(0.0);
    for vector in vectors.iter_mut().take(VECTORS) {
        let weights = simd.exp(simd.sub(simd.load(vector), simd.splat(largest)));
        total = simd.add(total, weights);
        simd.store(weights, vector);
    }
    let weights = simd.mul_add(simd.splat(sums.weights), simd.splat(shrink), simd.splat(simd.sum(total)));
    *sums = Sums { largest, weights: simd.to_array(weights)[0] };
    shrink
}

/// Adds a page's values, by their weights, to `D` vectors of each query's sums, from the vector `dim` on; returns their
/// number.
#[inline(always)]
fn add<S: Simd, T: Kept, const Q: usize, const D: usize>(
    simd: S,
    values: Rows<'_, T>,
    (n_dims, dim, n_tokens): (usize, usize, usize),
    weights: &[[f32; PAGE]; Q],
    shrinks: [f32; Q],
    out: &mut [&mut [f32]; Q],
    soon: &[[T; LANES]],
) -> usize {
    let mut sums = [[simd.splat(0.0); D]; Q];
    for at in 0..Q {
        for offset in 0..D {
            let part = &out[at][((dim + offset) * LANES).min(out[at].len())..];
            sums[at][offset] = simd.mul(simd.load_first(part, 0.0), simd.splat(shrinks[at]));
        }
    }
    let n_groups = values.scales.len() / PAGE;
    for (token, row) in values.numbers.chunks_exact(n_dims).take(n_tokens).enumerate() {
        let row = &row[dim..][..D];
        for offset in 0..D {
            ask(simd, soon, token * n_dims + dim + offset);
            let mut value = T::load(simd, &row[offset]);
            if T::HAS_SCALE {
                let scale = values.scales[token * n_groups + (dim + offset) * LANES / GROUP];
                value = simd.mul(value, simd.splat(scale));
            }
            for at in 0..Q {
                sums[at][offset] = simd.mul_add(value, simd.splat(weights[at][token]), sums[at][offset]);
            }
        }
    }
    for at in 0..Q {
        for offset in 0..D {
            let first = (dim + offset) * LANES;
            let end = out[at].len().min(first + LANES);
            let sums = simd.to_array(sums[at][offset]);
            out[at][first..end].copy_from_slice(&sums[..end - first]);
        }
    }
    D
}
