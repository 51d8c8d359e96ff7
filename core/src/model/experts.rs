//! A mixture of experts: a router gives each token a few of many feed-forward blocks.
//!
//! `s = sigmoid(router x)`; the experts with the largest `s + bias` are taken, and weighted by their `s` without it.

use candle_core::{Result as TensorResult, Tensor};
use candle_nn::ops::sigmoid;

use crate::error::Result;
use crate::model::feed_forward::Dense;
use crate::model::layer::LayerWeights;
use crate::model::linear::Linear;
use crate::model::wrong;
use crate::weights::Weights;

/// How a mixture is put together, as the files state it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mixture {
    /// Experts that a token takes.
    pub(crate) n_used: usize,
    /// Whether the weights of those taken are made to sum up to one.
    pub(crate) is_normalised: bool,
    pub(crate) scale: f32,
    /// Whether a bias takes part in choosing.
    pub(crate) has_bias: bool,
}

/// More than any model has; a file that states more is broken.
const MOST_EXPERTS: usize = 4096;

pub(crate) struct Experts {
    router: Linear,
    /// Of each expert; zeros without a bias.
    bias: Vec<f32>,
    experts: Vec<Dense>,
    mixture: Mixture,
}

impl Experts {
    pub(crate) fn load(weights: &LayerWeights<'_>) -> Result<Self> {
        let (n_experts, layer) = (weights.rows("ffn_gate_inp")?, weights.layer);
        let Some(mixture) = weights.architecture.mixture.clone() else {
            let family = weights.architecture.family.gguf;
            return Err(wrong(format!(
                "layer {layer} has experts, which are not supported in architecture {family:?}"
            )));
        };
        if MOST_EXPERTS < n_experts || !(1..=n_experts).contains(&mixture.n_used) {
            let n_used = mixture.n_used;
            return Err(wrong(format!("layer {layer} has {n_experts} experts, of which a token takes {n_used}")));
        }
        let bias = if mixture.has_bias { bias(weights, n_experts)? } else { vec![0.0; n_experts] };
        Ok(Self {
            router: weights.linear("ffn_gate_inp", n_experts, weights.hidden)?,
            bias,
            experts: (0..n_experts).map(|expert| load_expert(weights, expert, n_experts)).collect::<Result<_>>()?,
            mixture,
        })
    }

    /// `x` is `(time, hidden)`, as is what returns.
    pub(crate) fn forward(&self, x: &Tensor) -> TensorResult<Tensor> {
        let shares: Vec<Vec<f32>> = sigmoid(&self.router.forward(x)?)?.to_vec2()?; // (time, experts)
        // The tokens of each expert, with their weights. All tokens of an expert go through it together.
        let mut tokens = vec![(Vec::new(), Vec::new()); self.experts.len()];
        for (token, shares) in (0u32..).zip(&shares) {
            for (expert, weight) in self.route(shares) {
                tokens[expert].0.push(token);
                tokens[expert].1.push(weight);
            }
        }
        let mut sum = x.zeros_like()?;
        for (expert, (tokens, weights)) in self.experts.iter().zip(tokens) {
            if tokens.is_empty() {
                continue;
            }
            let weights = Tensor::from_slice(&weights, (weights.len(), 1), x.device())?;
            let tokens = Tensor::new(tokens, x.device())?;
            let y = expert.forward(&x.index_select(&tokens, 0)?)?.broadcast_mul(&weights)?;
            sum = sum.index_add(&tokens, &y, 0)?;
        }
        Ok(sum)
    }

    /// The experts of one token, and their weights.
    fn route(&self, shares: &[f32]) -> Vec<(usize, f32)> {
        let mut order: Vec<usize> = (0..shares.len()).collect();
        let merit = |expert: usize| shares[expert] + self.bias[expert];
        order.sort_by(|a, b| merit(*b).total_cmp(&merit(*a)));
        order.truncate(self.mixture.n_used);
        let sum: f32 = order.iter().map(|expert| shares[*expert]).sum();
        // 1e-6: what training adds against a division by zero.
        let factor = if self.mixture.is_normalised { self.mixture.scale / (sum + 1e-6) } else { self.mixture.scale };
        order.into_iter().map(|expert| (expert, shares[expert] * factor)).collect()
    }
}

fn load_expert(weights: &LayerWeights<'_>, expert: usize, n_experts: usize) -> Result<Dense> {
    let (hidden, width) = (weights.hidden, weights.expert_width()?);
    let linear = |part: &str, rows: usize, columns: usize| {
        let name = weights.expert_name(part, expert);
        let matrix = match weights.weights {
            Weights::Gguf(file) => file.matrix_of(&name, expert, [n_experts, rows, columns]),
            Weights::Folder(_) => weights.weights.matrix(&name, (rows, columns)),
        };
        Ok(Linear::new(matrix?, None))
    };
    Ok(Dense {
        gate: linear("ffn_gate_exps", width, hidden)?,
        up: linear("ffn_up_exps", width, hidden)?,
        down: linear("ffn_down_exps", hidden, width)?,
    })
}

fn bias(weights: &LayerWeights<'_>, n_experts: usize) -> Result<Vec<f32>> {
    let name = match weights.weights {
        Weights::Gguf(_) => format!("blk.{}.exp_probs_b.bias", weights.layer),
        Weights::Folder(_) => format!("model.layers.{}.feed_forward.expert_bias", weights.layer),
    };
    let failed = |err| wrong(format!("cannot load tensor {name}")).caused_by(err);
    weights.weights.floats(&name, &[n_experts])?.to_vec1().map_err(failed)
}
