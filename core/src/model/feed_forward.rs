//! The feed-forward block: `down(silu(gate x) * up x)`, one for all tokens or several of which each token takes a few.

use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::experts::Experts;
use crate::model::layer::LayerWeights;
use crate::model::linear::Linear;

pub(crate) enum FeedForward<B: Backend> {
    Dense(Dense<B>),
    Experts(Experts<B>),
}

impl<B: Backend> FeedForward<B> {
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
        // A router tells experts; the layers that lead a mixture have none.
        match weights.shape("ffn_gate_inp") {
            Some(_) => Experts::load(weights).map(Self::Experts),
            None => Dense::load(weights).map(Self::Dense),
        }
    }
}

/// One feed-forward block, or one expert.
pub(crate) struct Dense<B: Backend> {
    pub(crate) gate: Linear<B>,
    pub(crate) up: Linear<B>,
    pub(crate) down: Linear<B>,
}

impl<B: Backend> Dense<B> {
    fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
        let (width, hidden) = (weights.rows("ffn_gate")?, weights.hidden);
        Ok(Self {
            gate: weights.linear("ffn_gate", width, hidden)?,
            up: weights.linear("ffn_up", width, hidden)?,
            down: weights.linear("ffn_down", hidden, width)?,
        })
    }
}
