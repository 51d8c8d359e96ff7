//! The gate of feed-forward blocks: `y = gate / (1 + e^-gate) * up`.

use crate::simd::{LANES, Simd, Work};

/// Gates one row; overwrites `y`.
pub(crate) struct Gate<'a> {
    pub(crate) gate: &'a [f32],
    pub(crate) up: &'a [f32],
    pub(crate) y: &'a mut [f32],
}

impl Work for Gate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (gate, gate_rest) = self.gate.as_chunks::<LANES>();
        let (up, up_rest) = self.up.as_chunks::<LANES>();
        let (y, y_rest) = self.y.as_chunks_mut::<LANES>();
        for ((gate, up), y) in gate.iter().zip(up).zip(y) {
            simd.store(gated(simd, simd.load(gate), simd.load(up)), y);
        }
        let rest = gated(simd, simd.load_first(gate_rest, 0.0), simd.load_first(up_rest, 0.0));
        y_rest.iter_mut().zip(simd.to_array(rest)).for_each(|(y, value)| *y = value);
    }
}

#[inline(always)]
fn gated<S: Simd>(simd: S, gate: S::Floats, up: S::Floats) -> S::Floats {
    let power = simd.exp(simd.sub(simd.splat(0.0), gate));
    simd.mul(simd.div(gate, simd.add(simd.splat(1.0), power)), up)
}
