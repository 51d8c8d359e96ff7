//! The parser of a reply: its options, and what it remembers between two pieces.

use crate::function::SdkFunction;
use crate::notation::FunctionCallParser;
use crate::notation::Notation;
use crate::notation::offered::OfferedFunctions;
use crate::options::Strictness;
use crate::parse::call_block::{CallBlock, OpenBlock, UnmarkedName};
use crate::parse::call_ids::CallIds;
use crate::parse::echo::Echo;
use crate::parse::untagged::{CandidateFinder, UntaggedBlock, reads_untagged};
use crate::response::ReplySection;

/// Turns the pieces of a reply into text, reasoning and calls. The way in which the reply is cut into pieces only affects
/// where text and reasoning are cut.
///
/// A block of calls may have 1 MiB and 128 calls, and 64 brackets may be open in an argument; what exceeds these limits is
/// rejected. Memory is bounded, and time is linear in the reply.
///
/// ```
/// use causerie::{FunctionCallParser, Parsed, Piece, ReplyEnd, ReplyParser};
///
/// let mut parser = ReplyParser::new(Some(FunctionCallParser::DefaultFunctionCallParser));
/// let mut calls = Vec::new();
/// let mut emit = |parsed| {
///     if let Parsed::Calls(found) = parsed {
///         calls.extend(found);
///     }
/// };
/// parser.push(Piece::Control("<|tool_call_start|>"), &mut emit);
/// parser.push(Piece::Text("[get_weather(city="), &mut emit);
/// parser.push(Piece::Text("'Oslo')]"), &mut emit);
/// parser.push(Piece::Control("<|tool_call_end|>"), &mut emit);
/// parser.finish(ReplyEnd::Ended, &mut emit);
/// assert_eq!(calls[0].name, "get_weather");
/// assert_eq!(calls[0].arguments["city"], "Oslo".into());
/// ```
#[derive(Debug)]
pub struct ReplyParser {
    /// The notation of calls; `None` if everything is text.
    pub(super) notation: Option<&'static Notation>,
    pub(super) strictness: Strictness,
    /// Whether only text follows once the text of the reply has begun.
    pub(super) is_text_last: bool,
    pub(super) state: ParserState,
    /// What may be the start of a marker, and nothing else.
    pub(super) held: String,
    /// Whether a block exceeded its size limit, so that its end marker is still to come.
    pub(super) has_open_end: bool,
    /// Whether the text is being parsed again because its quotes turned out to be wrong.
    pub(super) is_replaying: bool,
    /// Whether the reply had reasoning, or began in it.
    pub(super) had_reasoning: bool,
    /// Whether calls were delivered.
    pub(super) had_calls: bool,
    /// Whether the reply had a block with its markers.
    pub(super) had_block: bool,
    /// Whether the open reasoning has no text so far.
    pub(super) is_reasoning_empty: bool,
    /// The part of the line after the start of a channel that is still to come.
    pub(super) channel_line: &'static str,
    /// White space at the beginning of the text or after calls. It is dropped unless text follows it. `None` after text.
    pub(super) loose_space: Option<String>,
    /// Line ends that are held back, because a block in XML may follow them.
    pub(super) n_line_ends: usize,
    /// The offered functions.
    pub(super) functions: OfferedFunctions,
    /// Finds calls without markers.
    pub(super) finder: CandidateFinder,
    pub(super) call_ids: CallIds,
}

/// The part of a reply that the parser is in.
#[derive(Debug)]
pub(super) enum ParserState {
    Text,
    Reasoning,
    Block(CallBlock),
    /// What may be calls without their markers.
    Untagged(UntaggedBlock),
    Echo(Echo),
}

/// The line after the start of a channel with reasoning.
pub(super) const CHANNEL_LINE: &str = "thought\n";

impl ReplyParser {
    /// Creates a parser for one reply. With `None`, everything is text.
    ///
    /// ```
    /// use causerie::{Parsed, Piece, ReplyParser};
    ///
    /// let mut text = String::new();
    /// ReplyParser::new(None).push(Piece::Control("<|tool_call_start|>"), &mut |parsed| {
    ///     if let Parsed::Text(piece) = parsed { text += &piece }
    /// });
    /// assert_eq!(text, "<|tool_call_start|>");
    /// ```
    pub fn new(parser: Option<FunctionCallParser>) -> Self {
        Self {
            notation: parser.map(FunctionCallParser::notation),
            strictness: Strictness::default(),
            is_text_last: false,
            state: ParserState::Text,
            held: String::new(),
            has_open_end: false,
            is_replaying: false,
            had_reasoning: false,
            had_calls: false,
            had_block: false,
            is_reasoning_empty: true,
            channel_line: "",
            loose_space: Some(String::new()),
            n_line_ends: 0,
            functions: OfferedFunctions::default(),
            finder: CandidateFinder::default(),
            call_ids: CallIds::default(),
        }
    }

    /// Sets how strictly calls are parsed.
    ///
    /// ```
    /// use causerie::{ReplyParser, Strictness};
    ///
    /// let parser = ReplyParser::new(Some(Default::default())).strictness(Strictness::Strict);
    /// ```
    pub fn strictness(self, strictness: Strictness) -> Self {
        Self { strictness, ..self }
    }

    /// Sets the functions that the model may call. The values of calls in XML are read as the types that the functions
    /// declare. Unless parsing is [strict](Strictness::Strict), calls of these functions are also delivered if they lack
    /// the markers around them: in JSON or in a list in Python as the whole reply, in a code fence, or between tags such as
    /// `<tools>`; in XML without `<tool_call>`. Llama's calls, which have no markers, are only recognised by the names of
    /// these functions.
    ///
    /// ```
    /// use causerie::{FunctionCallParser, Parsed, Piece, Repair, ReplyEnd, ReplyParser, SdkFunction};
    ///
    /// let parser = ReplyParser::new(Some(FunctionCallParser::JsonStyleFunctionCallParser));
    /// let mut parser = parser.offering(&[SdkFunction::new("now", "The time.", vec![])]);
    /// let mut calls = Vec::new();
    /// let mut emit = |parsed| if let Parsed::Calls(found) = parsed { calls.extend(found) };
    /// parser.push(Piece::Text(r#"{"name": "now", "arguments": {}}"#), &mut emit);
    /// parser.finish(ReplyEnd::Ended, &mut emit);
    /// assert_eq!((calls[0].name.as_str(), &calls[0].repairs[..]), ("now", &[Repair::MissingMarkers][..]));
    /// ```
    pub fn offering(self, functions: &[SdkFunction]) -> Self {
        let functions = OfferedFunctions::new(
            functions,
            self.notation.is_some_and(|notation| notation.writes_identifiers),
            self.strictness == Strictness::Strict,
        );
        let may_be_untagged = !self.is_text_last && !functions.is_empty();
        let notation = self.notation.filter(|notation| may_be_untagged && reads_untagged(notation, self.strictness));
        Self { finder: CandidateFinder::new(notation, self.strictness), functions, ..self }
    }

    /// Expects only text once the text of the reply has begun, as in a reply that fits a schema: what looks like a marker in
    /// it is text.
    pub(crate) fn text_last(self) -> Self {
        Self { is_text_last: true, ..self }
    }

    /// Expects a reply whose reasoning was opened by the prompt.
    ///
    /// ```
    /// use causerie::{ReplySection, ReplyParser};
    ///
    /// let parser = ReplyParser::new(Some(Default::default())).starting_in_reasoning();
    /// assert_eq!(parser.place(), ReplySection::Reasoning);
    /// ```
    pub fn starting_in_reasoning(self) -> Self {
        Self { state: ParserState::Reasoning, had_reasoning: true, ..self }
    }

    /// The section of the reply that the next piece belongs to.
    ///
    /// ```
    /// use causerie::{Piece, ReplySection, ReplyParser};
    ///
    /// let mut parser = ReplyParser::new(Some(Default::default()));
    /// assert_eq!(parser.place(), ReplySection::Text);
    /// parser.push(Piece::Text("<think>"), &mut |_| {});
    /// assert_eq!(parser.place(), ReplySection::Reasoning);
    /// ```
    pub fn place(&self) -> ReplySection {
        match self.state {
            ParserState::Untagged(ref candidate) if candidate.is_named() => ReplySection::Calls,
            ParserState::Text | ParserState::Untagged(_) | ParserState::Echo(_) => ReplySection::Text,
            ParserState::Reasoning => ReplySection::Reasoning,
            ParserState::Block(CallBlock { unmarked: Some(UnmarkedName::Unread), .. }) => ReplySection::Text,
            ParserState::Block(_) => ReplySection::Calls,
        }
    }

    /// The text that is held back because it may be the start of a marker.
    pub(crate) fn held(&self) -> &str {
        &self.held
    }

    /// Whether everything is text.
    pub(crate) fn is_off(&self) -> bool {
        self.notation.is_none()
    }

    /// Bytes that were pushed and may still become text.
    pub(crate) fn n_undecided(&self) -> usize {
        let collected = match &self.state {
            ParserState::Text | ParserState::Reasoning => 0,
            ParserState::Block(block) => block.n_line_ends + block.body.len(),
            ParserState::Untagged(candidate) => candidate.text().len(),
            ParserState::Echo(echo) => echo.n_held(),
        };
        let space = self.loose_space.as_ref().map_or(0, String::len);
        self.held.len() + self.n_line_ends + space + collected
    }

    /// The open block; `None` outside of blocks.
    pub(crate) fn open_block(&self) -> Option<OpenBlock> {
        match &self.state {
            ParserState::Block(block) => {
                let line_end = if block.unmarked.is_some() { "\n" } else { "" };
                Some(OpenBlock::Marked(format!("{line_end}{}{}", block.body, self.held)))
            }
            ParserState::Untagged(candidate) => candidate.open_block(),
            _ => None,
        }
    }
}
