//! The gate of feed-forward blocks: `y = f(gate) * up`, where `f` is SiLU, `x / (1 + e^-x)`; GELU, `x (1 + erf(x / √2)) / 2`; or
//! the approximation of GELU by the hyperbolic tangent, `x / (1 + e^(-2u))` with `u = √(2/π) (x + 0.044715 x³)`; or the sigmoid.
//! Blocks without a gate have `y = f(x)`.

use crate::simd::{LANES, Simd, Work};

/// The function of a gate, or of a block without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateFunction {
    /// SiLU.
    Silu,
    /// GELU, by the error function.
    Gelu,
    /// GELU, approximated by the hyperbolic tangent.
    GeluTanh,
    /// The sigmoid, `1 / (1 + e^-x)`.
    Sigmoid,
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
            GateFunction::Silu => self.row::<S, Silu>(simd),
            GateFunction::Gelu => self.row::<S, Gelu>(simd),
            GateFunction::GeluTanh => self.row::<S, GeluTanh>(simd),
            GateFunction::Sigmoid => self.row::<S, Logistic>(simd),
        }
    }
}

impl Gate<'_> {
    #[inline(always)]
    fn row<S: Simd, C: Curve>(self, simd: S) {
        let (gate, gate_rest) = self.gate.as_chunks::<LANES>();
        let (up, up_rest) = self.up.as_chunks::<LANES>();
        let (y, y_rest) = self.y.as_chunks_mut::<LANES>();
        for ((gate, up), y) in gate.iter().zip(up).zip(y) {
            simd.store(simd.mul(C::of(simd, simd.load(gate)), simd.load(up)), y);
        }
        let rest = C::of(simd, simd.load_first(gate_rest, 0.0));
        let rest = simd.mul(rest, simd.load_first(up_rest, 0.0));
        y_rest.iter_mut().zip(simd.to_array(rest)).for_each(|(y, value)| *y = value);
    }
}

/// Applies the function to one row; overwrites `y`.
pub(crate) struct Activate<'a> {
    pub(crate) function: GateFunction,
    pub(crate) x: &'a [f32],
    pub(crate) y: &'a mut [f32],
}

impl Work for Activate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.function {
            GateFunction::Silu => self.row::<S, Silu>(simd),
            GateFunction::Gelu => self.row::<S, Gelu>(simd),
            GateFunction::GeluTanh => self.row::<S, GeluTanh>(simd),
            GateFunction::Sigmoid => self.row::<S, Logistic>(simd),
        }
    }
}

impl Activate<'_> {
    #[inline(always)]
    fn row<S: Simd, C: Curve>(self, simd: S) {
        let (x, x_rest) = self.x.as_chunks::<LANES>();
        let (y, y_rest) = self.y.as_chunks_mut::<LANES>();
        for (x, y) in x.iter().zip(y) {
            simd.store(C::of(simd, simd.load(x)), y);
        }
        let rest = C::of(simd, simd.load_first(x_rest, 0.0));
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
            simd.store(fraction(simd, one, silu_exponent(simd, x)), vector);
        }
        let x = simd.load_first(rest, 0.0);
        let last = simd.to_array(fraction(simd, one, silu_exponent(simd, x)));
        rest.iter_mut().zip(last).for_each(|(x, value)| *x = value);
    }
}

/// The function of a gate. A trait, because a function that is passed as a value is not inlined; see [`Simd::run`].
pub(crate) trait Curve {
    fn of<S: Simd>(simd: S, x: S::Floats) -> S::Floats;
}

pub(crate) struct Silu;
struct Gelu;
struct GeluTanh;
struct Logistic;

/// `1 / (1 + e^-x)`
impl Curve for Logistic {
    #[inline(always)]
    fn of<S: Simd>(simd: S, x: S::Floats) -> S::Floats {
        fraction(simd, simd.splat(1.0), silu_exponent(simd, x))
    }
}

/// `x / (1 + e^-x)`
impl Curve for Silu {
    #[inline(always)]
    fn of<S: Simd>(simd: S, x: S::Floats) -> S::Floats {
        fraction(simd, x, silu_exponent(simd, x))
    }
}

#[inline(always)]
fn silu_exponent<S: Simd>(simd: S, x: S::Floats) -> S::Floats {
    simd.sub(simd.splat(0.0), x)
}

/// `x / (1 + e^(-2u))`; see the head of this file.
impl Curve for GeluTanh {
    #[inline(always)]
    fn of<S: Simd>(simd: S, x: S::Floats) -> S::Floats {
        /// -2 √(2/π)
        const FACTOR: f32 = -1.595_769;
        let inner = simd.mul_add(simd.mul(x, x), simd.splat(0.044_715 * FACTOR), simd.splat(FACTOR));
        fraction(simd, x, simd.mul(x, inner))
    }
}

/// `(x + |x| erf(|x| / √2)) / 2`, with the error function to within 1.5e-7: Abramowitz and Stegun, 7.1.26.
impl Curve for Gelu {
    #[inline(always)]
    fn of<S: Simd>(simd: S, x: S::Floats) -> S::Floats {
        let magnitude = simd.max(x, simd.sub(simd.splat(0.0), x));
        let z = simd.mul(magnitude, simd.splat(std::f32::consts::FRAC_1_SQRT_2));
        let t = simd.div(simd.splat(1.0), simd.mul_add(z, simd.splat(0.327_591_1), simd.splat(1.0)));
        let mut series = simd.splat(1.061_405_4);
        for factor in [-1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6, 0.0] {
            series = simd.mul_add(series, t, simd.splat(factor));
        }
        let power = simd.exp(simd.sub(simd.splat(0.0), simd.mul(z, z)));
        let erf = simd.sub(simd.splat(1.0), simd.mul(series, power));
        simd.mul(simd.splat(0.5), simd.mul_add(magnitude, erf, x))
    }
}

/// `x / (1 + e^exponent)`
#[inline(always)]
fn fraction<S: Simd>(simd: S, x: S::Floats, exponent: S::Floats) -> S::Floats {
    simd.div(x, simd.add(simd.splat(1.0), simd.exp(exponent)))
}
