//! LFM2: a stack of layers, each a short convolution or attention, then a feed-forward block.
//!
//! Our own rather than candle's: that one takes feed-forward sizes from a formula which holds for one model only, and
//! forgets the convolution's state when a prompt arrives in chunks. Sizes here come from the tensors.

use candle_core::quantized::QMatMul;
use candle_core::{Device, Module, Result as TensorResult, Tensor};
use candle_nn::ops::rms_norm;

use crate::error::Result;
use crate::model::attention::Rope;
use crate::model::layer::Layer;
use crate::model::state::State;
use crate::model::{Architecture, names, wrong};
use crate::weights::Weights;

/// An LFM2 model.
pub(crate) struct Lfm2 {
    embedding: QMatMul,
    layers: Vec<Layer>,
    output_norm: Tensor,
    /// `None` when the embedding serves for the logits as well.
    head: Option<QMatMul>,
    norm_eps: f32,
    rope_theta: f32,
    n_vocabulary: usize,
}

impl Lfm2 {
    pub(crate) fn load(weights: &Weights, architecture: &Architecture) -> Result<Self> {
        let embedding = names::embedding(weights);
        let Some(&[n_vocabulary, hidden]) = weights.shape(embedding) else {
            return Err(wrong(format!("tensor {embedding} is missing or no matrix")));
        };
        let head = names::head(weights);
        let head = weights.shape(head).map(|_| weights.matrix(head, (n_vocabulary, hidden))).transpose()?;
        let norm_eps = architecture.norm_eps as f32; // the tensors' own precision
        let layers = (0..architecture.n_layers).map(|layer| Layer::load(weights, layer, hidden, norm_eps));
        Ok(Self {
            embedding: weights.matrix(embedding, (n_vocabulary, hidden))?,
            layers: layers.collect::<Result<_>>()?,
            output_norm: weights.floats(names::output_norm(weights), &[hidden])?,
            head,
            norm_eps,
            rope_theta: architecture.rope_theta,
            n_vocabulary,
        })
    }

    pub(crate) fn n_vocabulary(&self) -> usize {
        self.n_vocabulary
    }

    pub(crate) fn start(&self) -> State {
        State::new(self.layers.iter().map(Layer::start).collect())
    }

    /// Reads tokens and returns the logits after the last one.
    pub(crate) fn forward(&self, ids: &[u32], state: &mut State) -> TensorResult<Vec<f32>> {
        let rope = Rope::new(self.rope_theta, state.n_tokens, ids.len());
        let ids = Tensor::new(ids, &Device::Cpu)?;
        let mut x = self.embedding.embedding(&ids)?; // (time, hidden)
        for (layer, state) in self.layers.iter().zip(&mut state.layers) {
            x = layer.forward(&x, &rope, state)?;
        }
        let n_read = ids.elem_count();
        state.n_tokens += n_read;
        let last = x.narrow(0, n_read - 1, 1)?.contiguous()?;
        let last = rms_norm(&last, &self.output_norm, self.norm_eps)?;
        let logits = self.head.as_ref().unwrap_or(&self.embedding).forward(&last)?;
        logits.flatten_all()?.to_vec1()
    }
}
