//! The operations of encoders of sound on the CPU.

use std::ops::Range;

use causerie_backend::{ChannelGrid, GateFunction, RelativeAttention};

use crate::error::Result;
use crate::model::hearing::{DepthwiseConvolution, RelativeQueries, SoundOperations, UnfoldedGrid};
use crate::model::native::backend::Native;
use crate::model::native::rows::FloatRows;
use crate::model::tower::TowerOperations;

impl SoundOperations for Native {
    fn rectify(&self, rows: &mut FloatRows) -> Result<()> {
        // Not `max`, which would hide NaN.
        let positive = |x: &mut f32| *x = if *x < 0.0 { 0.0 } else { *x };
        self.cpu.for_rows(&mut rows.values, rows.width, |_, row| row.iter_mut().for_each(positive));
        Ok(())
    }

    fn gate_halves(&self, pairs: &FloatRows, gated: &mut FloatRows) -> Result<()> {
        let width = pairs.width / 2;
        gated.reshape(pairs.n_rows(), width);
        self.cpu.gate_halves(GateFunction::Sigmoid, &pairs.values, &mut gated.values, width);
        Ok(())
    }

    fn convolve_channels(
        &self,
        convolution: DepthwiseConvolution<'_, Self>,
        rows: Range<usize>,
        convolved: &mut FloatRows,
    ) -> Result<()> {
        let DepthwiseConvolution { grid, first_row, n_columns, taps, bias, kernel, before, stride } = convolution;
        let n_channels = grid.width;
        let bias = bias.map(Vec::as_slice);
        let values = &grid.values;
        let grid = ChannelGrid { values, first_row, n_columns, n_channels, taps, bias, kernel, before, stride };
        convolved.reshape(rows.len() * n_columns.div_ceil(stride), n_channels);
        self.cpu.channel_convolution(grid, rows, &mut convolved.values);
        Ok(())
    }

    fn unfold(
        &self,
        UnfoldedGrid { grid, first_row, n_columns, kernel, before, stride }: UnfoldedGrid<'_, Self>,
        rows: Range<usize>,
        unfolded: &mut FloatRows,
    ) -> Result<()> {
        let (n_outputs, n_channels, n_rows) = (n_columns.div_ceil(stride.1), grid.width, grid.n_rows() / n_columns);
        let write = |at: usize, to: &mut [f32]| {
            let (row, column) = ((rows.start + at / n_outputs) * stride.0, at % n_outputs * stride.1);
            for (place, to) in to.chunks_exact_mut(n_channels).enumerate() {
                // Places before the first ones become too large.
                let row = (row + place / kernel.1).wrapping_sub(before.0 + first_row);
                let column = (column + place % kernel.1).wrapping_sub(before.1);
                match row < n_rows && column < n_columns {
                    true => to.copy_from_slice(grid.row(row * n_columns + column)),
                    false => to.fill(0.0),
                }
            }
        };
        self.upload((rows.len() * n_outputs, kernel.0 * kernel.1 * n_channels), write, unfolded)
    }

    fn join_columns(&self, grid: &FloatRows, n_columns: usize, joined: &mut FloatRows) -> Result<()> {
        let write = |row: usize, to: &mut [f32]| {
            for column in 0..n_columns {
                let from = grid.row(row * n_columns + column);
                to[column..].iter_mut().step_by(n_columns).zip(from).for_each(|(to, value)| *to = *value);
            }
        };
        self.upload((grid.n_rows() / n_columns, n_columns * grid.width), write, joined)
    }

    fn relative_attention(
        &self,
        queries: RelativeQueries<'_, Self>,
        n_heads: usize,
        mixed: &mut FloatRows,
    ) -> Result<()> {
        let RelativeQueries { queries, first, keys, values, distances, n_before, n_after, biases, scale, bound } =
            queries;
        mixed.reshape(queries.n_rows(), queries.width);
        let all = RelativeAttention {
            queries: &queries.values,
            first_query: first,
            keys: &keys.values,
            values: &values.values,
            positions: &distances.values,
            content_bias: biases[0],
            position_bias: biases[1],
            n_heads,
            n_before,
            n_after,
            scale,
            bound,
        };
        self.cpu.relative_attention(all, &mut mixed.values);
        Ok(())
    }
}
