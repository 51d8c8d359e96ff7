//! The operations that only encoders of sound need.

use std::ops::Range;

use crate::error::Result;
use crate::model::operations::Operations;
use crate::model::tower::TowerOperations;

/// A convolution of each channel over a grid of time and frequency, or over time if the grid has one column.
pub(crate) struct DepthwiseConvolution<'a, O: Operations> {
    /// `(grid rows * columns, channels)`: all grid rows that the outputs need, or all that there are.
    pub(crate) grid: &'a O::Rows,
    /// The grid row that `grid` begins with.
    pub(crate) first_row: usize,
    pub(crate) n_columns: usize,
    /// `(kernel rows * kernel columns, channels)`
    pub(crate) taps: &'a O::Vector,
    pub(crate) bias: Option<&'a O::Vector>,
    /// Rows and columns of a kernel.
    pub(crate) kernel: (usize, usize),
    /// Rows and columns of a kernel before the place of its output.
    pub(crate) before: (usize, usize),
    /// Distance of outputs, in rows and in columns.
    pub(crate) stride: usize,
}

/// Queries with all keys and values of a recording, whose scores depend on distances.
pub(crate) struct RelativeQueries<'a, O: Operations> {
    /// `(rows, heads * head_dim)`
    pub(crate) queries: &'a O::Rows,
    /// Index of the first query among the keys.
    pub(crate) first: usize,
    pub(crate) keys: &'a O::Rows,
    pub(crate) values: &'a O::Rows,
    /// Rows for the distances from `n_before` keys before a query to `n_after` keys after it.
    pub(crate) distances: &'a O::Rows,
    pub(crate) n_before: usize,
    pub(crate) n_after: usize,
    /// Added to queries when they are multiplied with keys, and when they are multiplied with distances.
    pub(crate) biases: [&'a O::Vector; 2],
    /// Factor of the scores.
    pub(crate) scale: f32,
    /// If given, scaled scores are bounded: `bound * tanh(score / bound)`.
    pub(crate) bound: Option<f32>,
}

/// Kernels over a grid of time and frequency, whose places are to be joined to rows.
pub(crate) struct UnfoldedGrid<'a, O: Operations> {
    /// `(grid rows * columns, channels)`: all grid rows that the outputs need, or all that there are.
    pub(crate) grid: &'a O::Rows,
    /// The grid row that `grid` begins with.
    pub(crate) first_row: usize,
    pub(crate) n_columns: usize,
    /// Rows and columns of a kernel.
    pub(crate) kernel: (usize, usize),
    /// Rows and columns of a kernel before the place of its output.
    pub(crate) before: (usize, usize),
    /// Distance of outputs, in rows and in columns.
    pub(crate) stride: (usize, usize),
}

pub(crate) trait SoundOperations: TowerOperations {
    /// Replaces negative values by 0.
    fn rectify(&self, rows: &mut Self::Rows) -> Result<()>;

    /// `first * sigmoid(second)` of the two halves of rows.
    fn gate_halves(&self, pairs: &Self::Rows, gated: &mut Self::Rows) -> Result<()>;

    /// The convolution of some grid rows of outputs, `(grid rows * columns of outputs, channels)`. Places beyond the edges are
    /// zeros.
    fn convolve_channels(
        &self,
        convolution: DepthwiseConvolution<'_, Self>,
        rows: Range<usize>,
        convolved: &mut Self::Rows,
    ) -> Result<()>;

    /// The places of the kernels of some grid rows of outputs, `(grid rows * columns of outputs, kernel rows * kernel columns *
    /// channels)`. Places beyond the edges are zeros.
    fn unfold(&self, grid: UnfoldedGrid<'_, Self>, rows: Range<usize>, unfolded: &mut Self::Rows) -> Result<()>;

    /// Joins the columns of each grid row to one row, by channel and column.
    fn join_columns(&self, grid: &Self::Rows, n_columns: usize, joined: &mut Self::Rows) -> Result<()>;

    /// Attention with scores `scale * ((query + bias) · key + (query + bias) · distance)`.
    fn relative_attention(
        &self,
        queries: RelativeQueries<'_, Self>,
        n_heads: usize,
        mixed: &mut Self::Rows,
    ) -> Result<()>;
}
