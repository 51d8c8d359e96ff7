//! Calls as they are written into a prompt.

/// A part of calls that are written into a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Text, which stays text even if it spells a control token.
    Text(String),
    /// A control token, or a tag where the vocabulary has no such token.
    Marker(&'static str),
}
