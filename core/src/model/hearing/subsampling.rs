//! The beginning of an encoder: three convolutions that halve time and frequency, and a map to its rows.

use std::ops::Range;

use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::hearing::operations::{DepthwiseConvolution, SoundOperations};
use crate::model::hearing::reader::EncoderReader;
use crate::model::hearing::stream::EncoderBuffers;
use crate::model::linear::Linear;

/// The side of a kernel, and how far apart outputs are.
pub(super) const SIDE: usize = 3;
pub(super) const STRIDE: usize = 2;
/// Frames of one row: what three convolutions join.
pub(super) const FRAMES: usize = STRIDE * STRIDE * STRIDE;
/// Rows that are computed at once. The first convolution has 4 x 64 places for each, with hundreds of channels.
pub(super) const ROWS: usize = 16;

pub(super) struct Subsampling<B: Backend> {
    /// `(channels, 9)`: kernels over time and frequency.
    first: Linear<B>,
    halvings: [Halving<B>; 2],
    /// `(hidden, channels * columns)`
    out: Linear<B>,
    /// Features of a frame.
    n_bins: usize,
    /// Values of a row.
    pub(super) hidden: usize,
}

/// A convolution of each channel, and a map of all channels.
pub(super) struct Halving<B: Backend> {
    /// `(9, channels)`
    pub(super) taps: B::Vector,
    pub(super) bias: B::Vector,
    pub(super) map: Linear<B>,
}

impl<O: SoundOperations> Subsampling<O> {
    pub(super) fn load(reader: &EncoderReader<'_, O>, n_bins: usize) -> Result<Self> {
        let n_channels = match *reader.shape("a.conv1d.0")? {
            [n_channels, 1, SIDE, SIDE] => n_channels,
            ref shape => {
                return Err(invalid(format!(
                    "tensor a.conv1d.0.weight must have kernels of {SIDE} x {SIDE}, found shape {shape:?}"
                )));
            }
        };
        let halving = |depthwise: &str, pointwise: &str| -> Result<Halving<O>> {
            Ok(Halving {
                taps: reader.operations.vector(reader.taps(depthwise, n_channels, SIDE * SIDE)?)?,
                bias: reader.vector(&format!("{depthwise}.bias"), n_channels)?,
                map: reader.kernels_as_map(pointwise, (n_channels, n_channels))?,
            })
        };
        let out = "a.pre_encode.out";
        let (hidden, n_columns) = (reader.rows(out)?, n_bins.div_ceil(FRAMES));
        Ok(Self {
            first: reader.kernels_as_map("a.conv1d.0", (n_channels, SIDE * SIDE))?,
            halvings: [halving("a.conv1d.2", "a.conv1d.3")?, halving("a.conv1d.5", "a.conv1d.6")?],
            out: reader.linear(out, (hidden, n_channels * n_columns))?,
            n_bins,
            hidden,
        })
    }

    /// Computes some rows of features, `(frames, bins)`.
    pub(super) fn apply(
        &self,
        operations: &O,
        features: &[f32],
        rows: Range<usize>,
        buffers: &mut EncoderBuffers<O>,
        stream: &mut O::Rows,
    ) -> Result<()> {
        let first = rows.start;
        for start in rows.clone().step_by(ROWS) {
            let some = start..rows.end.min(start + ROWS);
            self.some(operations, features, some, buffers)?;
            operations.extend(&buffers.projected[0], start - first, stream)?;
        }
        Ok(())
    }

    /// Computes a few rows into the first buffer.
    fn some(
        &self,
        operations: &O,
        features: &[f32],
        rows: Range<usize>,
        EncoderBuffers { inputs, projected: [out, grid, convolved], .. }: &mut EncoderBuffers<O>,
    ) -> Result<()> {
        let n_frames = features.len() / self.n_bins;
        let heights = [n_frames.div_ceil(STRIDE), n_frames.div_ceil(STRIDE * STRIDE)];
        let second = needed_rows(&rows, heights[1]);
        let first = needed_rows(&second, heights[0]);
        let n_columns = self.n_bins.div_ceil(STRIDE);
        let write = |at: usize, to: &mut [f32]| {
            let (frame, bin) = (STRIDE * (first.start + at / n_columns), STRIDE * (at % n_columns));
            write_square(features, self.n_bins, (frame, bin), to);
        };
        operations.upload((first.len() * n_columns, SIDE * SIDE), write, convolved)?;
        operations.inputs(convolved, &[&self.first], inputs)?;
        operations.product(inputs, [(&self.first, &mut *grid)])?;
        operations.rectify(grid)?;
        let (mut first_row, mut n_columns) = (first.start, n_columns);
        for (Halving { taps, bias, map }, rows) in self.halvings.iter().zip([second, rows]) {
            let convolution = DepthwiseConvolution {
                grid,
                first_row,
                n_columns,
                taps,
                bias: Some(bias),
                kernel: (SIDE, SIDE),
                before: (1, 1),
                stride: STRIDE,
            };
            operations.convolve_channels(convolution, rows.clone(), convolved)?;
            operations.inputs(convolved, &[map], inputs)?;
            operations.product(inputs, [(map, &mut *grid)])?;
            operations.rectify(grid)?;
            (first_row, n_columns) = (rows.start, n_columns.div_ceil(STRIDE));
        }
        operations.join_columns(grid, n_columns, convolved)?;
        operations.inputs(convolved, &[&self.out], inputs)?;
        operations.product(inputs, [(&self.out, &mut *out)])
    }
}

/// The grid rows that a convolution needs for some rows of outputs, in a grid of a height.
pub(super) fn needed_rows(rows: &Range<usize>, height: usize) -> Range<usize> {
    (STRIDE * rows.start).saturating_sub(1)..height.min(STRIDE * rows.end)
}

/// Writes the square of features around a frame and a bin, with zeros beyond the edges.
pub(super) fn write_square(features: &[f32], n_bins: usize, (frame, bin): (usize, usize), to: &mut [f32]) {
    let n_frames = features.len() / n_bins;
    for (at, to) in to.iter_mut().enumerate() {
        let (row, column) = ((frame + at / SIDE).wrapping_sub(1), (bin + at % SIDE).wrapping_sub(1));
        *to = if row < n_frames && column < n_bins { features[row * n_bins + column] } else { 0.0 };
    }
}
