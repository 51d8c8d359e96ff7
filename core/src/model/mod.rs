//! Language models: token ids in, logits out.
//!
//! One decoder for all families. `architecture` is what a model's files say, read by `metadata` or by `config`; `family`
//! is what the code knows besides, `sizes` what follows for memory. The decoder is a stack of layers, each `attention` or
//! a `short_convolution`, then a `feed_forward` block or a mixture of `experts`. What computes stands behind the seam of
//! `backend`: `native` on the CPU, `candle` on Metal. A `script` stands in for it all in tests.

mod architecture;
mod attention;
mod backend;
mod candle;
mod config;
mod decoder;
mod experts;
mod family;
mod feed_forward;
mod layer;
mod linear;
mod metadata;
mod native;
mod rope;
mod saved_state;
mod script;
mod short_convolution;
mod sizes;
mod state;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use causerie_backend::{CacheType, Cpu};
use smallvec::SmallVec;

use crate::error::{ErrorKind, Result, SdkError};
use crate::options::{Device, LoadOptions};
use crate::weights::Weights;

use architecture::Architecture;
use candle::Candle;
use decoder::Decoder;
use native::Native;

pub(crate) use script::{Act, Script};
pub(crate) use sizes::{PREFILL_CHUNK, Sizes};
pub(crate) use state::State;

/// As many as sequences are read together; more than these few take memory of their own.
pub(crate) type PerSequence<T> = SmallVec<[T; 8]>;

/// A sequence's part in a pass over the weights.
pub(crate) struct Step<'a> {
    /// The tokens to read, at least one.
    pub(crate) ids: &'a [u32],
    pub(crate) state: &'a mut State,
    /// What was there is replaced by the logits, those of one token behind the other. Kept from step to step, they need no
    /// new memory.
    pub(crate) logits: &'a mut Vec<f32>,
    /// After how many tokens, counted from the last, logits are wanted. Where it is several, and
    /// [passes are shared](Model::shares_passes), the state can be cut back to any of these tokens.
    pub(crate) n_logits: usize,
}

/// A model in memory.
pub(crate) struct Model {
    network: Network,
    context_size: usize,
}

/// What a model computes with.
pub(crate) enum Compute {
    /// Threads count the one that calls.
    Native {
        n_threads: usize,
        cache_type: CacheType,
    },
    Candle(candle_core::Device),
}

impl Compute {
    /// # Errors
    /// [`ErrorKind::InvalidOption`] when this build, or this machine, has no such device.
    pub(crate) fn new(options: &LoadOptions) -> Result<Self> {
        match options.device {
            Device::Cpu if !Cpu::is_known() => Ok(Self::Candle(candle_core::Device::Cpu)),
            Device::Cpu => {
                let n_threads = options.threads.unwrap_or_else(causerie_backend::fast_cores);
                Ok(Self::Native { n_threads, cache_type: options.cache_type })
            }
            Device::Metal => candle_core::Device::new_metal(0).map(Self::Candle).map_err(|err| {
                let message = "device is Metal, which this build or this machine does not have";
                SdkError::new(ErrorKind::InvalidOption("device"), message).caused_by(err)
            }),
        }
    }
}

impl Compute {
    /// What keys and values are kept as.
    pub(crate) fn cache_type(&self) -> CacheType {
        match self {
            Self::Native { cache_type, .. } => *cache_type,
            Self::Candle(_) => CacheType::F32,
        }
    }
}

/// Hears how far loading is, from 0 to 1; `Break` cancels it.
pub(crate) type Progress<'a> = &'a mut dyn FnMut(f32) -> ControlFlow<()>;

/// # Errors
/// [`ErrorKind::LoadCancelled`] after `Break`.
pub(crate) fn tell(progress: Progress<'_>, share: f32) -> Result<()> {
    match progress(share) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(SdkError::new(ErrorKind::LoadCancelled, "loading was cancelled")),
    }
}

enum Network {
    Native(Box<Decoder<Native>>),
    Candle(Box<Decoder<Candle>>),
    Script(Script),
}

impl Model {
    /// Tells how far it is before each layer; that all is loaded is for the caller to tell.
    pub(crate) fn load(weights: &Weights, compute: Compute, progress: Progress<'_>) -> Result<Self> {
        let architecture = Architecture::read(weights)?;
        let network = match compute {
            Compute::Native { n_threads, cache_type } => {
                let native = Native::new(n_threads, cache_type);
                Network::Native(Box::new(Decoder::load(native, weights, &architecture, progress)?))
            }
            Compute::Candle(device) => {
                Network::Candle(Box::new(Decoder::load(Candle { device }, weights, &architecture, progress)?))
            }
        };
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
            Network::Native(decoder) => decoder.n_vocabulary,
            Network::Candle(decoder) => decoder.n_vocabulary,
            Network::Script(script) => script.n_vocabulary(),
        }
    }

    /// The state before the first token.
    pub(crate) fn start(&self) -> Result<State> {
        match &self.network {
            Network::Native(decoder) => Ok(decoder.start()),
            Network::Candle(decoder) => decoder.start().map_err(failed),
            Network::Script(script) => Ok(script.start()),
        }
    }

    /// Reads tokens of one sequence, for the logits after the last of them.
    ///
    /// # Errors
    /// As each of [`forward`](Self::forward)'s; a script that stalls is one here.
    pub(crate) fn forward_one(&self, ids: &[u32], state: &mut State, logits: &mut Vec<f32>) -> Result<()> {
        match self.forward(&mut [Step { ids, state, logits, n_logits: 1 }]).pop() {
            Some(Ok(true)) => Ok(()),
            Some(Err(err)) => Err(err),
            _ => Err(SdkError::new(ErrorKind::Internal, "the model has nothing to say")),
        }
    }

    /// Whether sequences that are read together cost less than one after the other.
    pub(crate) fn shares_passes(&self) -> bool {
        matches!(self.network, Network::Native(_))
    }

    /// Reads the tokens of several sequences in one pass over the weights; what comes of a sequence does not depend on the
    /// others. Says of each whether it was read: not while there is nothing to say yet, as scripts can have it.
    pub(crate) fn forward(&self, steps: &mut [Step<'_>]) -> PerSequence<Result<bool>> {
        match &self.network {
            Network::Native(decoder) => {
                decoder.forward(steps);
                steps.iter().map(|_| Ok(true)).collect()
            }
            Network::Candle(decoder) => {
                let one = |step: &mut Step<'_>| {
                    match step.n_logits {
                        0 => drop(decoder.read(step.ids, step.state)?),
                        n_logits => *step.logits = decoder.forward(step.ids, step.state, n_logits)?,
                    }
                    Ok(true)
                };
                steps.iter_mut().map(|step| one(step).map_err(failed)).collect()
            }
            Network::Script(script) => {
                let one = |step: &mut Step<'_>| match step.n_logits {
                    0 => {
                        script.read(step.ids, step.state);
                        Ok(true)
                    }
                    _ => script.forward(step),
                };
                // A script that panics ends its own reply alone.
                let guarded = |step| catch_unwind(AssertUnwindSafe(|| one(step)));
                let panicked = |_| Err(SdkError::new(ErrorKind::Internal, "the engine failed on this reply"));
                steps.iter_mut().map(|step| guarded(step).unwrap_or_else(panicked)).collect()
            }
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
