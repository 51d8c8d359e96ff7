//! A network that plays a script.
//!
//! Every step of every reply is a token of its own, so the last token determines the next one. Everything around the
//! network, from the sampler to the stream, works as with any other network.

use std::any::Any;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::{ForwardOutcome, Inputs, Network, PerSequence, SequenceState, Step};

/// What the network does where another one would compute a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Says the token of this step.
    Say,
    /// Ends the reply.
    End,
    /// Fails with a message.
    Fail(String),
    /// Waits until the reply is cancelled.
    Stall,
    /// Panics, as a fault of our own would.
    Panic,
}

pub(super) struct ScriptedNetwork {
    /// The acts of all replies, one reply after the other; each is a token.
    acts: Vec<Act>,
    /// Where each reply begins.
    starts: Vec<usize>,
    /// The token of the first act, and the one that ends a reply.
    first_id: u32,
    end_id: u32,
    next_reply: AtomicUsize,
}

/// Positions are only counted.
struct ScriptedState {
    n_positions: usize,
    /// The reply that was chosen for the prompt, if it stalled before its first token. A copy of the state chooses anew.
    chosen: Option<usize>,
}

impl ScriptedNetwork {
    /// A network that gives these replies in order. Their acts are the tokens from `first_id` on.
    pub(super) fn new(replies: Vec<Vec<Act>>, first_id: u32, end_id: u32) -> Self {
        let (mut acts, mut starts) = (Vec::new(), Vec::new());
        for reply in replies {
            starts.push(acts.len());
            acts.extend(reply);
            acts.push(Act::End);
        }
        Self { acts, starts, first_id, end_id, next_reply: AtomicUsize::new(0) }
    }

    fn compute(&self, step: &mut Step<'_>) -> Result<ForwardOutcome> {
        let Some(state) = (&mut *step.state as &mut dyn Any).downcast_mut::<ScriptedState>() else {
            return Err(SdkError::new(ErrorKind::Internal, "the state belongs to another network"));
        };
        step.logits.clear();
        if 0 < step.n_logits {
            let last = match step.inputs {
                Inputs::Tokens(tokens) => tokens.last(),
                Inputs::Rows { .. } => None,
            };
            let Some(id) = self.next_token(last, state)? else { return Ok(ForwardOutcome::NotYet) };
            step.logits.resize(self.n_vocabulary(), f32::NEG_INFINITY);
            step.logits[id as usize] = 0.0;
        }
        state.n_positions += step.inputs.len();
        Ok(ForwardOutcome::Done)
    }

    /// The token after the last one, or the first of a reply; `None` while the script stalls.
    fn next_token(&self, last: Option<&u32>, state: &mut ScriptedState) -> Result<Option<u32>> {
        let (at, chosen) = match last.and_then(|id| id.checked_sub(self.first_id)) {
            Some(said) => (Some(said as usize + 1), None),
            None => {
                let reply = state.chosen.take().unwrap_or_else(|| self.next_reply.fetch_add(1, Ordering::Relaxed));
                (self.starts.get(reply).copied(), Some(reply))
            }
        };
        let act = at.and_then(|at| Some((at, self.acts.get(at)?)));
        let (at, act) = act.ok_or_else(|| failed("the script has no further reply"))?;
        match act {
            Act::Say => Ok(Some(self.first_id + at as u32)),
            Act::End => Ok(Some(self.end_id)),
            Act::Fail(message) => Err(failed(message)),
            Act::Stall => {
                state.chosen = chosen;
                Ok(None)
            }
            #[expect(clippy::panic, reason = "the script asks for the panic")]
            Act::Panic => panic!("the script panics"),
        }
    }
}

impl Network for ScriptedNetwork {
    fn n_vocabulary(&self) -> usize {
        self.first_id as usize + self.acts.len()
    }

    fn hidden_size(&self) -> usize {
        1 // rows are only counted
    }

    fn shares_passes(&self) -> bool {
        false
    }

    fn start(&self) -> Result<Box<dyn SequenceState>> {
        Ok(Box::new(ScriptedState { n_positions: 0, chosen: None }))
    }

    fn load_state(&self, _bytes: &[u8]) -> Option<Box<dyn SequenceState>> {
        None
    }

    fn forward(&self, steps: &mut [Step<'_>]) -> PerSequence<Result<ForwardOutcome>> {
        // A panic of the script ends only its own reply.
        let guarded = |step| catch_unwind(AssertUnwindSafe(|| self.compute(step)));
        let panicked = |_| Err(SdkError::new(ErrorKind::Internal, "the engine failed on this reply"));
        steps.iter_mut().map(|step| guarded(step).unwrap_or_else(panicked)).collect()
    }
}

impl SequenceState for ScriptedState {
    fn n_positions(&self) -> usize {
        self.n_positions
    }

    fn can_be_cut(&self) -> bool {
        false
    }

    fn cut(&self, n_positions: usize) -> Option<Box<dyn SequenceState>> {
        (n_positions == self.n_positions).then(|| self.clone_box())
    }

    fn n_bytes(&self, _counted: &mut HashSet<usize>) -> usize {
        size_of::<Self>()
    }

    fn save(&self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn clone_box(&self) -> Box<dyn SequenceState> {
        Box::new(Self { n_positions: self.n_positions, chosen: None })
    }
}

fn failed(message: &str) -> SdkError {
    SdkError::new(ErrorKind::Generation, message)
}
