//! The step that the model computes next for a reply: a chunk of its prompt, or its newest tokens with draft tokens after
//! them.

use std::time::Instant;

use smallvec::SmallVec;

use crate::model::PREFILL_CHUNK;

/// The tokens of one step.
pub(super) struct StepPlan {
    pub(super) begun: Instant,
    pub(super) ids: SmallVec<[u32; 8]>,
    /// The end of the step's tokens in the sequence, without draft tokens.
    pub(super) end: usize,
    n_drafted: usize,
}

impl StepPlan {
    /// Plans the step after the first `n_computed` tokens; `is_end` says whether a token ends a message.
    pub(super) fn after(n_computed: usize, tokens: &[u32], is_end: impl Fn(&u32) -> bool) -> Self {
        let end = chunk_end(tokens, n_computed, is_end);
        Self { begun: Instant::now(), ids: SmallVec::from_slice(&tokens[n_computed..end]), end, n_drafted: 0 }
    }

    /// Adds draft tokens to the step.
    pub(super) fn add_draft(&mut self, draft: &[u32]) {
        self.ids.extend_from_slice(draft);
        self.n_drafted += draft.len();
    }

    /// The draft tokens.
    pub(super) fn draft(&self) -> &[u32] {
        &self.ids[self.ids.len() - self.n_drafted..]
    }

    /// Takes the step's tokens out of a budget, without its draft tokens if necessary. Returns false if they exceed it. A
    /// single token costs next to nothing beside others.
    pub(super) fn fit(&mut self, n_left: &mut usize) -> bool {
        if *n_left < self.ids.len() {
            self.drop_draft();
        }
        if self.ids.len() <= 1 {
            return true;
        }
        n_left.checked_sub(self.ids.len()).map(|left| *n_left = left).is_some()
    }

    /// Shortens the step to so many tokens, but to one at least, and drops its draft tokens.
    pub(super) fn shorten(&mut self, n_tokens: usize) {
        self.drop_draft();
        let n_dropped = self.ids.len().saturating_sub(n_tokens.max(1));
        self.ids.truncate(self.ids.len() - n_dropped);
        self.end -= n_dropped;
    }

    fn drop_draft(&mut self) {
        self.ids.truncate(self.ids.len() - self.n_drafted);
        self.n_drafted = 0;
    }
}

/// The end of the next step: after the first message, which holds the functions, or after the last message within a chunk,
/// because snapshots are taken there; otherwise after a whole chunk.
fn chunk_end(tokens: &[u32], start: usize, is_end: impl Fn(&u32) -> bool) -> usize {
    let limit = tokens.len().min(start + PREFILL_CHUNK);
    let is_first = !tokens[..start].iter().any(&is_end);
    let chunk = &tokens[start..limit];
    let end = if is_first { chunk.iter().position(is_end) } else { chunk.iter().rposition(is_end) };
    end.map_or(limit, |at| start + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(n_known: usize, n_drafted: usize) -> StepPlan {
        let tokens = vec![0; 10 + n_known];
        let mut plan = StepPlan::after(10, &tokens, |_| false);
        plan.add_draft(&vec![0; n_drafted]);
        plan
    }

    #[track_caller]
    fn check_fit(mut plan: StepPlan, n_left: usize, expect: (bool, usize, usize)) {
        let mut left = n_left;
        let fits = plan.fit(&mut left);
        assert_eq!((fits, plan.draft().len(), left), expect);
    }

    #[test]
    fn draft_tokens_are_dropped_first() {
        check_fit(plan(3, 4), 9, (true, 4, 2));
        check_fit(plan(3, 4), 6, (true, 0, 3));
        check_fit(plan(3, 4), 2, (false, 0, 2));
        check_fit(plan(1, 4), 0, (true, 0, 0));
        check_fit(plan(PREFILL_CHUNK, 0), PREFILL_CHUNK, (true, 0, 0));
    }

    #[test]
    fn a_shortened_step_ends_where_its_tokens_do() {
        for (n_tokens, expect) in [(0, 1), (2, 2), (9, 5)] {
            let mut plan = plan(5, 4);
            plan.shorten(n_tokens);
            assert_eq!((plan.ids.len(), plan.end, plan.draft().len()), (expect, 10 + expect, 0));
        }
    }
}
