//! What goes into a parser of replies, and what comes out.

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
    /// Text, in whole characters.
    Text(&'a str),
    /// One control token, known by its id, with its spelling.
    Control(&'a str),
}

/// What a reply consists of.
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
    /// What one block held that could not be delivered as calls.
    Rejected(Vec<RejectedCall>),
    /// Something that was left out, or looked odd.
    Note(Note),
}

/// Something about a reply that changes neither its text nor its calls.
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
    /// A repetition of the block before was dropped.
    EchoRemoved,
    /// Reasoning held the start of a block; it stayed reasoning.
    CallInReasoning,
    /// Text stood in a block, behind its calls; it became text.
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
/// parser.finish(ReplyEnd::Interrupted, &mut |parsed| found.push(parsed)); // or was it to be 12?
/// let Parsed::Rejected(rejected) = &found[0] else { panic!("it is not whole") };
/// assert_eq!(rejected[0].reason, RejectionReason::IncompleteBlock);
/// ```
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
