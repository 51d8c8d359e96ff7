//! The beginning of LFM3-Audio's encoder: three convolutions that halve time and frequency, each with an activation after it, and a map
//! to its rows. The last axis of its kernels is time, where other encoders have frequency.

use std::ops::Range;

use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::hearing::operations::{DepthwiseConvolution, SoundOperations};
use crate::model::hearing::reader::EncoderReader;
use crate::model::hearing::stream::EncoderBuffers;
use crate::model::hearing::subsampling::{FRAMES, Halving, ROWS, SIDE, STRIDE, needed_rows, write_square};
use crate::model::linear::Linear;
use crate::model::tower::TowerActivation;

pub(super) struct CausalSubsampling<B: Backend> {
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

impl<O: SoundOperations> CausalSubsampling<O> {
    pub(super) fn load(reader: &EncoderReader<'_, O>, n_bins: usize) -> Result<Self> {
        let n_channels = match *reader.shape("a.conv1d.0")? {
            [n_channels, 1, SIDE, SIDE] => n_channels,
            ref shape => {
                return Err(invalid(format!(
                    "tensor a.conv1d.0.weight must have kernels of {SIDE} x {SIDE}, found shape {shape:?}"
                )));
            }
        };
        let operations = reader.operations;
        // The place of an element of a kernel if both axes change places.
        let swapped = |place: usize| place % SIDE * SIDE + place / SIDE;
        let kernels = reader.flat("a.conv1d.0.weight", n_channels * SIDE * SIDE)?;
        let kernels: Vec<f32> = (0..kernels.len())
            .map(|at| kernels[at / (SIDE * SIDE) * SIDE * SIDE + swapped(at % (SIDE * SIDE))])
            .collect();
        let first = Linear {
            weight: operations.matrix_of(&kernels, (n_channels, SIDE * SIDE))?,
            bias: Some(reader.vector("a.conv1d.0.bias", n_channels)?),
        };
        let halving = |depthwise: &str, pointwise: &str| -> Result<Halving<O>> {
            let taps = reader.taps(depthwise, n_channels, SIDE * SIDE)?;
            let places = (0..SIDE * SIDE).flat_map(|place| taps[swapped(place) * n_channels..][..n_channels].to_vec());
            Ok(Halving {
                taps: operations.vector(places.collect())?,
                bias: reader.vector(&format!("{depthwise}.bias"), n_channels)?,
                map: reader.kernels_as_map(pointwise, (n_channels, n_channels))?,
            })
        };
        let out = "a.pre_encode.out";
        let (hidden, n_columns) = (reader.rows(out)?, n_bins.div_ceil(FRAMES));
        Ok(Self {
            first,
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
            self.some(operations, features, start..rows.end.min(start + ROWS), buffers)?;
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
        let second = needed_rows(&rows, n_frames.div_ceil(STRIDE * STRIDE));
        let first = needed_rows(&second, n_frames.div_ceil(STRIDE));
        let n_columns = self.n_bins.div_ceil(STRIDE);
        let write = |at: usize, to: &mut [f32]| {
            let (frame, bin) = (STRIDE * (first.start + at / n_columns), STRIDE * (at % n_columns));
            write_square(features, self.n_bins, (frame, bin), to);
        };
        operations.upload((first.len() * n_columns, SIDE * SIDE), write, convolved)?;
        operations.inputs(convolved, &[&self.first], inputs)?;
        operations.product(inputs, [(&self.first, &mut *grid)])?;
        let (mut first_row, mut n_columns) = (first.start, n_columns);
        for (Halving { taps, bias, map }, rows) in self.halvings.iter().zip([second, rows]) {
            // The map's weights are not quantised, so its inputs are the values.
            operations.activate(TowerActivation::Silu, grid, map, inputs)?;
            operations.input_rows(inputs, grid)?;
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
            (first_row, n_columns) = (rows.start, n_columns.div_ceil(STRIDE));
        }
        operations.activate(TowerActivation::Silu, grid, &self.halvings[1].map, inputs)?;
        operations.input_rows(inputs, grid)?;
        operations.join_columns(grid, n_columns, convolved)?;
        operations.inputs(convolved, &[&self.out], inputs)?;
        operations.product(inputs, [(&self.out, &mut *out)])
    }
}
