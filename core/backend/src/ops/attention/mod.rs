//! Attention over pages of keys and values.
//!
//! Each query of each head is computed page by page: its scores; the largest score, to which earlier sums are rescaled; the
//! weights `e^(score - largest)`; and the sum of the values by these weights, token by token. Pages begin at fixed
//! positions, so the order of operations is the same for a single query and for one among many. Queries that share a key
//! head process a page together, to read it once.

mod page;

use std::marker::PhantomData;
use std::ops::Range;

use crate::grid::Grid;
use crate::pages::{CacheElement, CacheType, KeyValues, PAGE};
use crate::simd::{LANES, Simd, Work};

use page::{HeadRows, SoftmaxSums, add_values, hide, prefetch_scales, put_scores, weigh};

/// Queries that read a page together, while it is in the second-level cache; a multiple of all numbers of queries that are
/// computed at once.
pub(crate) const BLOCK: usize = 48;

/// Which tokens of its sequence a token attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionMask {
    /// The last `window` tokens up to and including itself; `usize::MAX` for all of them.
    Causal {
        /// Number of tokens, at least one.
        window: usize,
    },
    /// The last `window` tokens up to and including itself, and the next `n_after` tokens of the step.
    TwoWay {
        /// Number of tokens, at least one.
        window: usize,
        /// Number of tokens; `usize::MAX` for all of them.
        n_after: usize,
    },
    /// All tokens: those after it, too.
    Bidirectional,
}

/// Attention of the queries of one sequence that share a key head.
pub(crate) struct HeadAttention<'a> {
    /// `(rows, query heads * head_dim)`
    pub(crate) queries: &'a [f32],
    pub(crate) past: &'a KeyValues,
    /// Tokens before the first row.
    pub(crate) n_before: usize,
    /// Rows to compute.
    pub(crate) rows: Range<usize>,
    /// The key head, and the number of query heads that share it.
    pub(crate) key_head: usize,
    pub(crate) n_sharing: usize,
    pub(crate) mask: AttentionMask,
    /// Factor of the scores.
    pub(crate) scale: f32,
    /// The outputs, in the layout of the queries; the first row of `queries` is row `first_out`.
    pub(crate) out: &'a Grid<'a>,
    pub(crate) first_out: usize,
}

impl Work for HeadAttention<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.past.shape().cache_type {
            CacheType::F16 => self.all_queries::<S, u16>(simd),
            CacheType::F32 => self.all_queries::<S, f32>(simd),
            CacheType::Q8_0 => self.all_queries::<S, i8>(simd),
        }
    }
}

/// One head's part of a page's elements; each token has `width` of them.
#[inline(always)]
fn part<T>(elements: &[T], head: usize, width: usize) -> &[T] {
    &elements[head * PAGE * width..][..PAGE * width]
}

/// Where a query and its outputs lie, and what it attends to.
#[derive(Clone, Copy)]
struct QueryPlace {
    row: usize,
    /// The first column of its head.
    column: usize,
    /// The first token that it attends to, and the one after the last.
    seen: (usize, usize),
}

impl HeadAttention<'_> {
    #[inline(always)]
    fn all_queries<S: Simd, T: CacheElement>(&self, simd: S) {
        let n = self.rows.len() * self.n_sharing;
        for first in (0..n).step_by(BLOCK) {
            self.block::<S, T>(simd, first..n.min(first + BLOCK));
        }
    }

    /// The place of a query among the queries of its row's heads.
    #[inline(always)]
    fn place(&self, query: usize) -> QueryPlace {
        let (row, head) = (self.rows.start + query / self.n_sharing, query % self.n_sharing);
        let end = self.n_before + row + 1;
        let n_tokens = self.past.n_tokens();
        let seen = match self.mask {
            AttentionMask::Causal { window } => (end.saturating_sub(window), end),
            AttentionMask::TwoWay { window, n_after } => {
                (end.saturating_sub(window), end.saturating_add(n_after).min(n_tokens))
            }
            AttentionMask::Bidirectional => (0, n_tokens),
        };
        QueryPlace { row, column: (self.key_head * self.n_sharing + head) * self.past.shape().head_dim, seen }
    }

    /// The place of a query's outputs: the row, and its columns. One thread computes each.
    #[inline(always)]
    fn outputs(&self, place: QueryPlace) -> (usize, Range<usize>) {
        (self.first_out + place.row, place.column..place.column + self.past.shape().head_dim)
    }

    /// Computes up to `BLOCK` queries.
    #[inline(always)]
    fn block<S: Simd, T: CacheElement>(&self, simd: S, queries: Range<usize>) {
        let mut sums = [SoftmaxSums { largest: f32::NEG_INFINITY, weights: 0.0 }; BLOCK];
        let mut places = [QueryPlace { row: 0, column: 0, seen: (0, 0) }; BLOCK];
        let n = queries.len();
        for (place, query) in places.iter_mut().zip(queries) {
            *place = self.place(query);
        }
        let places = &places[..n];
        for (row, columns) in places.iter().map(|place| self.outputs(*place)) {
            // SAFETY: this thread alone computes the place, and the reference ends here.
            unsafe { self.out.part(row, columns) }.fill(0.0);
        }
        for page in pages(places) {
            let mut first = 0;
            while first < n {
                let (places, sums) = (&places[first..], &mut sums[first..]);
                // Only the first queries prefetch; the others find in the cache what they read.
                let page = (page, first == 0);
                first += match places.len() {
                    8.. if S::HAS_MANY_REGISTERS => self.some_queries::<S, T, 8>(simd, page, places, sums),
                    // One vector of keys at a time leaves registers for six queries. Six and then two would take longer.
                    6.. if !S::HAS_MANY_REGISTERS && places.len() != 8 => {
                        self.some_queries::<S, T, 6>(simd, page, places, sums)
                    }
                    4.. => self.some_queries::<S, T, 4>(simd, page, places, sums),
                    2.. => self.some_queries::<S, T, 2>(simd, page, places, sums),
                    _ => self.some_queries::<S, T, 1>(simd, page, places, sums),
                };
            }
        }
        for ((row, columns), sums) in places.iter().map(|place| self.outputs(*place)).zip(sums) {
            // SAFETY: as above.
            unsafe { self.out.part(row, columns) }.iter_mut().for_each(|x| *x /= sums.weights);
        }
    }

    /// Adds a page to the sums of the first `Q` queries; returns `Q`.
    #[inline(always)]
    fn some_queries<S: Simd, T: CacheElement, const Q: usize>(
        &self,
        simd: S,
        (page, prefetches): (usize, bool),
        places: &[QueryPlace],
        sums: &mut [SoftmaxSums],
    ) -> usize {
        simd.run(SomeQueries::<T, Q> { step: self, page, prefetches, places, sums, element: PhantomData });
        Q
    }
}

/// The first `Q` queries and a page, which is added to their sums. This is compiled as a function for each number of queries: all of
/// them in one function would leave fewer registers to each inner loop.
struct SomeQueries<'a, T, const Q: usize> {
    step: &'a HeadAttention<'a>,
    page: usize,
    prefetches: bool,
    places: &'a [QueryPlace],
    sums: &'a mut [SoftmaxSums],
    element: PhantomData<T>,
}

impl<T: CacheElement, const Q: usize> Work for SomeQueries<'_, T, Q> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (Some(places), Some(sums)) = (self.places.first_chunk::<Q>(), self.sums.first_chunk_mut::<Q>()) else {
            return;
        };
        let pages = pages(places);
        if !pages.contains(&self.page) {
            return;
        }
        let step = self.step;
        let shape = step.past.shape();
        let (head_dim, padded_dim, n_groups) = (shape.head_dim, shape.padded_dim(), shape.n_groups());
        let width = step.out.n_columns;
        let queries = places.map(|QueryPlace { row, column, .. }| &step.queries[row * width + column..][..head_dim]);
        let page = step.past.page::<T>(self.page);
        let n_tokens = (places[Q - 1].seen.1 - self.page * PAGE).min(PAGE);
        let keys = HeadRows {
            elements: part(&page.keys, step.key_head, head_dim).as_chunks().0,
            scales: part(&page.key_scales, step.key_head, if T::HAS_SCALE { n_groups } else { 0 }),
        };
        let values = HeadRows {
            elements: part(&page.values, step.key_head, padded_dim).as_chunks().0,
            scales: part(&page.value_scales, step.key_head, if T::HAS_SCALE { n_groups } else { 0 }),
        };
        // Prefetches the values while keys are read, and the next keys while values are read.
        let (mut soon, mut later) = (&[][..], &[][..]);
        if self.prefetches {
            soon = values.elements;
            prefetch_scales(simd, values.scales);
            if self.page + 1 < pages.end {
                let next = step.past.page::<T>(self.page + 1);
                later = part(&next.keys, step.key_head, head_dim).as_chunks().0;
                if T::HAS_SCALE {
                    prefetch_scales(simd, part(&next.key_scales, step.key_head, n_groups));
                }
            }
        }
        // Several vectors at once if there are registers: each addition waits for the one before it.
        let mut scores = [[0.0; PAGE]; Q];
        match (Q, S::HAS_MANY_REGISTERS) {
            (..=4, true) => put_scores::<S, T, Q, 4>(simd, keys, &queries, (n_tokens, soon), &mut scores),
            (..=2, false) | (_, true) => put_scores::<S, T, Q, 2>(simd, keys, &queries, (n_tokens, soon), &mut scores),
            _ => put_scores::<S, T, Q, 1>(simd, keys, &queries, (n_tokens, soon), &mut scores),
        }
        for (scores, place) in scores.iter_mut().zip(places) {
            hide(scores, place.seen, self.page * PAGE);
        }
        let shrinks = weigh(simd, &mut scores, sums, simd.splat(step.scale));
        let outputs = places.map(|place| step.outputs(place));
        // SAFETY: this thread alone computes the places, which differ, and the references end here.
        let mut out = outputs.map(|(row, columns)| unsafe { step.out.part(row, columns) });
        let n_dims = padded_dim / LANES;
        let mut dim = 0;
        while dim < n_dims {
            let place = (n_dims, dim, n_tokens);
            dim += match n_dims - dim {
                4.. if S::HAS_MANY_REGISTERS && Q <= 4 || Q == 1 => {
                    add_values::<S, T, Q, 4>(simd, values, place, &scores, shrinks, &mut out, later)
                }
                2.. if S::HAS_MANY_REGISTERS || Q <= 2 => {
                    add_values::<S, T, Q, 2>(simd, values, place, &scores, shrinks, &mut out, later)
                }
                _ => add_values::<S, T, Q, 1>(simd, values, place, &scores, shrinks, &mut out, later),
            };
        }
    }
}

/// The pages with tokens that some queries see; rows ascend.
#[inline(always)]
fn pages(places: &[QueryPlace]) -> Range<usize> {
    let (first, last) = (places.first(), places.last());
    first.map_or(0, |place| place.seen.0 / PAGE)..last.map_or(0, |place| place.seen.1.div_ceil(PAGE))
}
