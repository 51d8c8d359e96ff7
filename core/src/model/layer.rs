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
    pub(crate) feed_forward_norm: B::Vector,
    pub(crate) feed_forward: FeedForward<B>,
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
        Ok(Self {
            operator_norm: weights.vector("attn_norm", weights.hidden)?,
            operator,
            feed_forward_norm: weights.vector("ffn_norm", weights.hidden)?,
            feed_forward: FeedForward::load(weights)?,
        })
    }
}
