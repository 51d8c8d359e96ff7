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

    /// Takes its tokens out of those that a step has left, without its guesses if need be; false when they are too many. A
    /// single one costs next to nothing beside others.
    pub(super) fn fit(&mut self, n_left: &mut usize) -> bool {
        if *n_left < self.ids.len() {
            self.drop_draft();
        }
        if self.ids.len() <= 1 {
            return true;
        }
        n_left.checked_sub(self.ids.len()).map(|left| *n_left = left).is_some()
    }

    /// Makes do with so many tokens of those that are known, and with one at least.
    pub(super) fn shorten(&mut self, n_tokens: usize) {
        self.drop_draft();
        let n_dropped = self.ids.len().saturating_sub(n_tokens.max(1));
        self.ids.truncate(self.ids.len() - n_dropped);
        self.end -= n_dropped;
    }

    fn drop_draft(&mut self) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(n_known: usize, n_guessed: usize) -> Reading {
        let tokens = vec![0; 10 + n_known];
        let mut reading = Reading::behind(10, &tokens, |_| false);
        reading.guess(&vec![0; n_guessed]);
        reading
    }

    #[track_caller]
    fn check_fit(mut reading: Reading, n_left: usize, expect: (bool, usize, usize)) {
        let mut left = n_left;
        let has_room = reading.fit(&mut left);
        assert_eq!((has_room, reading.draft().len(), left), expect);
    }

    #[test]
    fn guesses_are_the_first_to_go() {
        check_fit(reading(3, 4), 9, (true, 4, 2));
        check_fit(reading(3, 4), 6, (true, 0, 3));
        check_fit(reading(3, 4), 2, (false, 0, 2));
        check_fit(reading(1, 4), 0, (true, 0, 0));
        check_fit(reading(PREFILL_CHUNK, 0), PREFILL_CHUNK, (true, 0, 0));
    }

    #[test]
    fn a_shortened_reading_ends_where_its_tokens_do() {
        for (n_tokens, expect) in [(0, 1), (2, 2), (9, 5)] {
            let mut reading = reading(5, 4);
            reading.shorten(n_tokens);
            assert_eq!((reading.ids.len(), reading.end, reading.draft().len()), (expect, 10 + expect, 0));
        }
    }
}
