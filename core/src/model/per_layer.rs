//! Per-layer embeddings: beside its embedding, a token has a short vector for each layer, which gates what the layer adds to
//! the residual stream at its end.
//!
//! For the embedding `x` of a token, `p = (norm(projection x / sqrt(hidden)) + row * sqrt(width)) / sqrt(2)`, where the norm
//! is that of each layer's part. A layer adds `norm(projection(gelu(gate x) * p))`.

use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::backend::Backend;
use crate::model::invalid::invalid;
use crate::model::layer_weights::{LayerWeights, norm_weight};
use crate::model::linear::Linear;
use crate::model::names;
use crate::weights::{MatrixPlace, RowTable, TensorPart, Weights};

pub(crate) struct PerLayerEmbedding<B: Backend> {
    /// The rows of tokens, `(vocabulary, layers * width)`. The table is as large as the rest of the model, and a token reads
    /// one row: it stays in the file.
    pub(crate) table: RowTable,
    /// `(layers * width, hidden)`
    pub(crate) projection: Linear<B>,
    /// The norm of a layer's part: `(width)`.
    pub(crate) norm: B::Vector,
    pub(crate) width: usize,
    pub(crate) hidden: usize,
}

/// What a layer does with its vector.
pub(crate) struct PerLayerBlock<B: Backend> {
    /// `(width, hidden)`
    pub(crate) gate: Linear<B>,
    /// `(hidden, width)`
    pub(crate) projection: Linear<B>,
    pub(crate) output_norm: B::Vector,
    pub(crate) layer: usize,
    pub(crate) width: usize,
}

impl<B: Backend> PerLayerEmbedding<B> {
    /// `None` for a model without per-layer embeddings.
    pub(crate) fn load(
        backend: &B,
        weights: &Weights,
        architecture: &Architecture,
        (n_vocabulary, hidden): (usize, usize),
    ) -> Result<Option<Self>> {
        let n_layers = architecture.layers.len();
        let Some(width) = width(weights, n_layers)? else { return Ok(None) };
        let [projection, norm] = [names::per_layer_projection(weights), names::per_layer_norm(weights)];
        let n_values = n_layers * width;
        let place = MatrixPlace { name: &projection, shape: (n_values, hidden), part: TensorPart::Whole };
        Ok(Some(Self {
            table: weights.row_table(&names::per_layer_table(weights), (n_vocabulary, n_values))?,
            projection: Linear { weight: backend.matrix(weights, &place)?, bias: None },
            norm: backend.vector(norm_weight(weights, architecture.family, &norm, width)?)?,
            width,
            hidden,
        }))
    }
}

impl<B: Backend> PerLayerBlock<B> {
    /// `None` for a model without per-layer embeddings.
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Option<Self>> {
        let (n_layers, hidden) = (weights.architecture.layers.len(), weights.hidden);
        let Some(width) = width(weights.weights, n_layers)? else { return Ok(None) };
        Ok(Some(Self {
            gate: weights.linear("inp_gate", width, hidden)?,
            projection: weights.linear("proj", hidden, width)?,
            output_norm: weights.norm("post_norm", hidden)?,
            layer: weights.layer,
            width,
        }))
    }
}

/// Values that a layer has for each token; `None` for a model without per-layer embeddings.
pub(crate) fn width(weights: &Weights, n_layers: usize) -> Result<Option<usize>> {
    let name = names::per_layer_table(weights);
    match weights.shape(&name) {
        None => Ok(None),
        Some(&[_, columns]) if columns.is_multiple_of(n_layers) => Ok(Some(columns / n_layers)),
        Some(shape) => Err(invalid(format!(
            "tensor {name} must have a row for each token with values for {n_layers} layers, found shape {shape:?}"
        ))),
    }
}
