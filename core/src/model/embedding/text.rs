//! A text as a network reads it, and which of its rows are read.

use std::ops::Range;

/// The tokens of a text.
#[derive(Clone, Copy)]
pub(crate) struct TextTokens<'a> {
    /// At least one.
    pub(crate) ids: &'a [u32],
    /// The type of each token; tokens without one have type 0.
    pub(crate) types: &'a [u32],
}

/// The rows of a text that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WantedRows {
    All,
    First,
    Last,
}

impl WantedRows {
    /// The rows of a text whose rows are given.
    pub(super) fn range(self, rows: &Range<usize>) -> Range<usize> {
        match self {
            Self::All => rows.clone(),
            Self::First => rows.start..rows.start + 1,
            Self::Last => rows.end - 1..rows.end,
        }
    }
}
