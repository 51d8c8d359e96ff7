//! The operations of codecs, with tensors.

use candle_core::Tensor;

use crate::error::Result;
use crate::model::candle::backend::Candle;
use crate::model::candle::rows::TensorRows;
use crate::model::speech::CodecOperations;

impl CodecOperations for Candle {
    fn elu(&self, rows: &TensorRows, to: &mut TensorRows) -> Result<()> {
        to.set(|| rows.get()?.elu(1.0))
    }

    fn add_scaled(&self, rows: &TensorRows, factors: &Tensor, stream: &mut TensorRows) -> Result<()> {
        stream.map(|stream| stream + rows.get()?.broadcast_mul(factors)?)
    }

    fn split_rows(&self, rows: &mut TensorRows, n_parts: usize) -> Result<()> {
        rows.map(|rows| {
            let (n_rows, width) = rows.dims2()?;
            rows.reshape((n_rows * n_parts, width / n_parts))
        })
    }
}
