//! The operations of encoders of sound, with tensors.

use std::ops::Range;

use candle_core::{D, DType, Result as TensorResult, Tensor};
use candle_nn::ops::{sigmoid, softmax_last_dim};

use crate::error::Result;
use crate::model::candle::backend::Candle;
use crate::model::candle::rows::TensorRows;
use crate::model::hearing::{DepthwiseConvolution, RelativeQueries, SoundOperations, UnfoldedGrid};

impl SoundOperations for Candle {
    fn rectify(&self, rows: &mut TensorRows) -> Result<()> {
        rows.map(Tensor::relu)
    }

    fn gate_halves(&self, pairs: &TensorRows, gated: &mut TensorRows) -> Result<()> {
        gated.set(|| {
            let width = pairs.get()?.dim(1)? / 2;
            pairs.get()?.narrow(1, 0, width)? * sigmoid(&pairs.get()?.narrow(1, width, width)?.contiguous()?)?
        })
    }

    fn convolve_channels(
        &self,
        convolution: DepthwiseConvolution<'_, Self>,
        rows: Range<usize>,
        convolved: &mut TensorRows,
    ) -> Result<()> {
        convolved.set(|| convolve(&convolution, rows))
    }

    fn unfold(&self, grid: UnfoldedGrid<'_, Self>, rows: Range<usize>, unfolded: &mut TensorRows) -> Result<()> {
        unfolded.set(|| {
            let joined = Tensor::cat(&kernel_places(&grid, &rows)?, 2)?;
            joined.reshape((rows.len() * grid.n_columns.div_ceil(grid.stride.1), joined.dim(2)?))
        })
    }

    fn join_columns(&self, grid: &TensorRows, n_columns: usize, joined: &mut TensorRows) -> Result<()> {
        joined.set(|| {
            let (n_places, n_channels) = grid.get()?.dims2()?;
            let grid = grid.get()?.reshape((n_places / n_columns, n_columns, n_channels))?.transpose(1, 2)?;
            grid.contiguous()?.reshape((n_places / n_columns, n_channels * n_columns))
        })
    }

    fn relative_attention(
        &self,
        queries: RelativeQueries<'_, Self>,
        n_heads: usize,
        mixed: &mut TensorRows,
    ) -> Result<()> {
        mixed.set(|| attend(&queries, n_heads))
    }
}

/// Sums the places of the kernel one by one.
fn convolve(convolution: &DepthwiseConvolution<'_, Candle>, rows: Range<usize>) -> TensorResult<Tensor> {
    let DepthwiseConvolution { grid, first_row, n_columns, taps, bias, kernel, before, stride } = *convolution;
    let n_channels = grid.get()?.dim(1)?;
    let n_outputs = n_columns.div_ceil(stride);
    let places = UnfoldedGrid { grid, first_row, n_columns, kernel, before, stride: (stride, stride) };
    let mut sum = Tensor::zeros((rows.len(), n_outputs, n_channels), grid.get()?.dtype(), grid.get()?.device())?;
    if let Some(bias) = bias {
        sum = sum.broadcast_add(bias)?;
    }
    for (place, inputs) in kernel_places(&places, &rows)?.into_iter().enumerate() {
        sum = (sum + inputs.broadcast_mul(&taps.narrow(0, place * n_channels, n_channels)?)?)?;
    }
    sum.reshape((rows.len() * n_outputs, n_channels))
}

/// What each place of a kernel reads for some grid rows of outputs, `(rows, columns, channels)`, over a grid with zeros around it.
fn kernel_places(places: &UnfoldedGrid<'_, Candle>, rows: &Range<usize>) -> TensorResult<Vec<Tensor>> {
    let UnfoldedGrid { grid, first_row, n_columns, kernel, before, stride } = *places;
    let (n_places, n_channels) = grid.get()?.dims2()?;
    let n_outputs = n_columns.div_ceil(stride.1);
    // The first and the last place that an output reads, where the grid begins at `first_row` and `before` places of zeros.
    let (start, end) = (rows.start * stride.0, (rows.end - 1) * stride.0 + kernel.0);
    let padded = grid.get()?.reshape((n_places / n_columns, n_columns, n_channels))?;
    let (top, bottom) = (first_row + before.0, end.saturating_sub(first_row + before.0 + n_places / n_columns));
    let right = ((n_outputs - 1) * stride.1 + kernel.1).saturating_sub(n_columns + before.1);
    let padded = padded.pad_with_zeros(0, top.saturating_sub(start), bottom)?;
    let padded = padded.pad_with_zeros(1, before.1, right)?;
    let skipped = start.saturating_sub(top);
    let strided = |n: usize, first: usize, stride: usize| {
        let places: Vec<u32> = (0..n).map(|at| (first + at * stride) as u32).collect(); // sizes of a recording fit
        Tensor::new(places, grid.get()?.device())
    };
    let inputs = |(i, j): (usize, usize)| {
        let rows = padded.index_select(&strided(rows.len(), skipped + i, stride.0)?, 0)?;
        rows.index_select(&strided(n_outputs, j, stride.1)?, 1)
    };
    (0..kernel.0).flat_map(|i| (0..kernel.1).map(move |j| (i, j))).map(inputs).collect()
}

fn attend(queries: &RelativeQueries<'_, Candle>, n_heads: usize) -> TensorResult<Tensor> {
    let RelativeQueries { queries, first, keys, values, distances, n_before, n_after, biases, scale, bound } = *queries;
    let (n_queries, width) = queries.get()?.dims2()?;
    let n_keys = keys.get()?.dim(0)?;
    // (heads, rows, head_dim)
    let heads = |rows: &Tensor| rows.reshape((rows.dim(0)?, n_heads, width / n_heads))?.transpose(0, 1)?.contiguous();
    let biased = |bias: &Tensor| heads(&queries.get()?.broadcast_add(bias)?);
    let transposed = |rows: &Tensor| heads(rows)?.transpose(1, 2)?.contiguous();
    let contents = biased(biases[0])?.matmul(&transposed(keys.get()?)?)?;
    let places = biased(biases[1])?.matmul(&transposed(distances.get()?)?)?;
    // The place of each key's distance, and whether the query attends to the key.
    let (mut at, mut seen) = (Vec::new(), Vec::new());
    for (query, key) in (first..first + n_queries).flat_map(|query| (0..n_keys).map(move |key| (query, key))) {
        let place = (n_before + key).checked_sub(query).filter(|place| *place <= n_before + n_after);
        at.push(place.unwrap_or(0) as u32); // as long as the recording
        seen.push(if place.is_some() { 0.0f32 } else { f32::NEG_INFINITY });
    }
    let device = places.device();
    let at = Tensor::from_vec(at, (1, n_queries, n_keys), device)?.to_dtype(DType::U32)?;
    let at = at.broadcast_as((n_heads, n_queries, n_keys))?.contiguous()?;
    let seen = Tensor::from_vec(seen, (1, n_queries, n_keys), device)?;
    let mut scores = ((contents + places.gather(&at, D::Minus1)?)? * f64::from(scale))?;
    if let Some(bound) = bound {
        scores = ((scores / f64::from(bound))?.tanh()? * f64::from(bound))?;
    }
    let mixed = softmax_last_dim(&scores.broadcast_add(&seen)?)?.matmul(&heads(values.get()?)?)?;
    mixed.transpose(0, 1)?.contiguous()?.reshape((n_queries, width))
}
