//! Attention over pages of keys and values.
//!
//! Each query of each head is computed page by page: its scores; the largest score, to which earlier sums are rescaled; the
//! weights `e^(score - largest)`; and the sum of the values by these weights, token by token. Pages begin at fixed
//! positions, so the order of operations is the same for a single query and for one among many. Queries that share a key
//! head process a page together, to read it once.

use std::marker::PhantomData;
use std::ops::Range;

use crate::grid::Grid;
use crate::pages::{CacheElement, CacheType, GROUP, KeyValues, PAGE};
use crate::simd::{LANES, Simd, Work};

/// Queries that read a page together, while it is in the second-level cache; a multiple of all numbers of queries that are
/// computed at once.
pub(crate) const BLOCK: usize = 48;
/// Elements or tokens that are computed without checks of indices between them.
const STEP: usize = 8;
/// Bytes of a cache line.
const LINE: usize = 64;

/// Repeats a block for each number below a constant, which is at most 8. Arrays of vectors stay in registers only if all their
/// indices are constants, and whether a compiler unrolls a loop depends on more than its function: on the optimisation of the
/// program that it is linked into, for one.
macro_rules! unrolled {
    ($n:expr, $at:ident, $block:block) => {
        unrolled!($n, $at, $block, 0 1 2 3 4 5 6 7)
    };
    ($n:expr, $at:ident, $block:block, $($number:literal)*) => {
        {
            $(if $number < $n {
                const $at: usize = $number;
                $block
            })*
        }
    };
}

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

/// The keys or the values of one head in a page.
#[derive(Clone, Copy)]
struct HeadRows<'a, T> {
    elements: &'a [[T; LANES]],
    /// Empty if the elements have no scale.
    scales: &'a [f32],
}

/// One head's part of a page's elements; each token has `width` of them.
#[inline(always)]
fn part<T>(elements: &[T], head: usize, width: usize) -> &[T] {
    &elements[head * PAGE * width..][..PAGE * width]
}

/// The running softmax of a query.
#[derive(Clone, Copy)]
struct SoftmaxSums {
    largest: f32,
    weights: f32,
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

/// Computes the products of queries and the keys of a page.
#[inline(always)]
fn put_scores<S: Simd, T: CacheElement, const Q: usize, const V: usize>(
    simd: S,
    keys: HeadRows<'_, T>,
    queries: &[&[f32]; Q],
    (n_tokens, soon): (usize, &[[T; LANES]]),
    scores: &mut [[f32; PAGE]; Q],
) {
    let head_dim = queries[0].len();
    let (scales, _) = keys.scales.as_chunks::<LANES>();
    for vector in (0..n_tokens.div_ceil(LANES)).step_by(V) {
        let mut rows = [keys.elements; V];
        unrolled!(V, AT, { rows[AT] = &keys.elements[(vector + AT) * head_dim..][..head_dim] });
        let mut sums = [[simd.splat(0.0); V]; Q];
        let mut scale = [simd.splat(1.0); V];
        for first in (0..head_dim).step_by(STEP) {
            if T::HAS_SCALE && first % GROUP == 0 {
                unrolled!(V, AT, {
                    scale[AT] = simd.load(&scales[(vector + AT) * head_dim.div_ceil(GROUP) + first / GROUP]);
                });
            }
            for at in 0..V {
                prefetch(simd, soon, (vector + at) * head_dim + first);
            }
            let (mut dim_keys, mut dim_x) = ([&rows[0][first]; V], [0.0; Q]);
            if first + STEP <= head_dim {
                // Arrays, so that no index is checked.
                let (mut key_steps, mut x_steps) =
                    ([&rows[0].as_chunks::<STEP>().0[first / STEP]; V], [&[0.0; STEP]; Q]);
                unrolled!(V, AT, { key_steps[AT] = &rows[AT].as_chunks::<STEP>().0[first / STEP] });
                unrolled!(Q, AT, { x_steps[AT] = &queries[AT].as_chunks::<STEP>().0[first / STEP] });
                unrolled!(STEP, DIM, {
                    unrolled!(V, AT, { dim_keys[AT] = &key_steps[AT][DIM] });
                    unrolled!(Q, AT, { dim_x[AT] = x_steps[AT][DIM] });
                    add_keys(simd, (dim_keys, scale), dim_x, &mut sums);
                });
            } else {
                for dim in first..head_dim {
                    unrolled!(V, AT, { dim_keys[AT] = &rows[AT][dim] });
                    unrolled!(Q, AT, { dim_x[AT] = queries[AT][dim] });
                    add_keys(simd, (dim_keys, scale), dim_x, &mut sums);
                }
            }
        }
        unrolled!(Q, AT, {
            let to = &mut scores[AT].as_chunks_mut::<LANES>().0[vector..][..V];
            unrolled!(V, VECTOR, { simd.store(sums[AT][VECTOR], &mut to[VECTOR]) });
        });
    }
}

/// Adds the products of a dimension of `V` vectors of keys and of `Q` queries.
#[inline(always)]
fn add_keys<S: Simd, T: CacheElement, const Q: usize, const V: usize>(
    simd: S,
    (keys, scale): ([&[T; LANES]; V], [S::Floats; V]),
    x: [f32; Q],
    sums: &mut [[S::Floats; V]; Q],
) {
    let mut key = [simd.splat(0.0); V];
    unrolled!(V, VECTOR, {
        key[VECTOR] = T::load(simd, keys[VECTOR]);
        if T::HAS_SCALE {
            key[VECTOR] = simd.mul(key[VECTOR], scale[VECTOR]);
        }
    });
    unrolled!(Q, AT, {
        let x = simd.splat(x[AT]);
        unrolled!(V, VECTOR, { sums[AT][VECTOR] = simd.mul_add(key[VECTOR], x, sums[AT][VECTOR]) });
    });
}

/// Prefetches `STEP` vectors from an index on.
#[inline(always)]
fn prefetch<S: Simd, T>(simd: S, soon: &[[T; LANES]], first: usize) {
    for vector in soon.iter().skip(first).take(STEP).step_by((LINE / size_of::<[T; LANES]>()).max(1)) {
        simd.prefetch_far(vector);
    }
}

/// Prefetches the scales of a head's part of a page.
#[inline(always)]
fn prefetch_scales<S: Simd>(simd: S, scales: &[f32]) {
    for line in scales.chunks(LINE / size_of::<f32>()) {
        simd.prefetch_far(line.as_ptr());
    }
}

/// Sets the scores to minus infinity of tokens that a query does not attend to.
#[inline(always)]
fn hide(scores: &mut [f32; PAGE], seen: (usize, usize), first: usize) {
    if seen.0 <= first && first + PAGE <= seen.1 {
        return;
    }
    let (start, end) = (seen.0.saturating_sub(first).min(PAGE), seen.1.saturating_sub(first).min(PAGE));
    scores[..start].fill(f32::NEG_INFINITY);
    scores[end.max(start)..].fill(f32::NEG_INFINITY);
}

/// Converts the scores of a page to weights. Returns the factors by which earlier sums shrink.
///
/// Each step is computed for all queries before the next, because the steps of one query wait for each other.
#[inline(always)]
fn weigh<S: Simd, const Q: usize>(
    simd: S,
    scores: &mut [[f32; PAGE]; Q],
    sums: &mut [SoftmaxSums; Q],
    scale: S::Floats,
) -> [f32; Q] {
    let mut largest = [f32::NEG_INFINITY; Q];
    for at in 0..Q {
        largest[at] = scale_scores(simd, &mut scores[at], scale).max(sums[at].largest);
    }
    for (scores, largest) in scores.iter_mut().zip(largest) {
        if largest == f32::NEG_INFINITY {
            scores.fill(0.0); // the query attends to no token of this page
            continue;
        }
        for vector in scores.as_chunks_mut::<LANES>().0 {
            let weights = simd.exp(simd.sub(simd.load(vector), simd.splat(largest)));
            simd.store(weights, vector);
        }
    }
    let mut shrinks = [1.0; Q];
    for at in 0..Q {
        if largest[at] == f32::NEG_INFINITY {
            continue;
        }
        // Most pages leave the largest score as it is; e^0 is exactly 1.
        if sums[at].largest != largest[at] {
            shrinks[at] = simd.to_array(simd.exp(simd.splat(sums[at].largest - largest[at])))[0];
        }
        let mut total = simd.splat(0.0);
        for vector in scores[at].as_chunks::<LANES>().0 {
            total = simd.add(total, simd.load(vector));
        }
        let weights = simd.mul_add(simd.splat(sums[at].weights), simd.splat(shrinks[at]), simd.splat(simd.sum(total)));
        sums[at] = SoftmaxSums { largest: largest[at], weights: simd.to_array(weights)[0] };
    }
    shrinks
}

/// Multiplies the scores of a page by their factor; returns the largest.
#[inline(always)]
fn scale_scores<S: Simd>(simd: S, scores: &mut [f32; PAGE], scale: S::Floats) -> f32 {
    let mut largest = simd.splat(f32::NEG_INFINITY);
    for vector in scores.as_chunks_mut::<LANES>().0 {
        let scaled = simd.mul(simd.load(vector), scale);
        largest = simd.max(scaled, largest);
        simd.store(scaled, vector);
    }
    simd.largest(largest)
}

/// Adds a page's weighted values to `D` vectors of each query's sums, from the vector `dim` on; returns `D`.
#[inline(always)]
fn add_values<S: Simd, T: CacheElement, const Q: usize, const D: usize>(
    simd: S,
    values: HeadRows<'_, T>,
    (n_dims, dim, n_tokens): (usize, usize, usize),
    weights: &[[f32; PAGE]; Q],
    shrinks: [f32; Q],
    out: &mut [&mut [f32]; Q],
    soon: &[[T; LANES]],
) -> usize {
    let mut sums = [[simd.splat(0.0); D]; Q];
    unrolled!(Q, AT, {
        match out[AT].as_chunks::<LANES>().0.get(dim..dim + D) {
            Some(vectors) => unrolled!(D, OFFSET, {
                sums[AT][OFFSET] = simd.mul(simd.load(&vectors[OFFSET]), simd.splat(shrinks[AT]));
            }),
            None => sums[AT] = load_partial(simd, &out[AT][dim * LANES..], shrinks[AT]),
        }
    });
    // If there are several vectors, the first one begins a group.
    let (n_groups, group) = (values.scales.len() / PAGE, dim * LANES / GROUP);
    for (token, row) in values.elements.chunks_exact(n_dims).take(n_tokens).enumerate() {
        let row = &row[dim..][..D];
        if token.is_multiple_of(STEP) {
            for offset in 0..D {
                prefetch(simd, soon, token * n_dims + (dim + offset) * STEP);
            }
        }
        let scales =
            if T::HAS_SCALE { &values.scales[token * n_groups + group..][..(D * LANES).div_ceil(GROUP)] } else { &[] };
        let mut value = [simd.splat(0.0); D];
        unrolled!(D, OFFSET, {
            value[OFFSET] = T::load(simd, &row[OFFSET]);
            if T::HAS_SCALE {
                value[OFFSET] = simd.mul(value[OFFSET], simd.splat(scales[OFFSET * LANES / GROUP]));
            }
        });
        unrolled!(Q, AT, {
            let weight = simd.splat(weights[AT][token]);
            unrolled!(D, OFFSET, { sums[AT][OFFSET] = simd.mul_add(value[OFFSET], weight, sums[AT][OFFSET]) });
        });
    }
    unrolled!(Q, AT, {
        match out[AT].as_chunks_mut::<LANES>().0.get_mut(dim..dim + D) {
            Some(vectors) => unrolled!(D, OFFSET, { simd.store(sums[AT][OFFSET], &mut vectors[OFFSET]) }),
            None => store_partial(simd, sums[AT], &mut out[AT][dim * LANES..]),
        }
    });
    D
}

/// Loads the sums of a head whose last vector is not full, and shrinks them.
#[inline(always)]
fn load_partial<S: Simd, const D: usize>(simd: S, from: &[f32], shrink: f32) -> [S::Floats; D] {
    let mut sums = [simd.splat(0.0); D];
    for offset in 0..D {
        sums[offset] = simd.mul(simd.load_first(&from[offset * LANES..], 0.0), simd.splat(shrink));
    }
    sums
}

/// Stores the sums of a head whose last vector is not full.
#[inline(always)]
fn store_partial<S: Simd, const D: usize>(simd: S, sums: [S::Floats; D], to: &mut [f32]) {
    for offset in 0..D {
        simd.store_first(sums[offset], &mut to[offset * LANES..]);
    }
}
