//! The feed-forward block: `down(silu(gate x) * up x)`, one for all tokens or several of which each token takes a few.

use candle_core::{Result as TensorResult, Tensor};
use candle_nn::ops::silu;

use crate::error::Result;
use crate::model::experts::Experts;
use crate::model::layer::LayerWeights;
use crate::model::linear::Linear;

pub(crate) enum FeedForward {
    Dense(Dense),
    Experts(Experts),
}

impl FeedForward {
    pub(crate) fn load(weights: &LayerWeights<'_>) -> Result<Self> {
        // A router tells experts; the layers that lead a mixture have none.
        match weights.shape("ffn_gate_inp") {
            Some(_) => Experts::load(weights).map(Self::Experts),
            None => Dense::load(weights).map(Self::Dense),
        }
    }

    /// `x` is `(time, hidden)`, as is what returns.
    pub(crate) fn forward(&self, x: &Tensor) -> TensorResult<Tensor> {
        match self {
            Self::Dense(dense) => dense.forward(x),
            Self::Experts(experts) => experts.forward(x),
        }
    }
}

/// One feed-forward block, or one expert.
pub(crate) struct Dense {
    pub(crate) gate: Linear,
    pub(crate) up: Linear,
    pub(crate) down: Linear,
}

impl Dense {
    fn load(weights: &LayerWeights<'_>) -> Result<Self> {
        let (width, hidden) = (weights.rows("ffn_gate")?, weights.hidden);
        Ok(Self {
            gate: weights.linear("ffn_gate", width, hidden)?,
            up: weights.linear("ffn_up", width, hidden)?,
            down: weights.linear("ffn_down", hidden, width)?,
        })
    }

    pub(crate) fn forward(&self, x: &Tensor) -> TensorResult<Tensor> {
        let gate = silu(&self.gate.forward(x)?)?;
        self.down.forward(&(gate * self.up.forward(x)?)?)
    }
}
