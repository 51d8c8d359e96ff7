//! States of sequences, kept for prompts that begin as they did.
//!
//! A function's result, the next question, or another conversation with the same functions makes a prompt that begins
//! with tokens which were read before; only the rest is read again. States are snapshots that share their keys and
//! values (see `model::state`), taken at ends of messages, because that is where prompts part. A state without
//! convolutions serves from any token, one with them only from its own end. What a session file says that the model has
//! read cannot be checked without reading it again; so what comes of it serves that session's conversation alone.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::State;

/// Whom a state serves: all prompts, or a conversation that was restored from a file, and its forks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owner(Option<u64>);

impl Owner {
    /// One that nobody else is.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(Some(NEXT.fetch_add(1, Ordering::Relaxed)))
    }
}

/// Beginnings of the state used last that are kept although there is no room.
const MOST_BEGINNINGS: usize = 3;

/// States by the tokens they have read, the one used last at the end.
pub(crate) struct PrefixCache {
    kept: Vec<Kept>,
    /// Bytes of all states together at most, but for the one used last and its beginnings: a conversation that outgrows
    /// them alone would be read anew with every turn, and its state was there while it was written anyway. With 0 none is
    /// kept.
    most_bytes: usize,
    most_states: usize,
}

struct Kept {
    tokens: Vec<u32>,
    state: State,
    owner: Owner,
}

impl Kept {
    /// Tokens of a prompt that this state can stand for: never all, since the last one is read for its logits.
    fn serves(&self, prompt: &[u32], owner: Owner) -> usize {
        if self.owner != Owner::default() && self.owner != owner {
            return 0;
        }
        let common = self.tokens.iter().zip(prompt).take_while(|(kept, wanted)| kept == wanted).count();
        let most = common.min(prompt.len().saturating_sub(1));
        if self.tokens.len() <= most || self.state.can_be_cut() { most } else { 0 }
    }
}

impl PrefixCache {
    pub(crate) fn new(most_bytes: usize, most_states: usize) -> Self {
        Self { kept: Vec::new(), most_bytes, most_states }
    }

    /// A state that has read the longest known beginning of a prompt, but not all of it: everyone's, or the owner's own.
    pub(crate) fn find(&mut self, prompt: &[u32], owner: Owner) -> Option<State> {
        let served = self.kept.iter().map(|kept| kept.serves(prompt, owner)).enumerate();
        let (at, n_tokens) = served.max_by_key(|(_, n_tokens)| *n_tokens).filter(|(_, n_tokens)| 0 < *n_tokens)?;
        let kept = self.kept.remove(at);
        let state = kept.state.cut(n_tokens);
        self.kept.push(kept);
        state
    }

    /// The state to let go of first, while all take more than they may: the oldest, but for the one used last and what it began
    /// with. Those share its keys and values, and serve where it does not, when what it has read is written otherwise.
    fn too_much(&self) -> Option<usize> {
        let n_bytes = State::n_bytes(self.kept.iter().map(|kept| &kept.state));
        let (last, older) = self.kept.split_last().filter(|_| self.most_bytes < n_bytes)?;
        let is_beginning = |kept: &Kept| last.tokens.starts_with(&kept.tokens);
        let other = older.iter().position(|kept| !is_beginning(kept));
        other.or((MOST_BEGINNINGS < older.len()).then_some(0))
    }

    /// Keeps the state that has read these tokens, for all prompts or those of its owner, and lets go of the oldest ones
    /// beyond the capacity.
    pub(crate) fn keep(&mut self, tokens: &[u32], state: State, owner: Owner) {
        let can_be_cut = state.can_be_cut();
        // What the new state can do as well is not kept twice.
        let is_replaced = |kept: &Kept| kept.tokens == tokens || can_be_cut && tokens.starts_with(&kept.tokens);
        self.kept.retain(|kept| kept.owner != owner || !is_replaced(kept));
        self.kept.push(Kept { tokens: tokens.to_vec(), state, owner });
        let most_states = if self.most_bytes == 0 { 0 } else { self.most_states };
        self.kept.drain(..self.kept.len().saturating_sub(most_states));
        while let Some(at) = self.too_much() {
            self.kept.remove(at);
        }
    }
}
