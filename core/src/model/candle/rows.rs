//! Values between two operations, as a tensor.

use candle_core::{Result as TensorResult, Tensor};

use crate::error::{ErrorKind, Result, SdkError};

/// `(rows, width)`; nothing before the first operation.
#[derive(Default)]
pub(crate) struct TensorRows(Option<Tensor>);

impl TensorRows {
    pub(super) fn get(&self) -> TensorResult<&Tensor> {
        self.0.as_ref().ok_or_else(|| candle_core::Error::msg("rows are read before they are computed"))
    }

    /// Replaces the rows by the result of an operation.
    pub(super) fn set(&mut self, compute: impl FnOnce() -> TensorResult<Tensor>) -> Result<()> {
        self.0 = Some(compute().map_err(computation_failed)?);
        Ok(())
    }

    /// Replaces the rows by the result of an operation on them.
    pub(super) fn map(&mut self, compute: impl FnOnce(&Tensor) -> TensorResult<Tensor>) -> Result<()> {
        let rows = self.get().and_then(compute).map_err(computation_failed)?;
        self.0 = Some(rows);
        Ok(())
    }
}

/// The error of a computation that candle refused.
pub(super) fn computation_failed(err: candle_core::Error) -> SdkError {
    SdkError::new(ErrorKind::Generation, "the model's computation failed").caused_by(err)
}
