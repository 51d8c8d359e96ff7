//! Root mean square normalisation (RMSNorm): `y = x / sqrt(mean(x²) + epsilon) * weight`, and LayerNorm, which also subtracts
//! the mean and adds a bias.

use crate::simd::{LANES, Simd, Work};

/// Normalises one row; overwrites `y`.
pub(crate) struct Norm<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) weight: &'a [f32],
    pub(crate) epsilon: f32,
    pub(crate) y: &'a mut [f32],
}

impl Work for Norm<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let scale = simd.splat(scale(simd, self.x, self.epsilon));
        let (x, x_rest) = self.x.as_chunks::<LANES>();
        let (weight, weight_rest) = self.weight.as_chunks::<LANES>();
        let (y, y_rest) = self.y.as_chunks_mut::<LANES>();
        for ((x, weight), y) in x.iter().zip(weight).zip(y) {
            simd.store(simd.mul(simd.mul(simd.load(x), scale), simd.load(weight)), y);
        }
        let rest = simd.mul(simd.mul(simd.load_first(x_rest, 0.0), scale), simd.load_first(weight_rest, 0.0));
        y_rest.iter_mut().zip(simd.to_array(rest)).for_each(|(y, value)| *y = value);
    }
}

/// Normalises one row around its mean; overwrites `y`.
pub(crate) struct LayerNorm<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) weight: &'a [f32],
    pub(crate) bias: &'a [f32],
    pub(crate) epsilon: f32,
    pub(crate) y: &'a mut [f32],
}

impl Work for LayerNorm<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let mean = sum(simd, self.x) / self.x.len() as f32;
        for (y, x) in self.y.iter_mut().zip(self.x) {
            *y = x - mean;
        }
        // From the differences: the mean of squares minus the square of the mean would cancel digits.
        let scale = scale(simd, self.y, self.epsilon);
        for ((y, weight), bias) in self.y.iter_mut().zip(self.weight).zip(self.bias) {
            *y = *y * scale * weight + bias;
        }
    }
}

/// Adds a row to `y`, normalised if there is a norm, times a factor.
pub(crate) struct AddRow<'a> {
    pub(crate) x: &'a [f32],
    /// The weight and the epsilon.
    pub(crate) norm: Option<(&'a [f32], f32)>,
    pub(crate) factor: f32,
    pub(crate) y: &'a mut [f32],
}

impl Work for AddRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.norm {
            Some((weight, epsilon)) => {
                let scale = scale(simd, self.x, epsilon);
                for ((y, x), weight) in self.y.iter_mut().zip(self.x).zip(weight) {
                    *y += x * scale * weight * self.factor;
                }
            }
            None => self.y.iter_mut().zip(self.x).for_each(|(y, x)| *y += x * self.factor),
        }
    }
}

/// Normalises several heads of a row in place, each with the same weight.
pub(crate) struct HeadNorms<'a> {
    pub(crate) heads: &'a mut [f32],
    pub(crate) weight: &'a [f32],
    pub(crate) epsilon: f32,
}

impl Work for HeadNorms<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for head in self.heads.chunks_exact_mut(self.weight.len()) {
            let scale = scale(simd, head, self.epsilon);
            head.iter_mut().zip(self.weight).for_each(|(x, weight)| *x = *x * scale * weight);
        }
    }
}

#[inline(always)]
pub(crate) fn scale<S: Simd>(simd: S, x: &[f32], epsilon: f32) -> f32 {
    1.0 / (sum_of_squares(simd, x) / x.len() as f32 + epsilon).sqrt()
}

#[inline(always)]
fn sum<S: Simd>(simd: S, x: &[f32]) -> f32 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut total = simd.load_first(rest, 0.0);
    for chunk in chunks {
        total = simd.add(total, simd.load(chunk));
    }
    simd.sum(total)
}

#[inline(always)]
pub(crate) fn sum_of_squares<S: Simd>(simd: S, x: &[f32]) -> f32 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut squares = simd.splat(0.0);
    for chunk in chunks {
        let x = simd.load(chunk);
        squares = simd.mul_add(x, x, squares);
    }
    let rest = simd.load_first(rest, 0.0);
    simd.sum(simd.mul_add(rest, rest, squares))
}
