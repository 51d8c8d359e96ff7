//! Language models: positions in, logits out.
//!
//! One decoder serves all families. A [`Checkpoint`] says how a model's differs, `survey` checks that its tensors agree, and `sizes`
//! derives what the model takes in memory. The decoder is a stack of layers, each
//! `attention`, a `short_convolution` or a `delta_net`, then a `feed_forward` block or a mixture of `experts`. [`Network`] is the interface
//! of what computes: `native` on the CPU, `gpu` in WGSL, and `candle` with tensors, each a folder of its own.

mod attention;
mod backend;
#[cfg(feature = "candle")]
mod candle;
mod compute;
mod decoder;
mod delta_net;
mod dense;
mod embedding;
mod experts;
mod feed_forward;
#[cfg(feature = "gpu")]
mod gpu;
mod heads;
mod hearing;
mod layer;
mod layer_weights;
mod linear;
#[cfg(feature = "gpu")]
mod moving;
mod native;
mod network;
mod operations;
mod pass;
mod per_layer;
mod progress;
mod saved_state;
mod short_convolution;
mod silent;
mod sizes;
pub(crate) mod speech;
mod stack;
mod stored;
mod survey;
mod taps;
#[cfg(test)]
pub(crate) mod tests;
mod tower;
mod whisper;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::checkpoint::Checkpoint;
use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::{PackedWeights, Weights};

use backend::CopyOutcome;
use compute::LoadedNetwork;
use silent::SilentNetwork;

pub(crate) use backend::UsedGpu;
pub(crate) use causerie_backend::give_memory_back;
pub(crate) use compute::Compute;
#[cfg(all(feature = "gpu", test))]
pub(crate) use compute::DecoderGpu;
pub(crate) use decoder::embedding_shape;
pub(crate) use delta_net::{DeltaHeads, DeltaNet};
pub(crate) use embedding::{EmbeddingModelNetwork, TextTokens, WantedRows};
pub(crate) use heads::Heads;
pub(crate) use hearing::SoundEncoder;
pub(crate) use layer::{Layer, Operator};
pub(crate) use native::{hearing_bytes, speech_bytes, vision_bytes, weight_bytes};
pub(crate) use network::{
    ContentRows, ForwardOutcome, Inputs, Network, PerSequence, SequenceState, Step, TokenChoice, WantedChoice,
};
pub(crate) use progress::{LoadProgress, report_progress};
pub(crate) use sizes::{PREFILL_CHUNK, Sizes};
pub(crate) use speech::{SpokenStream, Voice};
pub(crate) use survey::{Survey, survey};
pub(crate) use tower::VisionTower;
pub(crate) use whisper::{HeardWindow, WhisperModel};

/// How long weights are copied at a time, while nothing is computed: a reply that begins waits no longer.
const COPY_TIME: Duration = Duration::from_millis(8);

/// A model in memory.
pub(crate) struct Model {
    network: Box<dyn Network>,
    context_size: usize,
    /// The file that matrices are read from.
    packed: Option<Arc<PackedWeights>>,
    /// Whether matrices are still to be copied from it.
    copies: AtomicBool,
    /// Why it was not loaded on the device that was asked for.
    note: Option<String>,
}

impl Model {
    /// Loads a model, and takes the matrices from packed weights, if there are any. A sequence may have `context_size` positions at
    /// most, or as many as the model was made for. Reports progress before each layer; the caller reports that loading is complete.
    pub(crate) fn load(
        files: &Weights,
        packed: Option<Arc<PackedWeights>>,
        compute: Compute,
        context_size: usize,
        progress: LoadProgress<'_>,
    ) -> Result<Self> {
        let checkpoint = Checkpoint::read(files)?;
        checkpoint.check_writes()?;
        Self::of_checkpoint(checkpoint, packed, compute, context_size, progress)
    }

    /// As [`load`](Self::load), for a model whose prompts are computed as a whole, each in one step.
    pub(crate) fn load_whole(
        files: &Weights,
        compute: Compute,
        context_size: usize,
        progress: LoadProgress<'_>,
    ) -> Result<Self> {
        Self::of_checkpoint(Checkpoint::read(files)?, None, compute, context_size, progress)
    }

    fn of_checkpoint(
        mut checkpoint: Checkpoint,
        packed: Option<Arc<PackedWeights>>,
        compute: Compute,
        context_size: usize,
        progress: LoadProgress<'_>,
    ) -> Result<Self> {
        survey(&checkpoint)?;
        checkpoint.architecture.limit_context(context_size);
        packed.iter().for_each(|packed| checkpoint.tensors.set_packed(Arc::clone(packed)));
        let checkpoint = Arc::new(checkpoint);
        let LoadedNetwork { network, note } = compute.load(&checkpoint, progress)?;
        let copies = AtomicBool::new(packed.as_ref().is_some_and(|packed| packed.copies()));
        Ok(Self { network, context_size: checkpoint.architecture.context_size, packed, copies, note })
    }

    /// A model of any network.
    pub(crate) fn new(network: Box<dyn Network>, context_size: usize) -> Self {
        Self { network, context_size, packed: None, copies: AtomicBool::new(false), note: None }
    }

    /// A model that writes nothing: replies are errors.
    pub(crate) fn silent(n_vocabulary: usize, hidden: usize, context_size: usize) -> Self {
        Self::new(Box::new(SilentNetwork { n_vocabulary, hidden }), context_size)
    }

    /// Copies mapped weights to memory that is read faster, for some milliseconds. Returns whether more are to be copied.
    pub(crate) fn copy_mapped(&self) -> bool {
        if !self.copies.load(Ordering::Relaxed) {
            return false;
        }
        let outcome = self.network.copy_mapped(Instant::now() + COPY_TIME);
        if outcome == CopyOutcome::Complete {
            self.packed.iter().for_each(|packed| packed.set_copied());
        }
        self.copies.store(outcome == CopyOutcome::Unfinished, Ordering::Relaxed);
        outcome == CopyOutcome::Unfinished
    }

    /// As [`Network::gpu`].
    pub(crate) fn gpu(&self) -> Option<UsedGpu> {
        self.network.gpu()
    }

    /// Why the model is not computed on the device that was asked for; `None` if it is.
    pub(crate) fn device_note(&self) -> Option<String> {
        self.network.device_note().or_else(|| self.note.clone())
    }

    /// As [`Network::leave_full`].
    pub(crate) fn leave_full(&self) {
        self.network.leave_full();
    }

    /// As [`Network::adopt`].
    pub(crate) fn adopt(&self, state: Box<dyn SequenceState>) -> Option<Box<dyn SequenceState>> {
        self.network.adopt(state)
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

    /// As [`Network::forward`]; an error for every step if another program has written to the file of the weights.
    pub(crate) fn forward(&self, steps: &mut [Step<'_>]) -> PerSequence<Result<ForwardOutcome>> {
        if let Some(Err(err)) = self.packed.as_ref().map(|packed| packed.check_unchanged()) {
            return steps.iter().map(|_| Err(err.clone())).collect();
        }
        self.network.forward(steps)
    }

    /// Computes a sequence of its own, and the logits of the last position.
    ///
    /// # Errors
    /// As [`forward_one`](Self::forward_one).
    pub(crate) fn forward_alone(&self, inputs: Inputs<'_>, logits: &mut Vec<f32>) -> Result<()> {
        loop {
            // A network moves once.
            match self.step_one(inputs, &mut *self.start()?, logits)? {
                ForwardOutcome::Moved => {}
                ForwardOutcome::Full => self.leave_full(),
                ForwardOutcome::NotYet if self.network.wait() => {}
                outcome => return done(outcome),
            }
        }
    }

    /// Computes positions of one sequence, and the logits of the last of them.
    ///
    /// # Errors
    /// The errors of [`forward`](Self::forward), and [`ErrorKind::Internal`] for a network that has to wait.
    #[cfg(test)]
    pub(crate) fn forward_one(
        &self,
        inputs: Inputs<'_>,
        state: &mut (dyn SequenceState + 'static),
        logits: &mut Vec<f32>,
    ) -> Result<()> {
        done(self.step_one(inputs, state, logits)?)
    }

    fn step_one(
        &self,
        inputs: Inputs<'_>,
        state: &mut (dyn SequenceState + 'static),
        logits: &mut Vec<f32>,
    ) -> Result<ForwardOutcome> {
        let step = Step { inputs, state, logits, n_logits: 1, choice: None, hidden: None, content: None };
        self.forward(&mut [step]).pop().unwrap_or(Ok(ForwardOutcome::NotYet))
    }
}

fn done(outcome: ForwardOutcome) -> Result<()> {
    match outcome {
        ForwardOutcome::Done => Ok(()),
        _ => Err(SdkError::new(ErrorKind::Internal, "the model computed no logits")),
    }
}
