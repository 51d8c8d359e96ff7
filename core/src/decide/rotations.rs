//! The orders in which the labels of a choice are shown.

use std::sync::Arc;

use crate::decide::question::{DecisionKind, DecisionQuestion};

/// The number of orders in which the labels of a question are shown.
pub(super) fn rotations(question: &DecisionQuestion, n_rotations: usize) -> usize {
    match &question.kind {
        DecisionKind::Choice(choices) => n_rotations.min(choices.len()),
        DecisionKind::Predicate(_) | DecisionKind::Score(_) => 1,
    }
}

/// The orders in which labels are shown, as far apart as possible.
pub(super) fn orders(n_labels: usize, n_rotations: usize) -> impl Iterator<Item = Arc<[usize]>> {
    (0..n_rotations).map(move |rotation| {
        let shift = rotation * n_labels / n_rotations;
        (0..n_labels).map(|at| (at + shift) % n_labels).collect()
    })
}
