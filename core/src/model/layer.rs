//! One layer: an operator over time, then a feed-forward block, each around a residual.

use candle_core::quantized::QMatMul;
use candle_core::{Module, Result as TensorResult, Tensor};
use candle_nn::ops::{rms_norm, silu};

use crate::error::Result;
use crate::model::attention::{Attention, Rope};
use crate::model::short_convolution::ShortConvolution;
use crate::model::state::{KeyValues, LayerState};
use crate::model::{names, wrong};
use crate::weights::Weights;

pub(crate) struct Layer {
    operator_norm: Tensor,
    operator: Operator,
    feed_forward_norm: Tensor,
    feed_forward: FeedForward,
    norm_eps: f32,
}

enum Operator {
    ShortConvolution(ShortConvolution),
    Attention(Attention),
}

/// Where a layer's tensors are looked up.
pub(crate) struct LayerWeights<'a> {
    pub(crate) weights: &'a Weights,
    pub(crate) layer: usize,
    pub(crate) hidden: usize,
}

impl LayerWeights<'_> {
    pub(crate) fn name(&self, part: &str) -> String {
        names::in_layer(self.weights, self.layer, part)
    }

    pub(crate) fn shape(&self, part: &str) -> Option<&[usize]> {
        self.weights.shape(&self.name(part))
    }

    /// The rows of a matrix whose columns are known.
    pub(crate) fn rows(&self, part: &str) -> Result<usize> {
        match self.shape(part) {
            Some(&[rows, _]) => Ok(rows),
            _ => Err(wrong(format!("tensor {} is missing or no matrix", self.name(part)))),
        }
    }

    pub(crate) fn matrix(&self, part: &str, rows: usize, columns: usize) -> Result<QMatMul> {
        self.weights.matrix(&self.name(part), (rows, columns))
    }

    pub(crate) fn vector(&self, part: &str, length: usize) -> Result<Tensor> {
        self.weights.floats(&self.name(part), &[length])
    }
}

impl Layer {
    pub(crate) fn load(weights: &Weights, layer: usize, hidden: usize, norm_eps: f32) -> Result<Self> {
        let weights = LayerWeights { weights, layer, hidden };
        // The tensors tell the layer's kind; descriptions of it have been spelled in several ways.
        let operator = match weights.shape("conv.conv") {
            Some(_) => Operator::ShortConvolution(ShortConvolution::load(&weights)?),
            None => Operator::Attention(Attention::load(&weights, norm_eps)?),
        };
        Ok(Self {
            operator_norm: weights.vector("operator_norm", hidden)?,
            operator,
            feed_forward_norm: weights.vector("ffn_norm", hidden)?,
            feed_forward: FeedForward::load(&weights)?,
            norm_eps,
        })
    }

    pub(crate) fn start(&self) -> LayerState {
        match &self.operator {
            Operator::ShortConvolution(convolution) => LayerState::Inputs(convolution.start()),
            Operator::Attention(_) => LayerState::KeyValues(KeyValues::default()),
        }
    }

    /// `x` is `(time, hidden)`, as is what returns.
    pub(crate) fn forward(&self, x: &Tensor, rope: &Rope, state: &mut LayerState) -> TensorResult<Tensor> {
        let normed = rms_norm(x, &self.operator_norm, self.norm_eps)?;
        let mixed = match (&self.operator, state) {
            (Operator::ShortConvolution(convolution), LayerState::Inputs(inputs)) => {
                convolution.forward(&normed, inputs)?
            }
            (Operator::Attention(attention), LayerState::KeyValues(past)) => attention.forward(&normed, rope, past)?,
            _ => candle_core::bail!("the state belongs to another model"),
        };
        let x = (x + mixed)?;
        &x + self.feed_forward.forward(&rms_norm(&x, &self.feed_forward_norm, self.norm_eps)?)?
    }
}

/// `w2(silu(w1 x) * w3 x)`
struct FeedForward {
    w1: QMatMul,
    w2: QMatMul,
    w3: QMatMul,
}

impl FeedForward {
    fn load(weights: &LayerWeights<'_>) -> Result<Self> {
        let (width, hidden) = (weights.rows("feed_forward.w1")?, weights.hidden);
        Ok(Self {
            w1: weights.matrix("feed_forward.w1", width, hidden)?,
            w2: weights.matrix("feed_forward.w2", hidden, width)?,
            w3: weights.matrix("feed_forward.w3", width, hidden)?,
        })
    }

    fn forward(&self, x: &Tensor) -> TensorResult<Tensor> {
        let gate = silu(&self.w1.forward(x)?)?;
        self.w2.forward(&(gate * self.w3.forward(x)?)?)
    }
}
