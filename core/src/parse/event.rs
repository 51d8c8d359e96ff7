//! The input and the output of a reply parser.

use crate::function::{RejectedCall, SdkFunctionCall};

/// A piece of a reply.
///
/// ```
/// use causerie::{FunctionCallParser, Parsed, Piece, ReplyEnd, ReplyParser};
///
/// let mut parser = ReplyParser::new(Some(FunctionCallParser::DefaultFunctionCallParser));
/// let mut found = Vec::new();
/// parser.push(Piece::Text("Hello"), &mut |parsed| found.push(parsed));
/// parser.push(Piece::Control("<|tool_call_start|>"), &mut |parsed| found.push(parsed));
/// parser.finish(ReplyEnd::Ended, &mut |parsed| found.push(parsed));
/// assert_eq!(found[0], Parsed::Text("Hello".into()));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// Text that consists of whole characters.
    Text(&'a str),
    /// A control token, identified by its id, as its spelling.
    Control(&'a str),
}

/// A part of a reply.
///
/// ```
/// use causerie::Parsed;
///
/// fn show(parsed: &Parsed) {
///     match parsed {
///         Parsed::Text(text) | Parsed::Reasoning(text) => print!("{text}"),
///         Parsed::Calls(calls) => println!("{} calls", calls.len()),
///         Parsed::Rejected(rejected) => rejected.iter().for_each(|call| println!("{}", call.message)),
///         Parsed::Note(note) => println!("({})", note.code()),
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// Text.
    Text(String),
    /// Text of the model's reasoning.
    Reasoning(String),
    /// The calls of one block.
    Calls(Vec<SdkFunctionCall>),
    /// The parts of one block that could not be delivered as calls.
    Rejected(Vec<RejectedCall>),
    /// Something that was left out or is unusual.
    Note(Note),
}

/// A remark about a reply that changes neither its text nor its calls.
///
/// ```
/// use causerie::{FunctionCallParser, Parsed, Piece, ReplyEnd, ReplyParser, Note};
///
/// let mut parser = ReplyParser::new(Some(FunctionCallParser::DefaultFunctionCallParser));
/// let mut found = Vec::new();
/// parser.push(Piece::Control("<|tool_call_end|>"), &mut |parsed| found.push(parsed));
/// parser.finish(ReplyEnd::Ended, &mut |parsed| found.push(parsed));
/// assert_eq!(found, [Parsed::Note(Note::StrayMarker)]);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    /// A block without calls.
    EmptyBlock,
    /// An end marker without a start was dropped.
    StrayMarker,
    /// A repetition of the preceding block was dropped.
    EchoRemoved,
    /// Reasoning contained the start of a block; it stayed reasoning.
    CallInReasoning,
    /// A block contained text after its calls; it became text of the reply.
    TrailingText,
}

/// How a reply ended.
///
/// ```
/// use causerie::{FunctionCallParser, Parsed, Piece, ReplyEnd, ReplyParser, RejectionReason};
///
/// let mut parser = ReplyParser::new(Some(FunctionCallParser::DefaultFunctionCallParser));
/// let mut found = Vec::new();
/// parser.push(Piece::Control("<|tool_call_start|>"), &mut |parsed| found.push(parsed));
/// parser.push(Piece::Text("[timer(minutes=1"), &mut |parsed| found.push(parsed));
/// parser.finish(ReplyEnd::Interrupted, &mut |parsed| found.push(parsed)); // or the start of 12?
/// let Parsed::Rejected(rejected) = &found[0] else { panic!("the block is incomplete") };
/// assert_eq!(rejected[0].reason, RejectionReason::IncompleteBlock);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyEnd {
    /// The model stopped, or reached a stop sequence or a token limit.
    Ended,
    /// The reply was cancelled, or ended by an error.
    Interrupted,
}

impl Note {
    /// The name in every language and in JSON.
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

/// Takes the parts of a reply as they are found.
pub(super) type Emit<'a> = &'a mut dyn FnMut(Parsed);

/// Emits text unless it is empty.
pub(super) fn emit_text(text: &str, emit: Emit<'_>) {
    if !text.is_empty() {
        emit(Parsed::Text(text.to_owned()));
    }
}
