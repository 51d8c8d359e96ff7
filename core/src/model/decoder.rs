//! The decoder that all families are: an embedding, a stack of layers, a norm, and the logits.
//!
//! Sizes come from the tensors, because formulas and descriptions are wrong for some models.

use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::backend::Backend;
use crate::model::invalid::invalid;
use crate::model::layer::Layer;
use crate::model::layer_weights::LayerWeights;
use crate::model::progress::{LoadProgress, report_progress};
use crate::weights::{MatrixPlace, Weights};

pub(crate) struct Decoder<B: Backend> {
    pub(crate) embedding: B::Matrix,
    pub(crate) layers: Vec<Layer<B>>,
    pub(crate) output_norm: B::Vector,
    /// `None` if the embedding also gives the logits.
    pub(crate) head: Option<B::Matrix>,
    pub(crate) norm_eps: f32,
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
        let n_layers = architecture.layers.len();
        let layers = (0..n_layers).map(|layer| {
            report_progress(progress, layer as f32 / n_layers as f32)?;
            Layer::load(&LayerWeights { backend: &backend, weights, architecture, layer, hidden })
        });
        let layers = layers.collect::<Result<_>>()?;
        let matrix =
            |name: &str| backend.matrix(weights, &MatrixPlace { name, shape: (n_vocabulary, hidden), of_stack: None });
        Ok(Self {
            embedding: matrix(embedding(weights))?,
            layers,
            output_norm: backend.vector(weights.floats(&output_norm(weights, architecture), &[hidden])?)?,
            head: head(weights, architecture).map(matrix).transpose()?,
            norm_eps: architecture.norm_eps,
            n_vocabulary,
            hidden,
            backend,
        })
    }

    /// The matrix that gives the logits.
    pub(crate) fn head(&self) -> &B::Matrix {
        self.head.as_ref().unwrap_or(&self.embedding)
    }
}

/// The embedding of tokens.
fn embedding(weights: &Weights) -> &'static str {
    match weights {
        Weights::Gguf(_) => "token_embd.weight",
        Weights::Folder(_) => "model.embed_tokens.weight",
    }
}

/// Vocabulary and hidden size.
pub(crate) fn embedding_shape(weights: &Weights) -> Result<(usize, usize)> {
    let name = embedding(weights);
    match weights.shape(name) {
        Some(&[n_vocabulary, hidden]) => Ok((n_vocabulary, hidden)),
        Some(shape) => Err(invalid(format!("tensor {name} must be a matrix, found shape {shape:?}"))),
        None => Err(weights.missing(name)),
    }
}

/// The norm before the logits. Newer GGUF files of LFM2 name it after the embedding, all others after the output.
fn output_norm(weights: &Weights, architecture: &Architecture) -> String {
    match weights {
        Weights::Gguf(_) if weights.shape("token_embd_norm.weight").is_none() => "output_norm.weight".to_owned(),
        Weights::Gguf(_) => "token_embd_norm.weight".to_owned(),
        Weights::Folder(_) => format!("{}.weight", architecture.family.folder_output_norm()),
    }
}

/// The matrix that gives the logits, if it is not the embedding.
fn head(weights: &Weights, architecture: &Architecture) -> Option<&'static str> {
    let name = match weights {
        Weights::Gguf(_) => "output.weight",
        Weights::Folder(_) => "lm_head.weight",
    };
    // Without a description, the tensor decides. A matrix with other values was trained after the two had been tied.
    let is_tied = match architecture.is_tied {
        None => weights.shape(name).is_none(),
        Some(is_tied) => is_tied && !weights.differ(name, embedding(weights)),
    };
    (!is_tied).then_some(name)
}
