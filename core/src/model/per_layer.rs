//! Per-layer embeddings: beside its embedding, a token has a short vector for each layer, which gates what the layer adds to
//! the residual stream at its end.
//!
//! For the embedding `x` of a token, `p = (norm(projection x / sqrt(hidden)) + row * sqrt(width)) / sqrt(2)`, where the norm
//! is that of each layer's part. A layer adds `norm(projection(gelu(gate x) * p))`.

use crate::checkpoint::{Architecture, invalid};
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::layer_weights::LayerWeights;
use crate::model::linear::Linear;
use crate::weights::{MatrixPlace, RowTable, TensorPart, Tensors};

/// The table, the map from a token's embedding to its per-layer vectors, and the norm of these.
pub(crate) const TABLE: &str = "per_layer_token_embd.weight";
const PROJECTION: &str = "per_layer_model_proj.weight";
const NORM: &str = "per_layer_proj_norm.weight";

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
        tensors: &Tensors,
        architecture: &Architecture,
        (n_vocabulary, hidden): (usize, usize),
    ) -> Result<Option<Self>> {
        let n_layers = architecture.layers.len();
        let Some(width) = width(tensors, n_layers)? else { return Ok(None) };
        let n_values = n_layers * width;
        let place = MatrixPlace { name: PROJECTION, shape: (n_values, hidden), part: TensorPart::Whole };
        Ok(Some(Self {
            table: tensors.row_table(TABLE, (n_vocabulary, n_values))?,
            projection: Linear { weight: backend.matrix(tensors, &place)?, bias: None },
            norm: backend.vector(tensors.floats(NORM, &[width])?)?,
            width,
            hidden,
        }))
    }
}

impl<B: Backend> PerLayerBlock<B> {
    /// `None` for a model without per-layer embeddings.
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Option<Self>> {
        let (n_layers, hidden) = (weights.architecture.layers.len(), weights.hidden);
        let Some(width) = width(weights.tensors, n_layers)? else { return Ok(None) };
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
pub(crate) fn width(tensors: &Tensors, n_layers: usize) -> Result<Option<usize>> {
    let name = tensors.file_name(TABLE);
    match tensors.shape(TABLE) {
        None => Ok(None),
        Some(&[_, columns]) if columns.is_multiple_of(n_layers) => Ok(Some(columns / n_layers)),
        Some(shape) => Err(invalid(format!(
            "tensor {name} must have a row for each token with values for {n_layers} layers, found shape {shape:?}"
        ))),
    }
}
