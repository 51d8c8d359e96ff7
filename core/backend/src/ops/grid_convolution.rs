//! The gated convolution over a grid of patches: each channel mixes a square of neighbours.
//!
//! A row is `[B; C; X]`; with `u = B * X`, and zeros beyond the edges: `y = C * Σ tap * u` over the square around the patch.

use crate::simd::{LANES, Simd, Work};

/// Rows of a grid, row by row, and the kernels of a convolution over it.
#[derive(Clone, Copy)]
pub struct PatchGrid<'a> {
    /// `(rows * columns, 3 * hidden)`
    pub projected: &'a [f32],
    /// Columns of the grid.
    pub n_columns: usize,
    /// Elements of the kernels, `(side * side, hidden)`, row by row.
    pub taps: &'a [f32],
    /// The side of a kernel, which is odd.
    pub side: usize,
    /// Channels.
    pub hidden: usize,
}

/// Computes one patch; overwrites `y`.
pub(crate) struct GridConvolution<'a> {
    pub(crate) grid: PatchGrid<'a>,
    pub(crate) patch: usize,
    pub(crate) y: &'a mut [f32],
}

impl PatchGrid<'_> {
    /// The neighbours of a patch that lie in the grid, with the index of their tap.
    #[inline(always)]
    fn neighbours(&self, patch: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let PatchGrid { n_columns, side, hidden, .. } = *self;
        let n_rows = self.projected.len() / (3 * hidden) / n_columns;
        let (row, column, reach) = (patch / n_columns, patch % n_columns, side / 2);
        let axis = move |at: usize, end: usize| at.saturating_sub(reach)..end.min(at + reach + 1);
        axis(row, n_rows).flat_map(move |y| {
            axis(column, n_columns).map(move |x| ((y + reach - row) * side + x + reach - column, y * n_columns + x))
        })
    }
}

impl Work for GridConvolution<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let hidden = self.grid.hidden;
        let part = |patch: usize, part: usize, at: usize| {
            &self.grid.projected[(3 * patch + part) * hidden + at..][..LANES.min(hidden - at)]
        };
        let load = |from: &[f32]| match <&[f32; LANES]>::try_from(from) {
            Ok(from) => simd.load(from),
            Err(_) => simd.load_first(from, 0.0),
        };
        for at in (0..hidden).step_by(LANES) {
            let n = LANES.min(hidden - at);
            let mut sum = simd.splat(0.0);
            for (tap, neighbour) in self.grid.neighbours(self.patch) {
                let input = simd.mul(load(part(neighbour, 0, at)), load(part(neighbour, 2, at)));
                sum = simd.mul_add(input, load(&self.grid.taps[tap * hidden + at..][..n]), sum);
            }
            let y = simd.to_array(simd.mul(load(part(self.patch, 1, at)), sum));
            self.y[at..][..n].copy_from_slice(&y[..n]);
        }
    }
}
