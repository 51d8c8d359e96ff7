//! The decoder that all families are: an embedding, a stack of layers, a norm, and the logits.
//!
//! Our own rather than candle's: those take sizes from formulas or descriptions, and theirs of LFM2 forgets the
//! convolution's state when a prompt arrives in chunks. Sizes here come from the tensors.

use std::ops::ControlFlow;

use candle_core::quantized::QMatMul;
use candle_core::{Module, Result as TensorResult, Tensor};
use candle_nn::ops::rms_norm;

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::architecture::Architecture;
use crate::model::layer::{Layer, LayerWeights};
use crate::model::state::State;
use crate::model::{Progress, wrong};
use crate::weights::Weights;

pub(crate) struct Decoder {
    embedding: QMatMul,
    layers: Vec<Layer>,
    output_norm: Tensor,
    /// `None` when the embedding serves for the logits as well.
    head: Option<QMatMul>,
    norm_eps: f32,
    n_vocabulary: usize,
}

impl Decoder {
    pub(crate) fn load(weights: &Weights, architecture: &Architecture, progress: Progress<'_>) -> Result<Self> {
        let (n_vocabulary, hidden) = embedding_shape(weights)?;
        let n_layers = architecture.layers.len();
        let layers = (0..n_layers).map(|layer| {
            tell(progress, layer as f32 / n_layers as f32)?;
            Layer::load(&LayerWeights { weights, architecture, layer, hidden })
        });
        let layers = layers.collect::<Result<_>>()?;
        let head = head(weights, architecture);
        let decoder = Self {
            embedding: weights.matrix(embedding(weights), (n_vocabulary, hidden))?,
            layers,
            output_norm: weights.floats(&output_norm(weights, architecture), &[hidden])?,
            head: head.map(|head| weights.matrix(head, (n_vocabulary, hidden))).transpose()?,
            norm_eps: architecture.norm_eps,
            n_vocabulary,
        };
        tell(progress, 1.0)?;
        Ok(decoder)
    }

    pub(crate) fn n_vocabulary(&self) -> usize {
        self.n_vocabulary
    }

    pub(crate) fn start(&self) -> State {
        State::new(self.layers.iter().map(Layer::start).collect())
    }

    /// Reads tokens and returns what the last layer makes of them, `(time, hidden)`.
    pub(crate) fn read(&self, ids: &[u32], state: &mut State) -> TensorResult<Tensor> {
        let ids = Tensor::new(ids, self.output_norm.device())?;
        let mut x = self.embedding.embedding(&ids)?; // (time, hidden)
        for (layer, layer_state) in self.layers.iter().zip(&mut state.layers) {
            x = layer.forward(&x, state.n_tokens, layer_state)?;
        }
        state.n_tokens += ids.elem_count();
        Ok(x)
    }

    /// Reads tokens and returns the logits after the last one.
    pub(crate) fn forward(&self, ids: &[u32], state: &mut State) -> TensorResult<Vec<f32>> {
        let x = self.read(ids, state)?;
        let last = x.narrow(0, ids.len() - 1, 1)?.contiguous()?;
        let last = rms_norm(&last, &self.output_norm, self.norm_eps)?;
        let logits = self.head.as_ref().unwrap_or(&self.embedding).forward(&last)?;
        logits.flatten_all()?.to_vec1()
    }
}

fn tell(progress: Progress<'_>, share: f32) -> Result<()> {
    match progress(share) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(SdkError::new(ErrorKind::LoadCancelled, "loading was cancelled")),
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
        Some(shape) => Err(wrong(format!("tensor {name} has shape {shape:?}, expected a matrix"))),
        None => Err(weights.missing(name)),
    }
}

/// The norm before the logits. GGUF files of LFM2 call it the embedding's, all others and its older ones the output's.
fn output_norm(weights: &Weights, architecture: &Architecture) -> String {
    match weights {
        Weights::Gguf(_) if weights.shape("token_embd_norm.weight").is_none() => "output_norm.weight".to_owned(),
        Weights::Gguf(_) => "token_embd_norm.weight".to_owned(),
        Weights::Folder(_) => format!("{}.weight", architecture.family.folder_output_norm()),
    }
}

/// The matrix of the logits, where it is not the embedding.
pub(crate) fn head(weights: &Weights, architecture: &Architecture) -> Option<&'static str> {
    let name = match weights {
        Weights::Gguf(_) => "output.weight",
        Weights::Folder(_) => "lm_head.weight",
    };
    // Where nothing is stated, the tensor tells.
    let is_tied = architecture.is_tied.unwrap_or_else(|| weights.shape(name).is_none());
    (!is_tied).then_some(name)
}
