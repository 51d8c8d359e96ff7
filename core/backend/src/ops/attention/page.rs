//! What is computed with one page of keys and values: scores, weights, and sums of values by them.

use crate::pages::{CacheElement, GROUP, PAGE};
use crate::simd::{LANES, Simd};

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

/// The keys or the values of one head in a page.
#[derive(Clone, Copy)]
pub(super) struct HeadRows<'a, T> {
    pub(super) elements: &'a [[T; LANES]],
    /// Empty if the elements have no scale.
    pub(super) scales: &'a [f32],
}

/// The running softmax of a query.
#[derive(Clone, Copy)]
pub(super) struct SoftmaxSums {
    pub(super) largest: f32,
    pub(super) weights: f32,
}

/// Computes the products of queries and the keys of a page.
#[inline(always)]
pub(super) fn put_scores<S: Simd, T: CacheElement, const Q: usize, const V: usize>(
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
pub(super) fn prefetch_scales<S: Simd>(simd: S, scales: &[f32]) {
    for line in scales.chunks(LINE / size_of::<f32>()) {
        simd.prefetch_far(line.as_ptr());
    }
}

/// Sets the scores to minus infinity of tokens that a query does not attend to.
#[inline(always)]
pub(super) fn hide(scores: &mut [f32; PAGE], seen: (usize, usize), first: usize) {
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
pub(super) fn weigh<S: Simd, const Q: usize>(
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
pub(super) fn add_values<S: Simd, T: CacheElement, const Q: usize, const D: usize>(
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
