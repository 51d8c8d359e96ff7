//! Language models: positions in, logits out.
//!
//! One decoder serves all families. `description` reads what a model's files say into an `architecture`; `family` holds what
//! the files leave out, and `sizes` derives what the model takes in memory. The decoder is a stack of layers, each
//! `attention`, a `short_convolution` or a `delta_net`, then a `feed_forward` block or a mixture of `experts`. [`Network`] is the interface
//! of what computes: `native` on the CPU and `candle` on Metal, each a folder of its own.

mod architecture;
mod attention;
mod backend;
#[cfg(feature = "candle")]
mod candle;
mod compute;
mod config;
mod config_object;
mod config_rope;
mod decoder;
mod delta_net;
mod dense;
mod description;
mod experts;
mod export;
mod export_delta_net;
mod export_metadata;
mod exported_tensor;
mod family;
mod feed_forward;
mod heads;
mod invalid;
mod layer;
mod layer_weights;
mod linear;
mod metadata;
mod names;
mod native;
mod network;
mod operations;
mod pass;
mod per_layer;
mod progress;
mod rope;
mod saved_state;
mod short_convolution;
mod sizes;
mod taps;
mod vision;
#[cfg(test)]
mod tests;

use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::Weights;

pub(crate) use architecture::Architecture;
pub(crate) use causerie_backend::give_memory_back;
pub(crate) use compute::Compute;
pub(crate) use decoder::embedding_shape;
pub(crate) use description::read as read_architecture;
pub(crate) use export::tensors as exported_tensors;
pub(crate) use export_metadata::metadata as exported_metadata;
pub(crate) use exported_tensor::{ExportSource, ExportedTensor, FolderRows};
pub(crate) use names::exported_architecture;
pub(crate) use native::{TowerPass, VisionTower, vision_bytes};
pub(crate) use network::{ForwardOutcome, Inputs, Network, PerSequence, SequenceState, Step};
pub(crate) use progress::{LoadProgress, report_progress};
pub(crate) use sizes::{PREFILL_CHUNK, Sizes};
pub(crate) use vision::{ImageTokens, VisionArchitecture};

/// A model in memory.
pub(crate) struct Model {
    network: Box<dyn Network>,
    context_size: usize,
}

impl Model {
    /// A sequence may have `context_size` positions at most, or as many as the model was made for. Reports progress before
    /// each layer; the caller reports that loading is complete.
    pub(crate) fn load(
        weights: &Weights,
        compute: Compute,
        context_size: usize,
        progress: LoadProgress<'_>,
    ) -> Result<Self> {
        let mut architecture = description::read(weights)?;
        architecture.limit_context(context_size);
        let network = compute.load(weights, &architecture, progress)?;
        Ok(Self { network, context_size: architecture.context_size })
    }

    /// A model of any network.
    pub(crate) fn new(network: Box<dyn Network>, context_size: usize) -> Self {
        Self { network, context_size }
    }

    /// Positions that a sequence may have.
    pub(crate) fn context_size(&self) -> usize {
        self.context_size
    }

    /// As [`Network::n_vocabulary`].
    pub(crate) fn n_vocabulary(&self) -> usize {
        self.network.n_vocabulary()
    }

    /// As [`Network::hidden_size`].
    pub(crate) fn hidden_size(&self) -> usize {
        self.network.hidden_size()
    }

    /// As [`Network::shares_passes`].
    pub(crate) fn shares_passes(&self) -> bool {
        self.network.shares_passes()
    }

    /// As [`Network::start`].
    pub(crate) fn start(&self) -> Result<Box<dyn SequenceState>> {
        self.network.start()
    }

    /// As [`Network::load_state`].
    pub(crate) fn load_state(&self, bytes: &[u8]) -> Option<Box<dyn SequenceState>> {
        self.network.load_state(bytes)
    }

    /// As [`Network::forward`].
    pub(crate) fn forward(&self, steps: &mut [Step<'_>]) -> PerSequence<Result<ForwardOutcome>> {
        self.network.forward(steps)
    }

    /// Computes positions of one sequence, and the logits of the last of them.
    ///
    /// # Errors
    /// The errors of [`forward`](Self::forward), and [`ErrorKind::Internal`] for a network that has to wait.
    pub(crate) fn forward_one(
        &self,
        inputs: Inputs<'_>,
        state: &mut (dyn SequenceState + 'static),
        logits: &mut Vec<f32>,
    ) -> Result<()> {
        match self.forward(&mut [Step { inputs, state, logits, n_logits: 1 }]).pop() {
            Some(Ok(ForwardOutcome::Done)) => Ok(()),
            Some(Err(err)) => Err(err),
            _ => Err(SdkError::new(ErrorKind::Internal, "the model computed no logits")),
        }
    }
}
