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
    /// The same, for devices that route by themselves.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the host routes"))]
    pub(crate) bias_vector: B::Vector,
    pub(crate) experts: Vec<Dense<B>>,
    pub(crate) mixture: Mixture,
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
            bias_vector: weights.backend.vector(bias.clone())?,
            bias,
            experts: load_experts(weights, n_experts)?,
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

fn load_experts<B: Backend>(weights: &LayerWeights<'_, B>, n_experts: usize) -> Result<Vec<Dense<B>>> {
    let (hidden, width) = (weights.hidden, weights.expert_width()?);
    let load = |part: &str, rows: usize, columns: usize| {
        let name = weights.name(part);
        let place = |index: usize| {
            let part = TensorPart::OfStack { index, n_matrices: n_experts };
            MatrixPlace { name: &name, shape: (rows, columns), part }
        };
        let matrices = weights.backend.matrices(weights.tensors, &(0..n_experts).map(place).collect::<Vec<_>>())?;
        Ok(matrices.into_iter().map(|weight| Linear { weight, bias: None }))
    };
    let gates = load("ffn_gate_exps", width, hidden)?;
    let [ups, downs] = [load("ffn_up_exps", width, hidden)?, load("ffn_down_exps", hidden, width)?];
    let activation = weights.architecture.family.activation;
    let expert = |((gate, up), down)| Dense { gate, up, down, activation };
    Ok(gates.zip(ups).zip(downs).map(expert).collect())
}

fn bias<B: Backend>(weights: &LayerWeights<'_, B>, n_experts: usize) -> Result<Vec<f32>> {
    weights.tensors.floats(&weights.bias_name("exp_probs_b"), &[n_experts])
}
