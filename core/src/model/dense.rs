//! A feed-forward block: `down(f(gate x) * up x)`, where `f` is the family's activation.

use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::family::Activation;
use crate::model::layer_weights::LayerWeights;
use crate::model::linear::Linear;

/// One feed-forward block, or one expert.
pub(crate) struct Dense<B: Backend> {
    pub(crate) gate: Linear<B>,
    pub(crate) up: Linear<B>,
    pub(crate) down: Linear<B>,
    pub(crate) activation: Activation,
}

impl<B: Backend> Dense<B> {
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
        let (width, hidden) = (weights.rows("ffn_gate")?, weights.hidden);
        Ok(Self {
            gate: weights.linear("ffn_gate", width, hidden)?,
            up: weights.linear("ffn_up", width, hidden)?,
            down: weights.linear("ffn_down", hidden, width)?,
            activation: weights.architecture.family.activation,
        })
    }
}
