//! A mixture of experts, with tensors: all tokens of an expert go through it together.

use candle_core::{Result as TensorResult, Tensor};
use candle_nn::ops::sigmoid;

use crate::model::candle::backend::Candle;
use crate::model::experts::Experts;

impl Experts<Candle> {
    /// `x` is `(time, hidden)`, as is the result.
    pub(super) fn forward(&self, x: &Tensor) -> TensorResult<Tensor> {
        let shares: Vec<Vec<f32>> = sigmoid(&self.router.forward(x)?)?.to_vec2()?; // (time, experts)
        // The tokens of each expert, with their weights. All tokens of an expert go through it together.
        let mut tokens = vec![(Vec::new(), Vec::new()); self.experts.len()];
        let mut order = Vec::new();
        for (token, shares) in (0u32..).zip(&shares) {
            for (expert, weight) in self.route(shares, &mut order) {
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
}
