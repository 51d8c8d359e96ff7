//! Sums and roundings in a form that compilers vectorise.

/// Sums that are kept apart, so that adding needs no order.
const LANES: usize = 8;

/// The sum of a function of each element and its place.
pub(super) fn sum<const N: usize>(term: impl Fn(usize) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    for start in (0..N).step_by(LANES) {
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum += term(start + lane);
        }
    }
    lanes.iter().sum()
}

/// The nearest integer, ties to even, of a value between -2^22 and 2^22.
pub(super) fn nearest(value: f32) -> f32 {
    const WHOLE: f32 = 12_582_912.0; // 1.5 * 2^23: floats of this size are integers
    (value + WHOLE) - WHOLE
}
