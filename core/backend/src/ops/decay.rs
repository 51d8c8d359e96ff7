//! The decays of delta nets: `exp(log_decay * ln(1 + e^x))`. All steps are of f32, in an order that GPUs compute alike.

use crate::simd::{LANES, Simd, Work};

/// Beyond this distance from 0, `ln(1 + e^x)` is taken to be as far from `max(x, 0)` as here: by 1e-13.
const MAX_DISTANCE: f32 = 30.0;

/// Replaces a row by decays, of `row + bias`. All have the same size.
pub(crate) struct Decays<'a> {
    pub(crate) row: &'a mut [f32],
    pub(crate) log_decays: &'a [f32],
    pub(crate) bias: &'a [f32],
}

impl Work for Decays<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let others = self.log_decays.chunks(LANES).zip(self.bias.chunks(LANES));
        for (row, (log_decays, bias)) in self.row.chunks_mut(LANES).zip(others) {
            let x = simd.add(simd.load_first(row, 0.0), simd.load_first(bias, 0.0));
            let exponent = simd.mul(simd.load_first(log_decays, 0.0), softplus(simd, x));
            simd.store_first(simd.exp(exponent), row);
        }
    }
}

/// `ln(1 + e^x) = max(x, 0) + ln(1 + t)` with `t = e^-|x|`, and `ln(1 + t) = 2 artanh(t / (2 + t))`, by its series up to the seventeenth
/// power. No step falls below the normal range.
#[inline(always)]
fn softplus<S: Simd>(simd: S, x: S::Floats) -> S::Floats {
    let zero = simd.splat(0.0);
    let distance = simd.min(simd.max(x, simd.sub(zero, x)), simd.splat(MAX_DISTANCE));
    let t = simd.exp(simd.sub(zero, distance));
    let z = simd.div(t, simd.add(simd.splat(2.0), t));
    let square = simd.mul(z, z);
    let mut series = simd.splat(1.0 / 17.0);
    for factor in [1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0] {
        series = simd.mul_add(series, square, simd.splat(factor));
    }
    simd.add(simd.max(x, zero), simd.mul(simd.add(z, z), series))
}
