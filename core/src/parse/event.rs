//! What goes into a parser of replies, and what comes out.

use crate::function::{RejectedCall, SdkFunctionCall};

/// A piece of a reply.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// Text, in whole characters.
    Text(&'a str),
    /// One control token, known by its id, with its spelling.
    Control(&'a str),
}

/// What a reply consists of.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// Text.
    Text(String),
    /// Text of the model's reasoning.
    Reasoning(String),
    /// The calls of one block.
    Calls(Vec<SdkFunctionCall>),
    /// What one block held that could not be delivered as calls.
    Rejected(Vec<RejectedCall>),
    /// Something that was left out, or looked odd.
    Note(Note),
}

/// Something about a reply that changes neither its text nor its calls.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    /// A block without calls.
    EmptyBlock,
    /// An end marker without a start was dropped.
    StrayMarker,
    /// A repetition of the block before was dropped.
    EchoRemoved,
    /// Reasoning held the start of a block; it stayed reasoning.
    CallInReasoning,
    /// Text stood in a block, behind its calls; it became text.
    TrailingText,
}

/// Where in a reply a parser stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In text.
    Text,
    /// In reasoning.
    Reasoning,
    /// In a block of calls.
    Calls,
}

/// How a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyEnd {
    /// The model stopped, or met a stop sequence or a limit of tokens.
    Ended,
    /// Cancelled, or broken off by an error.
    Interrupted,
}

impl Note {
    /// Its name in every language and in JSON.
    ///
    /// ```
    /// assert_eq!(causerie::Note::EmptyBlock.code(), "empty_block");
    /// ```
    pub fn code(self) -> &'static str {
        match self {
            Self::EmptyBlock => "empty_block",
            Self::StrayMarker => "stray_marker",
            Self::EchoRemoved => "echo_removed",
            Self::CallInReasoning => "call_in_reasoning",
            Self::TrailingText => "trailing_text",
        }
    }
}
