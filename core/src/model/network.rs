//! The interface between the engine and what computes: a loaded network, and the state of a sequence in it.
//!
//! An implementation lives in a folder or crate of its own and knows no other one: `native` for the CPU, `candle` for
//! Metal, and the scripted network in [`testing`](crate::testing).

use std::any::Any;
use std::collections::HashSet;
use std::time::Instant;

use smallvec::SmallVec;

use crate::error::Result;
use crate::model::backend::{CopyOutcome, UsedGpu};
use crate::position::EmbeddedLayout;

/// One value for each sequence of a pass. Up to this many sequences need no allocation.
pub(crate) type PerSequence<T> = SmallVec<[T; 8]>;

/// A model's weights together with the code that computes with them.
pub(crate) trait Network: Send + Sync {
    /// Number of logits: the size of the vocabulary, with padding if the file has any.
    fn n_vocabulary(&self) -> usize;

    /// Values of an embedding row.
    fn hidden_size(&self) -> usize;

    /// Whether computing several sequences together costs less than one after the other.
    fn shares_passes(&self) -> bool;

    /// The state before the first position.
    fn start(&self) -> Result<Box<dyn SequenceState>>;

    /// The state that [`SequenceState::save`] has written; `None` if the bytes are damaged or come from a network whose
    /// states have another shape or storage format.
    fn load_state(&self, bytes: &[u8]) -> Option<Box<dyn SequenceState>>;

    /// Computes the steps of several sequences in one pass over the weights, one outcome for each step. The result of a
    /// sequence does not depend on the others. After an error the state of the sequence must not be used.
    fn forward(&self, steps: &mut [Step<'_>]) -> PerSequence<Result<ForwardOutcome>>;

    /// Leaves a device that is [full](ForwardOutcome::Full), because nothing can be freed there.
    fn leave_full(&self) {}

    /// Waits until a step that was [not yet](ForwardOutcome::NotYet) computed can be tried again. Returns false if nobody knows when.
    fn wait(&self) -> bool {
        false
    }

    /// Takes over a state from before the network [moved](ForwardOutcome::Moved); `None` if it is lost.
    fn adopt(&self, state: Box<dyn SequenceState>) -> Option<Box<dyn SequenceState>> {
        Some(state)
    }

    /// Why the network is not computed on the device that it was loaded on.
    fn device_note(&self) -> Option<String> {
        None
    }

    /// The GPU that computes; `None` on the CPU.
    fn gpu(&self) -> Option<UsedGpu> {
        None
    }

    /// Copies mapped weights to memory that is read faster, until the deadline. Results are the same before and after.
    fn copy_mapped(&self, _deadline: Instant) -> CopyOutcome {
        CopyOutcome::Complete
    }
}

/// What a network remembers of the positions of one sequence.
///
/// A clone shares memory with its original, so that a snapshot costs next to nothing.
pub(crate) trait SequenceState: Any + Send {
    /// Number of positions computed so far.
    fn n_positions(&self) -> usize;

    /// Whether [`cut`](Self::cut) can return to any position. A convolution keeps only its last inputs, so a state with
    /// convolutions can return only to its own end, or into a step that asked for the logits of several positions.
    fn can_be_cut(&self) -> bool;

    /// The state after the first `n_positions`, if it can still be had.
    fn cut(&self, n_positions: usize) -> Option<Box<dyn SequenceState>>;

    /// Bytes in memory, without the shared parts whose ids are in `counted`; the ids of the others are added to it.
    fn n_bytes(&self, counted: &mut HashSet<usize>) -> usize;

    /// The state as bytes; `None` if it cannot outlive its network.
    fn save(&self) -> Result<Option<Vec<u8>>>;

    /// Whether a step that failed has left it half changed.
    fn is_spoiled(&self) -> bool {
        false
    }

    /// Drops what was computed ahead of the positions so far.
    fn drop_ahead(&mut self) {}

    fn clone_box(&self) -> Box<dyn SequenceState>;
}

impl Clone for Box<dyn SequenceState> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

/// What a sequence adds to a pass over the weights.
pub(crate) struct Step<'a> {
    /// At least one position.
    pub(crate) inputs: Inputs<'a>,
    pub(crate) state: &'a mut (dyn SequenceState + 'static),
    /// Its content is replaced by the logits, one row after the other. A buffer that is reused needs no allocation.
    pub(crate) logits: &'a mut Vec<f32>,
    /// Number of last positions whose logits are computed. If there are several, and the network
    /// [shares passes](Network::shares_passes), the state can be cut back to any of these positions.
    pub(crate) n_logits: usize,
    /// If given, a network may put the most probable token here in place of the logits of the last position, where that is faster.
    pub(crate) choice: Option<WantedChoice<'a>>,
    /// If given, its content is replaced by the vector that the logits of the last position are computed from.
    pub(crate) hidden: Option<&'a mut Vec<f32>>,
    /// Which rows of content a step of rows has, and how they lie in the sequence.
    pub(crate) content: Option<ContentRows>,
}

impl Step<'_> {
    /// The same step, for a part of its time.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the CPU computes all steps of a pass"))]
    pub(crate) fn reborrow(&mut self) -> Step<'_> {
        Step {
            inputs: self.inputs,
            state: &mut *self.state,
            logits: &mut *self.logits,
            n_logits: self.n_logits,
            choice: self.choice.as_mut().map(WantedChoice::reborrow),
            hidden: self.hidden.as_deref_mut(),
            content: self.content,
        }
    }
}

/// The most probable token of one position.
pub(crate) struct WantedChoice<'a> {
    /// Tokens from which it is chosen: the padding of a vocabulary has logits without tokens.
    pub(crate) n_tokens: usize,
    /// `None` if the logits are given instead.
    pub(crate) chosen: &'a mut Option<TokenChoice>,
    /// Whether a step with that token may follow, so that it can be begun at once.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the CPU begins no step ahead"))]
    pub(crate) goes_on: bool,
}

impl WantedChoice<'_> {
    /// The same wish, for a part of its time.
    pub(crate) fn reborrow(&mut self) -> WantedChoice<'_> {
        WantedChoice { n_tokens: self.n_tokens, chosen: &mut *self.chosen, goes_on: self.goes_on }
    }
}

/// The most probable token, as [`Sampler::pick`](crate::sample::Sampler::pick) finds it in the logits.
#[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the CPU gives its logits"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenChoice {
    Token(u32),
    /// All logits are minus infinity.
    Nothing,
    /// A logit is positive infinity, or not a number.
    NotFinite,
}

/// Rows of embedded content from a first one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentRows {
    pub(crate) first: usize,
    pub(crate) layout: EmbeddedLayout,
}

/// The positions of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inputs<'a> {
    Tokens(&'a [u32]),
    /// Rows that take the place of rows of the embedding, `(n_rows, hidden)`. If a family scales the embeddings of tokens,
    /// the scale is not applied to these rows.
    Rows {
        rows: &'a [f32],
        n_rows: usize,
    },
}

impl Inputs<'_> {
    /// Number of positions.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Tokens(tokens) => tokens.len(),
            Self::Rows { n_rows, .. } => *n_rows,
        }
    }

    /// Whether rows, if these are rows, are as wide as the network's.
    pub(crate) fn fits(&self, hidden_size: usize) -> bool {
        match self {
            Self::Tokens(_) => true,
            Self::Rows { rows, n_rows } => n_rows.checked_mul(hidden_size) == Some(rows.len()),
        }
    }
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForwardOutcome {
    /// The positions were computed, and the logits are there.
    Done,
    /// Nothing was computed: the network waits for something. The same step is tried again the next time that the engine
    /// is woken.
    NotYet,
    /// Nothing was computed, because the device has no memory left for the sequence. The step is tried again once other states are
    /// dropped, or after [`leave_full`](Network::leave_full).
    #[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the CPU has no limit"))]
    Full,
    /// Nothing was computed: what computed the network is gone, and something else takes its place. All states must be
    /// [adopted](Network::adopt) before the step is tried again; the positions of those that are lost must be computed anew.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the CPU stays where it is"))]
    Moved,
}
