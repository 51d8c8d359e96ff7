//! The beginning of Gemma 4's encoder: two convolutions over all channels that halve time and frequency, and a map to its rows.

use std::ops::Range;

use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::hearing::operations::{SoundOperations, UnfoldedGrid};
use crate::model::hearing::reader::EncoderReader;
use crate::model::hearing::stream::EncoderBuffers;
use crate::model::hearing::subsampling::{ROWS, SIDE, STRIDE, needed_rows, write_square};
use crate::model::linear::Linear;
use crate::model::tower::TowerNorm;

pub(super) struct LocalSubsampling<O: SoundOperations> {
    /// Kernels over time, frequency and channels.
    convolutions: [SubsamplingConvolution<O>; 2],
    /// `(hidden, columns * channels)`
    out: Linear<O>,
    /// Features of a frame.
    n_bins: usize,
    /// Values of a row.
    pub(super) hidden: usize,
}

/// A convolution, as a map of its kernel's places, and the norm of its outputs.
struct SubsamplingConvolution<O: SoundOperations> {
    map: Linear<O>,
    norm: TowerNorm<O>,
}

impl<O: SoundOperations> SubsamplingConvolution<O> {
    fn load(reader: &EncoderReader<'_, O>, index: usize, n_inputs: usize) -> Result<(Self, usize)> {
        let name = format!("a.conv1d.{index}");
        let n_outputs = match *reader.shape(&name)? {
            [n_outputs, n_channels, SIDE, SIDE] if n_channels == n_inputs => n_outputs,
            ref shape => {
                return Err(invalid(format!(
                    "tensor {name}.weight must have kernels of {SIDE} x {SIDE} over {n_inputs} channels, found shape {shape:?}"
                )));
            }
        };
        let (n_places, operations) = (SIDE * SIDE, reader.operations);
        let kernels = reader.flat(&format!("{name}.weight"), n_outputs * n_inputs * n_places)?;
        // A kernel is by channels and places; what it reads, by places and channels.
        let n_columns = n_inputs * n_places;
        let place = |at: usize| {
            let (kernel, column) = (at / n_columns, at % n_columns);
            kernel * n_columns + column % n_inputs * n_places + column / n_inputs
        };
        let values: Vec<f32> = (0..kernels.len()).map(|at| kernels[place(at)]).collect();
        let map = Linear { weight: operations.matrix_of(&values, (n_outputs, n_columns))?, bias: None };
        let bias = Some(operations.vector(vec![0.0; n_outputs])?);
        let norm = TowerNorm { bias, ..reader.rms_norm(&format!("{name}.norm"), n_outputs)? };
        Ok((Self { map, norm }, n_outputs))
    }

    /// Computes the outputs for places that were joined to rows.
    fn apply(&self, operations: &O, places: &O::Rows, inputs: &mut O::Inputs, out: &mut O::Rows) -> Result<()> {
        operations.inputs(places, &[&self.map], inputs)?;
        operations.product(inputs, [(&self.map, &mut *out)])?;
        self.norm.apply(operations, out, &[], inputs)?;
        operations.input_rows(inputs, out)?;
        operations.rectify(out)
    }
}

impl<O: SoundOperations> LocalSubsampling<O> {
    pub(super) fn load(reader: &EncoderReader<'_, O>, n_bins: usize) -> Result<Self> {
        let (first, n_channels) = SubsamplingConvolution::load(reader, 0, 1)?;
        let (second, n_channels) = SubsamplingConvolution::load(reader, 1, n_channels)?;
        let out = "a.input_projection";
        let hidden = reader.rows(out)?;
        let n_columns = n_bins.div_ceil(STRIDE).div_ceil(STRIDE);
        let out = reader.linear(out, (hidden, n_columns * n_channels))?;
        Ok(Self { convolutions: [first, second], out, n_bins, hidden })
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
        EncoderBuffers { inputs, projected: [out, grid, places], .. }: &mut EncoderBuffers<O>,
    ) -> Result<()> {
        let [first, second] = &self.convolutions;
        let (n_frames, n_columns) = (features.len() / self.n_bins, self.n_bins.div_ceil(STRIDE));
        let needed = needed_rows(&rows, n_frames.div_ceil(STRIDE));
        let write = |at: usize, to: &mut [f32]| {
            let (frame, bin) = (STRIDE * (needed.start + at / n_columns), STRIDE * (at % n_columns));
            write_square(features, self.n_bins, (frame, bin), to);
        };
        operations.upload((needed.len() * n_columns, SIDE * SIDE), write, places)?;
        first.apply(operations, places, inputs, grid)?;
        let squares = UnfoldedGrid {
            grid,
            first_row: needed.start,
            n_columns,
            kernel: (SIDE, SIDE),
            before: (1, 1),
            stride: (STRIDE, STRIDE),
        };
        operations.unfold(squares, rows.clone(), places)?;
        second.apply(operations, places, inputs, grid)?;
        // The columns of each grid row become one row.
        let n_columns = n_columns.div_ceil(STRIDE);
        let (kernel, stride) = ((1, n_columns), (1, n_columns));
        let lines = UnfoldedGrid { grid, first_row: rows.start, n_columns, kernel, before: (0, 0), stride };
        operations.unfold(lines, rows, places)?;
        operations.inputs(places, &[&self.out], inputs)?;
        operations.product(inputs, [(&self.out, &mut *out)])
    }
}
