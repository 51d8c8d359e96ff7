//! Why a call could not be read.

use crate::function::RejectionReason;

/// The first thing that is wrong with a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallFault {
    pub(crate) reason: RejectionReason,
    /// The position in bytes of the block.
    pub(crate) at: usize,
    /// Whether wrong quotes of a string may have caused it.
    pub(crate) is_about_quotes: bool,
}

impl CallFault {
    pub(crate) fn new(reason: RejectionReason, at: usize) -> Self {
        Self { reason, at, is_about_quotes: false }
    }

    pub(crate) fn about_quotes(self) -> Self {
        Self { is_about_quotes: true, ..self }
    }
}
