//! A feed-forward block: `down(f(gate x) * up x)`, where `f` is the family's activation.

use crate::checkpoint::Activation;
use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::layer_weights::{LayerWeights, StackedRows};
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
        let (stacked, width, hidden) = (stacked(weights)?, width(weights)?, weights.hidden);
        Ok(Self {
            gate: weights.linear_of(stacked, ("ffn_gate", 0), (width, hidden))?,
            up: weights.linear_of(stacked, ("ffn_up", width), (width, hidden))?,
            down: weights.linear("ffn_down", hidden, width)?,
            activation: weights.architecture.family.activation,
        })
    }
}

/// The width of a layer's block.
pub(crate) fn width<B: Backend>(weights: &LayerWeights<'_, B>) -> Result<usize> {
    match stacked(weights)? {
        None => weights.rows("ffn_gate"),
        Some(StackedRows { n_rows, .. }) if n_rows % 2 == 0 => Ok(n_rows / 2),
        Some(StackedRows { part, n_rows }) => {
            Err(invalid(format!("tensor {} must have an even number of rows, found {n_rows}", weights.file_name(part))))
        }
    }
}

/// The tensor that stacks the gate and what it gates, in files that have one.
fn stacked<B: Backend>(weights: &LayerWeights<'_, B>) -> Result<Option<StackedRows>> {
    weights.stacked("ffn_up", "ffn_gate")
}
