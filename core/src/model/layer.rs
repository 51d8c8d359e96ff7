//! One layer: an operator over time, then a feed-forward block, each around a residual.

use crate::error::Result;
use crate::model::attention::Attention;
use crate::model::backend::Backend;
use crate::model::feed_forward::FeedForward;
use crate::model::layer_weights::LayerWeights;
use crate::model::short_convolution::ShortConvolution;

pub(crate) struct Layer<B: Backend> {
    pub(crate) operator_norm: B::Vector,
    pub(crate) operator: Operator<B>,
    /// The norm of what the operator adds to the residual stream.
    pub(crate) operator_output_norm: Option<B::Vector>,
    pub(crate) feed_forward_norm: B::Vector,
    pub(crate) feed_forward: FeedForward<B>,
    /// The norm of what the feed-forward block adds to the residual stream.
    pub(crate) feed_forward_output_norm: Option<B::Vector>,
}

pub(crate) enum Operator<B: Backend> {
    ShortConvolution(ShortConvolution<B>),
    Attention(Attention<B>),
}

impl<B: Backend> Layer<B> {
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
        // The tensors decide the layer's kind: descriptions spell it in several ways.
        let operator = match weights.shape("shortconv.conv") {
            Some(_) => Operator::ShortConvolution(ShortConvolution::load(weights)?),
            None => Operator::Attention(Attention::load(weights)?),
        };
        let has_output_norms = weights.architecture.family.has_output_norms;
        let norm = |part: &str| weights.norm(part, weights.hidden);
        let output_norm = |part: &str| has_output_norms.then(|| norm(part)).transpose();
        Ok(Self {
            operator_norm: norm("attn_norm")?,
            operator,
            operator_output_norm: output_norm("post_attention_norm")?,
            feed_forward_norm: norm("ffn_norm")?,
            feed_forward: FeedForward::load(weights)?,
            feed_forward_output_norm: output_norm("post_ffw_norm")?,
        })
    }
}
