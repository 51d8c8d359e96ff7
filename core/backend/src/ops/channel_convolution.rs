//! Depthwise convolutions over a grid: each channel mixes its own neighbours. Over time alone, the grid has one column.
//!
//! `y = bias + Σ tap * x` over the places of the kernel, row by row; places beyond the edges are zeros.

use crate::simd::{LANES, Simd, Work};

/// Rows of a grid, and the kernels of a depthwise convolution over it.
#[derive(Clone, Copy)]
pub struct ChannelGrid<'a> {
    /// `(grid rows * columns, channels)`: all grid rows that the outputs need, or all that there are.
    pub values: &'a [f32],
    /// The grid row that `values` begins with.
    pub first_row: usize,
    /// Columns of the grid.
    pub n_columns: usize,
    /// Channels.
    pub n_channels: usize,
    /// Elements of the kernels, `(rows * columns, channels)`.
    pub taps: &'a [f32],
    /// `(channels)`
    pub bias: Option<&'a [f32]>,
    /// Rows and columns of a kernel.
    pub kernel: (usize, usize),
    /// Rows and columns of a kernel before the place of its output.
    pub before: (usize, usize),
    /// Distance of outputs, in rows and in columns.
    pub stride: usize,
}

/// Computes one output; overwrites `y`.
pub(crate) struct ChannelConvolution<'a> {
    pub(crate) grid: ChannelGrid<'a>,
    /// The output's grid row and column.
    pub(crate) place: (usize, usize),
    pub(crate) y: &'a mut [f32],
}

impl ChannelGrid<'_> {
    /// Columns of the outputs.
    pub(crate) fn n_outputs(&self) -> usize {
        self.n_columns.div_ceil(self.stride)
    }

    /// The places of the kernel that lie in the grid, with the index of their tap.
    #[inline(always)]
    fn neighbours(&self, (row, column): (usize, usize)) -> impl Iterator<Item = (usize, usize)> + use<> {
        let Self { first_row, n_columns, kernel, before, stride, .. } = *self;
        let n_rows = self.values.len() / (n_columns * self.n_channels);
        // Indices of taps, from the first one whose place is in the grid to the last one.
        let axis = move |at: usize, before: usize, size: usize, (start, end): (usize, usize)| {
            let first = (start + before).saturating_sub(at * stride);
            first..size.min((end + before).saturating_sub(at * stride)).max(first)
        };
        let rows = axis(row, before.0, kernel.0, (first_row, first_row + n_rows));
        rows.flat_map(move |i| {
            axis(column, before.1, kernel.1, (0, n_columns)).map(move |j| {
                let (y, x) = (row * stride + i - before.0 - first_row, column * stride + j - before.1);
                (i * kernel.1 + j, y * n_columns + x)
            })
        })
    }
}

impl Work for ChannelConvolution<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let ChannelGrid { values, n_channels, taps, bias, .. } = self.grid;
        let load = |from: &[f32]| match <&[f32; LANES]>::try_from(from) {
            Ok(from) => simd.load(from),
            Err(_) => simd.load_first(from, 0.0),
        };
        for at in (0..n_channels).step_by(LANES) {
            let n = LANES.min(n_channels - at);
            let mut sum = match bias {
                Some(bias) => load(&bias[at..][..n]),
                None => simd.splat(0.0),
            };
            for (tap, neighbour) in self.grid.neighbours(self.place) {
                let input = load(&values[neighbour * n_channels + at..][..n]);
                sum = simd.mul_add(input, load(&taps[tap * n_channels + at..][..n]), sum);
            }
            self.y[at..][..n].copy_from_slice(&simd.to_array(sum)[..n]);
        }
    }
}
