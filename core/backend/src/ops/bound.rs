//! Bounds of logits: `c * tanh(x / c)`, computed as `c - 2 c / (e^(2 x / c) + 1)`.

use crate::simd::{LANES, Simd, Work};

/// Bounds values in place.
pub(crate) struct Bound<'a> {
    pub(crate) values: &'a mut [f32],
    pub(crate) bound: f32,
}

impl Work for Bound<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (vectors, rest) = self.values.as_chunks_mut::<LANES>();
        for vector in vectors {
            let bounded = bounded(simd, simd.load(vector), self.bound);
            simd.store(bounded, vector);
        }
        let bounded = bounded(simd, simd.load_first(rest, 0.0), self.bound);
        rest.iter_mut().zip(simd.to_array(bounded)).for_each(|(x, value)| *x = value);
    }
}

#[inline(always)]
pub(crate) fn bounded<S: Simd>(simd: S, x: S::Floats, bound: f32) -> S::Floats {
    let power = simd.exp(simd.mul(x, simd.splat(2.0 / bound)));
    let below = simd.div(simd.splat(2.0 * bound), simd.add(power, simd.splat(1.0)));
    simd.sub(simd.splat(bound), below)
}
