//! Language models: token ids in, logits out.
//!
//! Today one architecture, LFM2, on candle tensors.

mod attention;
mod layer;
mod lfm2;
mod names;
mod short_convolution;
mod state;
#[cfg(test)]
mod tests;

use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::Weights;

use lfm2::Lfm2;

pub(crate) use state::State;

/// A model in memory.
pub(crate) struct Model {
    lfm2: Lfm2,
    context_size: usize,
}

/// The architecture that a file names, as far as it can be computed.
struct Architecture {
    norm_eps: f64,
    rope_theta: f32,
    n_layers: usize,
    context_size: usize,
}

impl Model {
    pub(crate) fn load(weights: &Weights) -> Result<Self> {
        let architecture = architecture(weights)?;
        let lfm2 = Lfm2::load(weights, &architecture)?;
        Ok(Self { lfm2, context_size: architecture.context_size })
    }

    /// Tokens that the model was made to hold in view.
    pub(crate) fn context_size(&self) -> usize {
        self.context_size
    }

    /// How many logits there are: the vocabulary, padded or not.
    pub(crate) fn n_vocabulary(&self) -> usize {
        self.lfm2.n_vocabulary()
    }

    /// The state before the first token.
    pub(crate) fn start(&self) -> State {
        self.lfm2.start()
    }

    /// Reads tokens, all at least one, and returns the logits after the last of them.
    pub(crate) fn forward(&self, ids: &[u32], state: &mut State) -> Result<Vec<f32>> {
        self.lfm2
            .forward(ids, state)
            .map_err(|err| SdkError::new(ErrorKind::Generation, "the model's computation failed").caused_by(err))
    }
}

fn architecture(weights: &Weights) -> Result<Architecture> {
    let architecture = match weights {
        Weights::Gguf(file) => names::from_gguf(file)?,
        Weights::Folder(folder) => names::from_config(folder.config())?,
    };
    let is_fine = (1..=1024).contains(&architecture.n_layers)
        && (1..=1 << 24).contains(&architecture.context_size)
        && architecture.norm_eps.is_finite()
        && 0.0 < architecture.norm_eps
        && architecture.rope_theta.is_finite()
        && 0.0 < architecture.rope_theta;
    if is_fine { Ok(architecture) } else { Err(wrong("its sizes are out of any range")) }
}

/// An error of the model's description.
fn wrong(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}
