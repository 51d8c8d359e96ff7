//! States of sequences that have ended, kept for prompts that go on from them.
//!
//! A function's result, or the next question, makes a prompt that begins with all that was read and written before; with
//! the state of that sequence only the rest is read. A state cannot be rolled back, so it serves only a prompt that
//! begins with every one of its tokens. It is taken out, used, and kept again at the end.

use crate::model::State;

/// Bytes of all states together at most.
const CAPACITY: usize = 512 << 20;
/// States at most.
const MOST_STATES: usize = 256;

/// States by the tokens they have read, the one used last at the end.
#[derive(Default)]
pub(crate) struct PrefixCache {
    kept: Vec<Kept>,
}

struct Kept {
    tokens: Vec<u32>,
    state: State,
}

impl PrefixCache {
    /// The state that has read most of this prompt, but not all: the last token must be read for its logits.
    pub(crate) fn take(&mut self, prompt: &[u32]) -> Option<State> {
        let begins = |kept: &Kept| kept.tokens.len() < prompt.len() && prompt.starts_with(&kept.tokens);
        let fitting = self.kept.iter().enumerate().filter(|(_, kept)| begins(kept));
        let (at, _) = fitting.max_by_key(|(_, kept)| kept.tokens.len())?;
        Some(self.kept.remove(at).state)
    }

    /// Keeps the state that has read these tokens, and lets go of the oldest ones beyond the capacity.
    pub(crate) fn keep(&mut self, tokens: Vec<u32>, state: State) {
        self.kept.push(Kept { tokens, state });
        let mut n_bytes: usize = self.kept.iter().map(|kept| kept.state.n_bytes()).sum();
        let mut oldest = 0;
        while CAPACITY < n_bytes || MOST_STATES < self.kept.len() - oldest {
            n_bytes -= self.kept[oldest].state.n_bytes();
            oldest += 1;
        }
        self.kept.drain(..oldest);
    }
}
