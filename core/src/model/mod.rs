//! Language models: token ids in, logits out.
//!
//! One decoder for all families, on candle tensors. `architecture` is what a model's files say, read by `metadata` or
//! by `config`; `family` is what the code knows besides, `sizes` what follows for memory. The decoder is a stack of layers, each `attention` or a
//! `short_convolution`, then a `feed_forward` block or a mixture of `experts`.

mod architecture;
mod attention;
mod config;
mod decoder;
mod experts;
mod family;
mod feed_forward;
mod layer;
mod linear;
mod metadata;
mod rope;
mod short_convolution;
mod sizes;
mod state;
#[cfg(test)]
mod tests;

use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::Weights;

use architecture::Architecture;
use decoder::Decoder;

pub(crate) use sizes::Sizes;
pub(crate) use state::State;

/// A model in memory.
pub(crate) struct Model {
    decoder: Decoder,
    context_size: usize,
}

impl Model {
    pub(crate) fn load(weights: &Weights) -> Result<Self> {
        let architecture = Architecture::read(weights)?;
        let decoder = Decoder::load(weights, &architecture)?;
        Ok(Self { decoder, context_size: architecture.context_size })
    }

    /// Tokens that the model was made to hold in view.
    pub(crate) fn context_size(&self) -> usize {
        self.context_size
    }

    /// How many logits there are: the vocabulary, padded or not.
    pub(crate) fn n_vocabulary(&self) -> usize {
        self.decoder.n_vocabulary()
    }

    /// The state before the first token.
    pub(crate) fn start(&self) -> State {
        self.decoder.start()
    }

    /// Reads tokens, all at least one, and returns the logits after the last of them.
    pub(crate) fn forward(&self, ids: &[u32], state: &mut State) -> Result<Vec<f32>> {
        self.decoder
            .forward(ids, state)
            .map_err(|err| SdkError::new(ErrorKind::Generation, "the model's computation failed").caused_by(err))
    }
}

/// An error of the model's description.
fn wrong(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}
