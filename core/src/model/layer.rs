//! One layer: an operator over time, then a feed-forward block, each around a residual.

use candle_core::{Result as TensorResult, Tensor};
use candle_nn::ops::rms_norm;

use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::attention::Attention;
use crate::model::feed_forward::FeedForward;
use crate::model::linear::Linear;
use crate::model::short_convolution::ShortConvolution;
use crate::model::state::{KeyValues, LayerState};
use crate::model::wrong;
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

/// Where a layer's tensors are looked up, by the part's name in GGUF files.
#[derive(Clone, Copy)]
pub(crate) struct LayerWeights<'a> {
    pub(crate) weights: &'a Weights,
    pub(crate) architecture: &'a Architecture,
    pub(crate) layer: usize,
    pub(crate) hidden: usize,
}

impl LayerWeights<'_> {
    /// The name of a tensor in the form of the file; `kind` is `weight` or `bias`.
    fn tensor(&self, part: &str, kind: &str) -> String {
        let layer = self.layer;
        match self.weights {
            Weights::Gguf(_) => format!("blk.{layer}.{part}.{kind}"),
            Weights::Folder(_) => {
                format!("model.layers.{layer}.{}.{kind}", self.architecture.family.folder_name(part))
            }
        }
    }

    pub(crate) fn name(&self, part: &str) -> String {
        self.tensor(part, "weight")
    }

    pub(crate) fn shape(&self, part: &str) -> Option<&[usize]> {
        self.weights.shape(&self.name(part))
    }

    /// The rows of a matrix whose columns are known.
    pub(crate) fn rows(&self, part: &str) -> Result<usize> {
        match self.shape(part) {
            Some(&[rows, _]) => Ok(rows),
            Some(shape) => Err(wrong(format!("tensor {} has shape {shape:?}, expected a matrix", self.name(part)))),
            None => Err(self.weights.missing(&self.name(part))),
        }
    }

    /// What folders hold for each expert and GGUF files for all of them at once.
    pub(crate) fn expert_name(&self, part: &str, expert: usize) -> String {
        self.name(part).replace('*', &expert.to_string())
    }

    /// How wide an expert is.
    pub(crate) fn expert_width(&self) -> Result<usize> {
        let name = self.expert_name("ffn_gate_exps", 0);
        match self.weights.shape(&name) {
            Some(&[_, width, _] | &[width, _]) => Ok(width),
            _ => Err(self.weights.missing(&name)),
        }
    }

    pub(crate) fn linear(&self, part: &str, rows: usize, columns: usize) -> Result<Linear> {
        let weight = self.weights.matrix(&self.name(part), (rows, columns))?;
        Ok(Linear::new(weight, self.bias(part, rows)?))
    }

    /// The bias of a part, where it has one.
    pub(crate) fn bias(&self, part: &str, length: usize) -> Result<Option<Tensor>> {
        let name = self.tensor(part, "bias");
        self.weights.shape(&name).map(|_| self.weights.floats(&name, &[length])).transpose()
    }

    /// A bias that the family always has.
    pub(crate) fn expect_bias(&self, part: &str) -> Result<()> {
        let name = self.tensor(part, "bias");
        self.weights.shape(&name).map(drop).ok_or_else(|| self.weights.missing(&name))
    }

    pub(crate) fn vector(&self, part: &str, length: usize) -> Result<Tensor> {
        self.weights.floats(&self.name(part), &[length])
    }
}

impl Layer {
    pub(crate) fn load(weights: &LayerWeights<'_>) -> Result<Self> {
        // The tensors tell the layer's kind; descriptions of it have been spelled in several ways.
        let operator = match weights.shape("shortconv.conv") {
            Some(_) => Operator::ShortConvolution(ShortConvolution::load(weights)?),
            None => Operator::Attention(Attention::load(weights)?),
        };
        Ok(Self {
            operator_norm: weights.vector("attn_norm", weights.hidden)?,
            operator,
            feed_forward_norm: weights.vector("ffn_norm", weights.hidden)?,
            feed_forward: FeedForward::load(weights)?,
            norm_eps: weights.architecture.norm_eps,
        })
    }

    pub(crate) fn start(&self) -> LayerState {
        match &self.operator {
            Operator::ShortConvolution(convolution) => LayerState::Inputs(convolution.start()),
            Operator::Attention(_) => LayerState::KeyValues(KeyValues::default()),
        }
    }

    /// `x` is `(time, hidden)`, as is what returns. Its first token stands at `start`.
    pub(crate) fn forward(&self, x: &Tensor, start: usize, state: &mut LayerState) -> TensorResult<Tensor> {
        let normed = rms_norm(x, &self.operator_norm, self.norm_eps)?;
        let mixed = match (&self.operator, state) {
            (Operator::ShortConvolution(convolution), LayerState::Inputs(inputs)) => {
                convolution.forward(&normed, inputs)?
            }
            (Operator::Attention(attention), LayerState::KeyValues(past)) => attention.forward(&normed, start, past)?,
            _ => candle_core::bail!("the state belongs to another model"),
        };
        let x = (x + mixed)?;
        &x + self.feed_forward.forward(&rms_norm(&x, &self.feed_forward_norm, self.norm_eps)?)?
    }
}
