//! Reads a checkpoint without its matrices: checks that all tensors of the description exist with the right shapes, and finds what they
//! say of the model's sizes.

use std::ops::ControlFlow;

use crate::checkpoint::{Checkpoint, StatedSize};
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::decoder::Decoder;
use crate::model::feed_forward::FeedForward;
use crate::model::heads::Heads;
use crate::model::layer::{Layer, Operator};
use crate::weights::{MatrixPlace, Tensors};

/// A backend that keeps the shapes of matrices and no values.
pub(crate) struct Survey;

/// The shape of a matrix, `(outputs, inputs)`.
pub(crate) struct MatrixShape {
    pub(crate) n_rows: usize,
}

impl Backend for Survey {
    type Matrix = MatrixShape;
    type Vector = ();

    fn matrix(&self, tensors: &Tensors, place: &MatrixPlace<'_>) -> Result<MatrixShape> {
        tensors.blocks(place)?;
        Ok(MatrixShape { n_rows: place.shape.0 })
    }

    fn vector(&self, _values: Vec<f32>) -> Result<()> {
        Ok(())
    }
}

/// The decoder that a checkpoint describes. Its small vectors are read from the files.
///
/// # Errors
/// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) if the description and the tensors do not agree.
pub(crate) fn survey(checkpoint: &Checkpoint) -> Result<Decoder<Survey>> {
    let decoder = Decoder::load(Survey, checkpoint, &mut |_| ControlFlow::Continue(()))?;
    for (at, layer) in decoder.stack.layers.iter().enumerate() {
        layer.check(checkpoint, at)?;
    }
    checkpoint.check_layers()?;
    Ok(decoder)
}

impl Layer<Survey> {
    /// Checks what the description states of a layer.
    fn check(&self, checkpoint: &Checkpoint, at: usize) -> Result<()> {
        let stated = &checkpoint.architecture.stated;
        if let Some(heads) = self.heads() {
            StatedSize::check(stated.query_heads.as_ref(), at, heads.n_queries)?;
            StatedSize::check(stated.key_heads.as_ref(), at, heads.n_keys)?;
        }
        match &self.feed_forward {
            FeedForward::Dense(_) => StatedSize::check(stated.width.as_ref(), at, self.width()),
            FeedForward::Experts(experts) => {
                StatedSize::check(stated.experts.as_ref(), at, experts.experts.len())?;
                StatedSize::check(stated.expert_width.as_ref(), at, self.width())
            }
        }
    }

    /// The heads, if the operator is attention.
    pub(crate) fn heads(&self) -> Option<Heads> {
        match &self.operator {
            Operator::Attention(attention) => Some(attention.heads),
            Operator::ShortConvolution(_) | Operator::DeltaNet(_) => None,
        }
    }

    /// Width of the feed-forward block, or of an expert.
    pub(crate) fn width(&self) -> usize {
        match &self.feed_forward {
            FeedForward::Dense(dense) => dense.gate.weight.n_rows,
            FeedForward::Experts(experts) => experts.experts.first().map_or(0, |expert| expert.gate.weight.n_rows),
        }
    }

    /// Experts of the layer; 0 for a dense one.
    pub(crate) fn n_experts(&self) -> usize {
        match &self.feed_forward {
            FeedForward::Dense(_) => 0,
            FeedForward::Experts(experts) => experts.experts.len(),
        }
    }
}
