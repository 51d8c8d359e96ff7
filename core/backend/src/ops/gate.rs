//! The gate of feed-forward blocks: `y = f(gate) * up`, where `f` is SiLU, `x / (1 + e^-x)`, or the approximation of GELU by the
//! hyperbolic tangent, `x / (1 + e^(-2u))` with `u = √(2/π) (x + 0.044715 x³)`.

use crate::simd::{LANES, Simd, Work};

/// The function of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateFunction {
    /// SiLU.
    Silu,
    /// GELU, approximated by the hyperbolic tangent.
    GeluTanh,
}

/// Gates one row; overwrites `y`.
pub(crate) struct Gate<'a> {
    pub(crate) function: GateFunction,
    pub(crate) gate: &'a [f32],
    pub(crate) up: &'a [f32],
    pub(crate) y: &'a mut [f32],
}

impl Work for Gate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.function {
            GateFunction::Silu => self.row(simd, silu_exponent),
            GateFunction::GeluTanh => self.row(simd, gelu_exponent),
        }
    }
}

impl Gate<'_> {
    /// `exponent` is that of e in the function's denominator.
    #[inline(always)]
    fn row<S: Simd>(self, simd: S, exponent: impl Fn(S, S::Floats) -> S::Floats) {
        let (gate, gate_rest) = self.gate.as_chunks::<LANES>();
        let (up, up_rest) = self.up.as_chunks::<LANES>();
        let (y, y_rest) = self.y.as_chunks_mut::<LANES>();
        for ((gate, up), y) in gate.iter().zip(up).zip(y) {
            let gate = simd.load(gate);
            simd.store(gated(simd, gate, exponent(simd, gate), simd.load(up)), y);
        }
        let gate = simd.load_first(gate_rest, 0.0);
        let rest = gated(simd, gate, exponent(simd, gate), simd.load_first(up_rest, 0.0));
        y_rest.iter_mut().zip(simd.to_array(rest)).for_each(|(y, value)| *y = value);
    }
}

/// Replaces values by their sigmoid, `1 / (1 + e^-x)`.
pub(crate) struct Sigmoid<'a>(pub(crate) &'a mut [f32]);

impl Work for Sigmoid<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let one = simd.splat(1.0);
        let (vectors, rest) = self.0.as_chunks_mut::<LANES>();
        for vector in vectors {
            let x = simd.load(vector);
            simd.store(gated(simd, one, silu_exponent(simd, x), one), vector);
        }
        let x = simd.load_first(rest, 0.0);
        let last = simd.to_array(gated(simd, one, silu_exponent(simd, x), one));
        rest.iter_mut().zip(last).for_each(|(x, value)| *x = value);
    }
}

/// `x / (1 + e^-x)`
#[inline(always)]
pub(crate) fn silu<S: Simd>(simd: S, x: S::Floats) -> S::Floats {
    gated(simd, x, silu_exponent(simd, x), simd.splat(1.0))
}

/// `x / (1 + e^exponent) * up`
#[inline(always)]
fn gated<S: Simd>(simd: S, x: S::Floats, exponent: S::Floats, up: S::Floats) -> S::Floats {
    simd.mul(simd.div(x, simd.add(simd.splat(1.0), simd.exp(exponent))), up)
}

#[inline(always)]
fn silu_exponent<S: Simd>(simd: S, x: S::Floats) -> S::Floats {
    simd.sub(simd.splat(0.0), x)
}

#[inline(always)]
fn gelu_exponent<S: Simd>(simd: S, x: S::Floats) -> S::Floats {
    /// -2 √(2/π)
    const FACTOR: f32 = -1.595_769;
    let inner = simd.mul_add(simd.mul(x, x), simd.splat(0.044_715 * FACTOR), simd.splat(FACTOR));
    simd.mul(x, inner)
}
