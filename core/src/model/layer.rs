//! One layer: an operator over time, then a feed-forward block, each around a residual.

use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::attention::Attention;
use crate::model::backend::Backend;
use crate::model::feed_forward::FeedForward;
use crate::model::linear::Linear;
use crate::model::short_convolution::ShortConvolution;
use crate::model::wrong;
use crate::weights::{MatrixPlace, Weights};

pub(crate) struct Layer<B: Backend> {
    pub(crate) operator_norm: B::Vector,
    pub(crate) operator: Operator<B>,
    pub(crate) feed_forward_norm: B::Vector,
    pub(crate) feed_forward: FeedForward<B>,
}

pub(crate) enum Operator<B: Backend> {
    ShortConvolution(ShortConvolution<B>),
    Attention(Attention<B>),
}

/// Where a layer's tensors are looked up, by the part's name in GGUF files.
pub(crate) struct LayerWeights<'a, B> {
    pub(crate) backend: &'a B,
    pub(crate) weights: &'a Weights,
    pub(crate) architecture: &'a Architecture,
    pub(crate) layer: usize,
    pub(crate) hidden: usize,
}

impl<B> LayerWeights<'_, B> {
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

    /// A bias that the family always has.
    pub(crate) fn expect_bias(&self, part: &str) -> Result<()> {
        let name = self.tensor(part, "bias");
        self.weights.shape(&name).map(drop).ok_or_else(|| self.weights.missing(&name))
    }
}

impl<B: Backend> LayerWeights<'_, B> {
    pub(crate) fn linear(&self, part: &str, rows: usize, columns: usize) -> Result<Linear<B>> {
        let name = self.name(part);
        let place = MatrixPlace { name: &name, shape: (rows, columns), of_stack: None };
        Ok(Linear { weight: self.backend.matrix(self.weights, &place)?, bias: self.bias(part, rows)? })
    }

    /// The bias of a part, where it has one.
    pub(crate) fn bias(&self, part: &str, length: usize) -> Result<Option<B::Vector>> {
        let name = self.tensor(part, "bias");
        let bias = self.weights.shape(&name).map(|_| self.weights.floats(&name, &[length])).transpose()?;
        bias.map(|bias| self.backend.vector(bias)).transpose()
    }

    pub(crate) fn vector(&self, part: &str, length: usize) -> Result<B::Vector> {
        self.backend.vector(self.weights.floats(&self.name(part), &[length])?)
    }
}

impl<B: Backend> Layer<B> {
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
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
        })
    }
}
