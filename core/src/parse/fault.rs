//! Why a call could not be read.

use crate::function::RejectionReason;

/// The first thing wrong with a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) reason: RejectionReason,
    /// Where, in bytes of the block.
    pub(super) at: usize,
    /// Whether the quotes of a string may be to blame.
    pub(super) is_about_quotes: bool,
}

impl Fault {
    pub(super) fn new(reason: RejectionReason, at: usize) -> Self {
        Self { reason, at, is_about_quotes: false }
    }

    pub(super) fn about_quotes(self) -> Self {
        Self { is_about_quotes: true, ..self }
    }
}
