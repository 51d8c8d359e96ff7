//! The feed-forward part of a layer: one block for all tokens, or a mixture of experts.

use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::dense::Dense;
use crate::model::experts::Experts;
use crate::model::layer_weights::LayerWeights;

pub(crate) enum FeedForward<B: Backend> {
    Dense(Dense<B>),
    Experts(Experts<B>),
}

impl<B: Backend> FeedForward<B> {
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
        // A layer with a router has experts; the first layers of a mixture have none.
        match weights.shape("ffn_gate_inp") {
            Some(_) => Experts::load(weights).map(Self::Experts),
            None => Dense::load(weights).map(Self::Dense),
        }
    }
}
