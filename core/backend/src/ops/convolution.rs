//! The gated short convolution: each channel mixes its last few inputs, or some on both sides.
//!
//! A row is `[B; C; X]`; with `u = B * X`: `y_t = C_t * (bias + Σ_k tap_k * u_(t + n_after - window + 1 + k))`.

use crate::simd::{LANES, Simd, Work};

/// Computes one row of a sequence; overwrites `y`.
pub(crate) struct Convolution<'a> {
    /// The sequence's rows of this step, `(rows, 3 * hidden)`.
    pub(crate) projected: &'a [f32],
    /// The row to compute.
    pub(crate) row: usize,
    /// Inputs before the step, oldest first: `(window - 1, hidden)`.
    pub(crate) past: &'a [f32],
    /// Inputs after a row that it mixes. Beyond the last row they are zeros.
    pub(crate) n_after: usize,
    /// `(window, hidden)`, oldest first.
    pub(crate) taps: &'a [f32],
    /// `(hidden)`
    pub(crate) bias: Option<&'a [f32]>,
    pub(crate) y: &'a mut [f32],
}

impl Work for Convolution<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let hidden = self.y.len();
        let (window, n_rows) = (self.taps.len() / hidden, self.projected.len() / (3 * hidden));
        let n_past = window - 1 - self.n_after;
        let part = |row: usize, part: usize, at: usize| {
            &self.projected[(3 * row + part) * hidden + at..][..LANES.min(hidden - at)]
        };
        let load = |from: &[f32]| match <&[f32; LANES]>::try_from(from) {
            Ok(from) => simd.load(from),
            Err(_) => simd.load_first(from, 0.0),
        };
        for at in (0..hidden).step_by(LANES) {
            let n = LANES.min(hidden - at);
            let mut sum = self.bias.map_or(simd.splat(0.0), |bias| load(&bias[at..][..n]));
            for tap in 0..window {
                let input = match (self.row + tap).checked_sub(n_past) {
                    Some(row) if row < n_rows => simd.mul(load(part(row, 0, at)), load(part(row, 2, at))),
                    Some(_) => simd.splat(0.0),
                    None => load(&self.past[(self.row + tap + self.n_after) * hidden + at..][..n]),
                };
                sum = simd.mul_add(input, load(&self.taps[tap * hidden + at..][..n]), sum);
            }
            let y = simd.to_array(simd.mul(load(part(self.row, 1, at)), sum));
            self.y[at..][..n].copy_from_slice(&y[..n]);
        }
    }
}

/// Moves the last inputs of a step into `past`, `(window - 1, width)`; a step may be shorter than that. `read` writes the
/// input of a row of the step.
pub(crate) fn advance(past: &mut [f32], width: usize, n_rows: usize, read: impl Fn(usize, &mut [f32])) {
    let n_past = past.len() / width;
    let n_kept = n_past.saturating_sub(n_rows);
    past.copy_within((n_past - n_kept) * width.., 0);
    for (row, past) in (n_rows - (n_past - n_kept)..n_rows).zip(past[n_kept * width..].chunks_exact_mut(width)) {
        read(row, past);
    }
}
