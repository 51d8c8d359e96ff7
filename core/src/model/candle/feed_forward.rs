//! Feed-forward blocks and linear maps, with tensors.

use candle_core::{Module, Result as TensorResult, Tensor};
use candle_nn::ops::silu;

use crate::model::candle::backend::Candle;
use crate::model::dense::Dense;
use crate::model::feed_forward::FeedForward;
use crate::model::linear::Linear;

impl FeedForward<Candle> {
    /// `x` and the result are `(time, hidden)`.
    pub(super) fn forward(&self, x: &Tensor) -> TensorResult<Tensor> {
        match self {
            Self::Dense(dense) => dense.forward(x),
            Self::Experts(experts) => experts.forward(x),
        }
    }
}

impl Dense<Candle> {
    pub(super) fn forward(&self, x: &Tensor) -> TensorResult<Tensor> {
        let gate = silu(&self.gate.forward(x)?)?;
        self.down.forward(&(gate * self.up.forward(x)?)?)
    }
}

impl Linear<Candle> {
    /// `(time, inputs)` to `(time, outputs)`.
    pub(super) fn forward(&self, x: &Tensor) -> TensorResult<Tensor> {
        let y = self.weight.forward(x)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}
