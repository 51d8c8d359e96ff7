//! A mixture of experts: a router gives each token a few of many feed-forward blocks.
//!
//! `s = sigmoid(router x)`. The experts with the largest `s + bias` are used, and weighted by their `s` without the bias.

use crate::checkpoint::Mixture;
use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::dense::Dense;
use crate::model::layer_weights::LayerWeights;
use crate::model::linear::Linear;
use crate::weights::{MatrixPlace, TensorPart};

/// More than any model has; a file with more is damaged.
const MAX_EXPERTS: usize = 4096;

pub(crate) struct Experts<B: Backend> {
    pub(crate) router: Linear<B>,
    /// One value for each expert; zeros without a bias.
    bias: Vec<f32>,
    pub(crate) experts: Vec<Dense<B>>,
    mixture: Mixture,
}

impl<B: Backend> Experts<B> {
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
        let (n_experts, layer) = (weights.rows("ffn_gate_inp")?, weights.layer);
        let Some(mixture) = weights.architecture.mixture.clone() else {
            let family = weights.architecture.family.gguf;
            return Err(invalid(format!(
                "layer {layer} has experts, which are not supported in architecture {family:?}"
            )));
        };
        if MAX_EXPERTS < n_experts || !(1..=n_experts).contains(&mixture.n_used) {
            let n_used = mixture.n_used;
            return Err(invalid(format!(
                "a token must use 1 to {n_experts} of the experts in layer {layer}, found {n_used}"
            )));
        }
        let bias = if mixture.has_bias { bias(weights, n_experts)? } else { vec![0.0; n_experts] };
        Ok(Self {
            router: weights.linear("ffn_gate_inp", n_experts, weights.hidden)?,
            bias,
            experts: (0..n_experts).map(|expert| load_expert(weights, expert, n_experts)).collect::<Result<_>>()?,
            mixture,
        })
    }

    /// The experts of one token, and their weights. `order` is a buffer that is reused.
    pub(crate) fn route<'a>(
        &self,
        shares: &'a [f32],
        order: &'a mut Vec<usize>,
    ) -> impl Iterator<Item = (usize, f32)> + 'a {
        order.clear();
        order.extend(0..shares.len());
        let merit = |expert: usize| shares[expert] + self.bias[expert];
        order.sort_unstable_by(|a, b| merit(*b).total_cmp(&merit(*a)).then(a.cmp(b)));
        order.truncate(self.mixture.n_used);
        let sum: f32 = order.iter().map(|expert| shares[*expert]).sum();
        // 1e-6: training adds it against a division by zero.
        let factor = if self.mixture.is_normalised { self.mixture.scale / (sum + 1e-6) } else { self.mixture.scale };
        order.iter().map(move |expert| (*expert, shares[*expert] * factor))
    }
}

fn load_expert<B: Backend>(weights: &LayerWeights<'_, B>, expert: usize, n_experts: usize) -> Result<Dense<B>> {
    let (hidden, width) = (weights.hidden, weights.expert_width()?);
    let linear = |part: &str, rows: usize, columns: usize| {
        let name = weights.name(part);
        let part = TensorPart::OfStack { index: expert, n_matrices: n_experts };
        let place = MatrixPlace { name: &name, shape: (rows, columns), part };
        Ok(Linear { weight: weights.backend.matrix(weights.tensors, &place)?, bias: None })
    };
    Ok(Dense {
        gate: linear("ffn_gate_exps", width, hidden)?,
        up: linear("ffn_up_exps", width, hidden)?,
        down: linear("ffn_down_exps", hidden, width)?,
        activation: weights.architecture.family.activation,
    })
}

fn bias<B: Backend>(weights: &LayerWeights<'_, B>, n_experts: usize) -> Result<Vec<f32>> {
    weights.tensors.floats(&weights.bias_name("exp_probs_b"), &[n_experts])
}
