//! One layer: an operator over time, then a feed-forward block, each around a residual.

use crate::error::Result;
use crate::model::attention::Attention;
use crate::model::backend::Backend;
use crate::model::delta_net::DeltaNet;
use crate::model::feed_forward::FeedForward;
use crate::model::layer_weights::LayerWeights;
use crate::model::per_layer::PerLayerBlock;
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
    pub(crate) per_layer: Option<PerLayerBlock<B>>,
    /// Factor of the residual stream after the layer.
    pub(crate) output_scale: f32,
}

pub(crate) enum Operator<B: Backend> {
    ShortConvolution(ShortConvolution<B>),
    Attention(Attention<B>),
    DeltaNet(DeltaNet<B>),
}

impl<B: Backend> Layer<B> {
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
        // The tensors decide the layer's kind: descriptions spell it in several ways.
        let operator = match ["shortconv.conv", "ssm_beta"].map(|part| weights.shape(part)) {
            [Some(_), _] => Operator::ShortConvolution(ShortConvolution::load(weights)?),
            [_, Some(_)] => Operator::DeltaNet(DeltaNet::load(weights)?),
            _ => Operator::Attention(Attention::load(weights)?),
        };
        let family = weights.architecture.family;
        let norm = |part: &str| weights.norm(part, weights.hidden);
        let output_norm = |part: &str| family.has_output_norms.then(|| norm(part)).transpose();
        Ok(Self {
            operator_norm: norm("attn_norm")?,
            operator,
            operator_output_norm: output_norm("post_attention_norm")?,
            feed_forward_norm: norm(family.feed_forward_norm)?,
            feed_forward: FeedForward::load(weights)?,
            feed_forward_output_norm: output_norm("post_ffw_norm")?,
            per_layer: PerLayerBlock::load(weights)?,
            output_scale: output_scale(weights)?,
        })
    }
}

fn output_scale<B: Backend>(weights: &LayerWeights<'_, B>) -> Result<f32> {
    let name = weights.name("layer_output_scale");
    match weights.tensors.shape(&name) {
        Some(_) => Ok(weights.tensors.floats(&name, &[1])?[0]),
        None => Ok(1.0),
    }
}
