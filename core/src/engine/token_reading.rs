//! What is read after a prompt in place of a reply, and where the prompt leaves its state.

use crate::position::Position;

/// What is read after a prompt.
pub(crate) struct TokenReading {
    /// Tokens of the vocabulary.
    pub(crate) ids: Vec<u32>,
    /// The lengths of the prompt's beginnings whose states are kept for other prompts, in order. Without one, the prompt leaves no
    /// state: hundreds of questions about one text would drive everything else out of the cache.
    pub(crate) kept: Vec<usize>,
}

impl TokenReading {
    /// The positions up to which the next step may go: to the end of the next beginning, so that its state can be kept. Also whether
    /// steps end with messages: after the first beginning they leave no state, so they needn't.
    pub(super) fn within<'a>(&self, positions: &'a [Position], n_computed: usize) -> (&'a [Position], bool) {
        let next = self.kept.iter().find(|n_kept| n_computed < **n_kept);
        (next.map_or(positions, |n_kept| &positions[..*n_kept]), self.is_in_first(n_computed))
    }

    /// Whether the state after so many positions is kept. `is_pause` says whether that of a reply would be.
    pub(super) fn is_kept(&self, n_computed: usize, is_pause: bool) -> bool {
        self.kept.contains(&n_computed) || is_pause && self.is_in_first(n_computed)
    }

    fn is_in_first(&self, n_computed: usize) -> bool {
        self.kept.first().is_some_and(|n_kept| n_computed < *n_kept)
    }
}
