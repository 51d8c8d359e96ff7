//! The decoder that all families are: an embedding, a stack of layers, a norm, and the logits.
//!
//! Sizes come from the tensors, because formulas and descriptions are wrong for some models.

use crate::error::{Result, SdkError};
use crate::model::architecture::{Architecture, Scales};
use crate::model::backend::Backend;
use crate::model::invalid::invalid;
use crate::model::layer::Layer;
use crate::model::layer_weights::{LayerWeights, norm_weight};
use crate::model::linear::Linear;
use crate::model::names;
use crate::model::per_layer::PerLayerEmbedding;
use crate::model::progress::{LoadProgress, report_progress};
use crate::weights::{MatrixPlace, TensorPart, Weights};

pub(crate) struct Decoder<B: Backend> {
    pub(crate) embedding: Linear<B>,
    pub(crate) per_layer: Option<PerLayerEmbedding<B>>,
    pub(crate) layers: Vec<Layer<B>>,
    pub(crate) output_norm: B::Vector,
    /// `None` if the embedding also gives the logits.
    pub(crate) head: Option<Linear<B>>,
    pub(crate) norm_eps: f32,
    pub(crate) scales: Scales,
    pub(crate) n_vocabulary: usize,
    pub(crate) hidden: usize,
    pub(crate) backend: B,
}

impl<B: Backend> Decoder<B> {
    pub(crate) fn load(
        backend: B,
        weights: &Weights,
        architecture: &Architecture,
        progress: LoadProgress<'_>,
    ) -> Result<Self> {
        let (n_vocabulary, hidden) = embedding_shape(weights)?;
        let (prefix, n_layers) = (names::folder_prefix(weights), architecture.layers.len());
        let layers = (0..n_layers).map(|layer| {
            report_progress(progress, layer as f32 / n_layers as f32)?;
            Layer::load(&LayerWeights { backend: &backend, weights, architecture, prefix, layer, hidden })
        });
        let layers = layers.collect::<Result<_>>()?;
        let output_norm = names::output_norm(weights, architecture);
        let matrix = |name: &str| {
            let place = MatrixPlace { name, shape: (n_vocabulary, hidden), part: TensorPart::Whole };
            Ok::<_, SdkError>(Linear { weight: backend.matrix(weights, &place)?, bias: None })
        };
        Ok(Self {
            embedding: matrix(&names::embedding(weights))?,
            per_layer: PerLayerEmbedding::load(&backend, weights, architecture, (n_vocabulary, hidden))?,
            layers,
            output_norm: backend.vector(norm_weight(weights, architecture.family, &output_norm, hidden)?)?,
            head: names::head(weights, architecture).map(matrix).transpose()?,
            norm_eps: architecture.norm_eps,
            scales: scales(architecture, hidden),
            n_vocabulary,
            hidden,
            backend,
        })
    }

    /// The map that gives the logits.
    pub(crate) fn head(&self) -> &Linear<B> {
        self.head.as_ref().unwrap_or(&self.embedding)
    }
}

/// Vocabulary and hidden size.
pub(crate) fn embedding_shape(weights: &Weights) -> Result<(usize, usize)> {
    let name = names::embedding(weights);
    match weights.shape(&name) {
        Some(&[n_vocabulary, hidden]) => Ok((n_vocabulary, hidden)),
        Some(shape) => Err(invalid(format!("tensor {name} must be a matrix, found shape {shape:?}"))),
        None => Err(weights.missing(&name)),
    }
}

fn scales(architecture: &Architecture, hidden: usize) -> Scales {
    let embedding = match architecture.family.scales_embedding {
        true => (hidden as f32).sqrt(),
        false => architecture.scales.embedding,
    };
    Scales { embedding, ..architecture.scales }
}
