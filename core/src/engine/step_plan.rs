//! The step that the model computes next for a reply: a chunk of its prompt, or its newest tokens with draft tokens after
//! them.

use std::ops::Range;
use std::time::Instant;

use smallvec::SmallVec;

use crate::model::PREFILL_CHUNK;
use crate::position::{ContentDigest, Position, tokens, uniform_end};

/// The positions of one step.
pub(super) struct StepPlan {
    pub(super) begun: Instant,
    pub(super) inputs: PlannedInputs,
    /// The end of the step's positions in the sequence, without draft tokens.
    pub(super) end: usize,
    n_drafted: usize,
}

/// What the model computes in a step: never tokens and rows together.
pub(super) enum PlannedInputs {
    Tokens(SmallVec<[u32; 8]>),
    /// Rows of the embedding of one content.
    Rows {
        digest: ContentDigest,
        rows: Range<usize>,
    },
    /// The rows of contents that have one row each, which needs no computation: frames of sound that were spoken before.
    KnownRows(Vec<ContentDigest>),
}

impl StepPlan {
    /// Plans the step after the first `n_computed` positions; `is_end` says whether a token ends a message, `is_known` whether
    /// a content has one row that needs no computation, and `is_whole` whether its rows are computed in one step.
    pub(super) fn after(
        n_computed: usize,
        positions: &[Position],
        is_end: impl Fn(u32) -> bool,
        is_known: impl Fn(ContentDigest) -> bool,
        is_whole: impl Fn(ContentDigest) -> bool,
    ) -> Self {
        let known = known_rows(&positions[n_computed..], is_known);
        if !known.is_empty() {
            let end = n_computed + known.len();
            return Self { begun: Instant::now(), inputs: PlannedInputs::KnownRows(known), end, n_drafted: 0 };
        }
        let end = match positions.get(n_computed) {
            Some(Position::Embedded { digest, .. }) if is_whole(*digest) => uniform_end(positions, n_computed),
            _ => chunk_end(positions, n_computed, is_end),
        };
        let chunk = &positions[n_computed..end];
        let inputs = match chunk.first() {
            Some(Position::Embedded { digest, row }) => {
                let row = *row as usize;
                PlannedInputs::Rows { digest: *digest, rows: row..row + chunk.len() }
            }
            _ => PlannedInputs::Tokens(tokens(chunk).collect()),
        };
        Self { begun: Instant::now(), inputs, end, n_drafted: 0 }
    }

    /// Adds draft tokens to a step of tokens.
    pub(super) fn add_draft(&mut self, draft: &[u32]) {
        if let PlannedInputs::Tokens(ids) = &mut self.inputs {
            ids.extend_from_slice(draft);
            self.n_drafted += draft.len();
        }
    }

    /// The draft tokens.
    pub(super) fn draft(&self) -> &[u32] {
        match &self.inputs {
            PlannedInputs::Tokens(ids) => &ids[ids.len() - self.n_drafted..],
            PlannedInputs::Rows { .. } | PlannedInputs::KnownRows(_) => &[],
        }
    }

    /// Takes the step's positions out of a budget, without its draft tokens if necessary. Returns false if they exceed it. A
    /// single position costs next to nothing beside others.
    pub(super) fn fit(&mut self, n_left: &mut usize) -> bool {
        if *n_left < self.inputs.len() {
            self.drop_draft();
        }
        if self.inputs.len() <= 1 {
            return true;
        }
        // Rows that are computed in one step may exceed a whole budget: they take one for themselves.
        let n_positions = self.inputs.len().min(PREFILL_CHUNK);
        n_left.checked_sub(n_positions).map(|left| *n_left = left).is_some()
    }

    /// Shortens the step to this many positions, but at least to one, and drops its draft tokens.
    pub(super) fn shorten(&mut self, n_positions: usize) {
        self.drop_draft();
        let n_dropped = self.inputs.len().saturating_sub(n_positions.max(1));
        self.inputs.drop_last(n_dropped);
        self.end -= n_dropped;
    }

    fn drop_draft(&mut self) {
        self.inputs.drop_last(self.n_drafted);
        self.n_drafted = 0;
    }
}

impl PlannedInputs {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Tokens(ids) => ids.len(),
            Self::Rows { rows, .. } => rows.len(),
            Self::KnownRows(digests) => digests.len(),
        }
    }

    fn drop_last(&mut self, n_dropped: usize) {
        match self {
            Self::Tokens(ids) => ids.truncate(ids.len() - n_dropped),
            Self::Rows { rows, .. } => rows.end -= n_dropped,
            Self::KnownRows(digests) => digests.truncate(digests.len() - n_dropped),
        }
    }
}

/// The contents with known rows that positions begin with, as many as a chunk has.
fn known_rows(positions: &[Position], is_known: impl Fn(ContentDigest) -> bool) -> Vec<ContentDigest> {
    let known = positions.iter().take(PREFILL_CHUNK).map_while(|position| match position {
        Position::Embedded { digest, .. } if is_known(*digest) => Some(*digest),
        _ => None,
    });
    known.collect()
}

/// The end of the next step: after the first message, which holds the functions, or after the last message within a chunk,
/// because snapshots are taken there; otherwise after a whole chunk, or where tokens and embedded content meet.
fn chunk_end(positions: &[Position], start: usize, is_end: impl Fn(u32) -> bool) -> usize {
    let limit = positions.len().min(start + PREFILL_CHUNK);
    let limit = uniform_end(&positions[..limit], start);
    let is_end = |position: &Position| position.token().is_some_and(&is_end);
    let is_first = !positions[..start].iter().any(is_end);
    let chunk = &positions[start..limit];
    let end = if is_first { chunk.iter().position(is_end) } else { chunk.iter().rposition(is_end) };
    end.map_or(limit, |at| start + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(n_known: usize, n_drafted: usize) -> StepPlan {
        let positions = vec![Position::Token(0); 10 + n_known];
        let mut plan = StepPlan::after(10, &positions, |_| false, |_| false, |_| false);
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
            assert_eq!((plan.inputs.len(), plan.end, plan.draft().len()), (expect, 10 + expect, 0));
        }
    }

    #[test]
    fn a_chunk_holds_tokens_or_rows_and_ends_where_they_meet() {
        let digest = ContentDigest::from_parts(&[b"image"]);
        let rows = |n_rows| (0..n_rows).map(|row| Position::Embedded { digest, row });
        let tokens = |n_tokens| std::iter::repeat_n(Position::Token(5), n_tokens);
        let positions: Vec<Position> = tokens(10).chain(rows(150)).chain(tokens(3)).collect();
        let mut steps = Vec::new();
        let mut n_computed = 0;
        while n_computed < positions.len() {
            let plan = StepPlan::after(n_computed, &positions, |_| false, |_| false, |_| false);
            n_computed = plan.end;
            steps.push(match plan.inputs {
                PlannedInputs::Tokens(ids) => 0..ids.len(),
                PlannedInputs::Rows { rows, .. } => rows,
                PlannedInputs::KnownRows(digests) => 0..digests.len(),
            });
        }
        assert_eq!(steps, [0..10, 0..PREFILL_CHUNK, PREFILL_CHUNK..150, 0..3]);
    }

    #[test]
    fn rows_that_attend_to_each_other_are_one_step_which_takes_a_whole_budget() {
        let digest = ContentDigest::from_parts(&[b"image"]);
        let rows = (0..2 * PREFILL_CHUNK as u32).map(|row| Position::Embedded { digest, row });
        let positions: Vec<Position> =
            [Position::Token(5)].into_iter().chain(rows).chain([Position::Token(6)]).collect();
        let mut plan = StepPlan::after(1, &positions, |_| false, |_| false, |whole| whole == digest);
        assert_eq!((plan.inputs.len(), plan.end), (2 * PREFILL_CHUNK, 1 + 2 * PREFILL_CHUNK));
        let mut left = PREFILL_CHUNK - 1;
        assert!(!plan.fit(&mut left));
        left = PREFILL_CHUNK;
        assert!(plan.fit(&mut left) && left == 0);
    }

    #[test]
    fn frames_that_were_spoken_before_are_a_chunk_between_tokens() {
        let digest = |at: u8| ContentDigest::from_parts(&[&[at]]);
        let frames = (0..140).map(|at| Position::Embedded { digest: digest(at), row: 0 });
        let image = Position::Embedded { digest: digest(200), row: 0 };
        let positions: Vec<Position> = [Position::Token(1)].into_iter().chain(frames).chain([image]).collect();
        let (mut n_computed, mut ends) = (0, Vec::new());
        while n_computed < positions.len() {
            let plan = StepPlan::after(n_computed, &positions, |_| false, |known| known != digest(200), |_| false);
            if let PlannedInputs::KnownRows(digests) = &plan.inputs {
                let expect = (n_computed..plan.end).map(|at| digest(at as u8 - 1));
                assert!(digests.iter().copied().eq(expect));
            }
            n_computed = plan.end;
            ends.push(n_computed);
        }
        assert_eq!(ends, [1, 1 + PREFILL_CHUNK, 141, 142]);
    }
}
