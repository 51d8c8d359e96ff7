//! A linear map, with a bias where the file has one.

use candle_core::quantized::QMatMul;
use candle_core::{Module, Result as TensorResult, Tensor};

pub(crate) struct Linear {
    weight: QMatMul,
    /// `(outputs)`
    bias: Option<Tensor>,
}

impl Linear {
    pub(crate) fn new(weight: QMatMul, bias: Option<Tensor>) -> Self {
        Self { weight, bias }
    }

    /// `(time, inputs)` to `(time, outputs)`.
    pub(crate) fn forward(&self, x: &Tensor) -> TensorResult<Tensor> {
        let y = self.weight.forward(x)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}
