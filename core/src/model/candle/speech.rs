//! The operations of models of speech, with tensors.

use std::ops::Range;

use candle_core::Tensor;

use crate::error::Result;
use crate::model::candle::backend::Candle;
use crate::model::candle::rows::TensorRows;
use crate::model::linear::Linear;
use crate::model::whisper::{RowWindows, SpeechOperations};

impl SpeechOperations for Candle {
    fn windows(
        &self,
        rows: &TensorRows,
        RowWindows { size, stride, padding }: RowWindows,
        windows: Range<usize>,
        _: &Linear<Self>,
        inputs: &mut TensorRows,
    ) -> Result<()> {
        inputs.set(|| {
            let rows = rows.get()?;
            // As many zeros as the last window reads.
            let read = windows.end.saturating_sub(1) * stride + size;
            let n_after = read.saturating_sub(padding + rows.dim(0)?);
            let rows = rows.pad_with_zeros(0, padding, n_after)?;
            let part = |at: usize| {
                let places = windows.clone().map(|window| (window * stride + at) as u32);
                rows.index_select(&Tensor::from_iter(places, &self.device)?, 0)
            };
            Tensor::cat(&(0..size).map(part).collect::<Result<Vec<_>, _>>()?, 1)
        })
    }

    fn add_rows(&self, rows: &TensorRows, stream: &mut TensorRows) -> Result<()> {
        stream.map(|stream| stream + rows.get()?)
    }
}
