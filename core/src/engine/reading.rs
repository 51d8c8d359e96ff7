//! What the model reads next for a reply: a stretch of its prompt, or what was written last, with guesses behind it.

use std::time::Instant;

use smallvec::SmallVec;

/// Prompt tokens read in one step; a cancel waits for one step at most.
pub(crate) const PREFILL_CHUNK: usize = 128;

/// Tokens that the model reads next.
pub(super) struct Reading {
    pub(super) begun: Instant,
    pub(super) ids: SmallVec<[u32; 8]>,
    /// Where those end that are known.
    pub(super) end: usize,
    n_guessed: usize,
}

impl Reading {
    /// Reads on behind the first `n_read` tokens; `is_end` tells those that end messages.
    pub(super) fn behind(n_read: usize, tokens: &[u32], is_end: impl Fn(&u32) -> bool) -> Self {
        let end = stretch_end(tokens, n_read, is_end);
        Self { begun: Instant::now(), ids: SmallVec::from_slice(&tokens[n_read..end]), end, n_guessed: 0 }
    }

    /// Reads guesses along.
    pub(super) fn guess(&mut self, draft: &[u32]) {
        self.ids.extend_from_slice(draft);
        self.n_guessed += draft.len();
    }

    /// The guesses.
    pub(super) fn draft(&self) -> &[u32] {
        &self.ids[self.ids.len() - self.n_guessed..]
    }

    /// Makes do without guesses.
    pub(super) fn drop_draft(&mut self) {
        self.ids.truncate(self.ids.len() - self.n_guessed);
        self.n_guessed = 0;
    }
}

/// Where the next step ends: behind the first message, which holds the functions, or behind the last one in reach, for
/// the snapshots that are kept there; else as far as a step goes.
fn stretch_end(tokens: &[u32], start: usize, is_end: impl Fn(&u32) -> bool) -> usize {
    let reach = tokens.len().min(start + PREFILL_CHUNK);
    let is_first = !tokens[..start].iter().any(&is_end);
    let stretch = &tokens[start..reach];
    let end = if is_first { stretch.iter().position(is_end) } else { stretch.iter().rposition(is_end) };
    end.map_or(reach, |at| start + at + 1)
}
