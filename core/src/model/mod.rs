//! Language models: token ids in, logits out.
//!
//! One decoder for all families, on candle tensors. `architecture` is what a model's files say, read by `metadata` or
//! by `config`; `family` is what the code knows besides, `sizes` what follows for memory. The decoder is a stack of
//! layers, each `attention` or a `short_convolution`, then a `feed_forward` block or a mixture of `experts`. A `script`
//! stands in for it in tests.

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
mod saved_state;
mod script;
mod short_convolution;
mod sizes;
mod state;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::Weights;

use architecture::Architecture;
use decoder::Decoder;

pub(crate) use script::{Act, Script};
pub(crate) use sizes::Sizes;
pub(crate) use state::State;

/// A model in memory.
pub(crate) struct Model {
    network: Network,
    context_size: usize,
}

/// Hears how far loading is, from 0 to 1; `Break` cancels it.
pub(crate) type Progress<'a> = &'a mut dyn FnMut(f32) -> ControlFlow<()>;

enum Network {
    Decoder(Decoder),
    Script(Script),
}

impl Model {
    pub(crate) fn load(weights: &Weights, progress: Progress<'_>) -> Result<Self> {
        let architecture = Architecture::read(weights)?;
        let network = Network::Decoder(Decoder::load(weights, &architecture, progress)?);
        Ok(Self { network, context_size: architecture.context_size })
    }

    pub(crate) fn scripted(script: Script, context_size: usize) -> Self {
        Self { network: Network::Script(script), context_size }
    }

    /// Tokens that the model was made to hold in view.
    pub(crate) fn context_size(&self) -> usize {
        self.context_size
    }

    /// How many logits there are: the vocabulary, padded or not.
    pub(crate) fn n_vocabulary(&self) -> usize {
        match &self.network {
            Network::Decoder(decoder) => decoder.n_vocabulary(),
            Network::Script(script) => script.n_vocabulary(),
        }
    }

    /// The state before the first token.
    pub(crate) fn start(&self) -> State {
        match &self.network {
            Network::Decoder(decoder) => decoder.start(),
            Network::Script(script) => script.start(),
        }
    }

    /// Reads tokens behind which the prompt goes on, at least one.
    pub(crate) fn read(&self, ids: &[u32], state: &mut State) -> Result<()> {
        match &self.network {
            Network::Decoder(decoder) => decoder.read(ids, state).map(drop).map_err(failed),
            Network::Script(script) => {
                script.read(ids, state);
                Ok(())
            }
        }
    }

    /// Reads tokens, at least one, and returns the logits after the last of them; `None`, with nothing read, while there
    /// is nothing to say yet, as scripts can have it.
    pub(crate) fn forward(&self, ids: &[u32], state: &mut State) -> Result<Option<Vec<f32>>> {
        match &self.network {
            Network::Decoder(decoder) => decoder.forward(ids, state).map(Some).map_err(failed),
            Network::Script(script) => script.forward(ids, state),
        }
    }
}

fn failed(err: candle_core::Error) -> SdkError {
    SdkError::new(ErrorKind::Generation, "the model's computation failed").caused_by(err)
}

/// An error of the model's description.
fn wrong(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}
