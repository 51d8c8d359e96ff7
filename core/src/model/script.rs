//! A model that says what it is told, for tests of apps and of our own bindings.
//!
//! Every step of every reply is a token of its own, so the token read last tells what comes next, and everything around
//! the model, from the sampler to the stream, does what it always does.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::Step;
use crate::model::state::{LayerState, State};

/// What a scripted model does where another would compute a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Says the token of this step.
    Say,
    /// Ends the reply.
    End,
    /// Fails with a message.
    Fail(String),
    /// Computes until the reply is cancelled.
    Stall,
    /// Panics, as a fault of our own would.
    Panic,
}

pub(crate) struct Script {
    /// The acts of all replies, one reply after the other; each is a token.
    acts: Vec<Act>,
    /// Where each reply begins.
    starts: Vec<usize>,
    /// The token of the first act, and the one that ends a reply.
    first_id: u32,
    end_id: u32,
    next_reply: AtomicUsize,
}

impl Script {
    /// Replies to be said in order. Their acts are the tokens from `first_id` on.
    pub(crate) fn new(replies: Vec<Vec<Act>>, first_id: u32, end_id: u32) -> Self {
        let (mut acts, mut starts) = (Vec::new(), Vec::new());
        for reply in replies {
            starts.push(acts.len());
            acts.extend(reply);
            acts.push(Act::End);
        }
        Self { acts, starts, first_id, end_id, next_reply: AtomicUsize::new(0) }
    }

    pub(crate) fn n_vocabulary(&self) -> usize {
        self.first_id as usize + self.acts.len()
    }

    pub(crate) fn start(&self) -> State {
        State::new(vec![LayerState::Script(None)])
    }

    /// Reads tokens of a prompt.
    pub(crate) fn read(&self, ids: &[u32], state: &mut State) {
        state.n_tokens += ids.len();
    }

    /// Reads tokens and says the next; false, with nothing read, while it stalls.
    pub(super) fn forward(&self, step: &mut Step<'_>) -> Result<bool> {
        let Step { ids, state, logits, .. } = step;
        let (at, chosen) = match ids.last().and_then(|id| id.checked_sub(self.first_id)) {
            Some(said) => (Some(said as usize + 1), None),
            None => {
                let reply = self.choose(state);
                (self.starts.get(reply).copied(), Some(reply))
            }
        };
        let act = at.and_then(|at| Some((at, self.acts.get(at)?)));
        let (at, act) = act.ok_or_else(|| failed("the script has no further reply"))?;
        let id = match act {
            Act::Say => self.first_id + at as u32,
            Act::End => self.end_id,
            Act::Fail(message) => return Err(failed(message)),
            Act::Stall => {
                state.layers = vec![LayerState::Script(chosen)];
                return Ok(false);
            }
            #[expect(clippy::panic, reason = "the panic is what the script asks for")]
            Act::Panic => panic!("the script panics"),
        };
        self.read(ids, state);
        logits.clear();
        logits.resize(self.n_vocabulary(), f32::NEG_INFINITY);
        logits[id as usize] = 0.0;
        Ok(true)
    }

    /// The reply to a prompt: the next one, or the one that the prompt's stalled attempt has chosen.
    fn choose(&self, state: &mut State) -> usize {
        match std::mem::replace(&mut state.layers, vec![LayerState::Script(None)])[..] {
            [LayerState::Script(Some(reply))] => reply,
            _ => self.next_reply.fetch_add(1, Ordering::Relaxed),
        }
    }
}

fn failed(message: &str) -> SdkError {
    SdkError::new(ErrorKind::Generation, message)
}
