//! The push machine that turns the pieces of a reply into text, reasoning and calls.

mod blocks;
mod markers;
mod xml;

use crate::function::SdkFunction;
use crate::notation::FunctionCallParser;
use crate::notation::Notation;
use crate::notation::offered::OfferedFunctions;
use crate::options::Strictness;
use crate::parse::block_reader::Ending;
use crate::parse::call_block::{CallBlock, OpenBlock, UnmarkedName};
use crate::parse::call_ids::CallIds;
use crate::parse::echo::{Compared, Echo};
use crate::parse::event::{Emit, Note, Parsed, Piece, ReplyEnd, emit_text};
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
    notation: Option<&'static Notation>,
    strictness: Strictness,
    /// Whether only text follows once the text of the reply has begun.
    is_text_last: bool,
    state: ParserState,
    /// What may be the start of a marker, and nothing else.
    held: String,
    /// Whether a block exceeded its size limit, so that its end marker is still to come.
    has_open_end: bool,
    /// Whether the text is being parsed again because its quotes turned out to be wrong.
    is_replaying: bool,
    /// Whether the reply had reasoning, or began in it.
    had_reasoning: bool,
    /// Whether calls were delivered.
    had_calls: bool,
    /// Whether the reply had a block with its markers.
    had_block: bool,
    /// Whether the open reasoning has no text so far.
    is_reasoning_empty: bool,
    /// The part of the line after the start of a channel that is still to come.
    channel_line: &'static str,
    /// White space at the beginning of the text or after calls. Between calls, and at the end after calls, it is nothing; if
    /// other text follows it, it is text. `None` after other text.
    loose_space: Option<String>,
    /// Line ends that are held back, because a block in XML may follow them.
    n_line_ends: usize,
    /// The offered functions.
    functions: OfferedFunctions,
    /// Finds calls without markers.
    finder: CandidateFinder,
    call_ids: CallIds,
}

#[derive(Debug)]
enum ParserState {
    Text,
    Reasoning,
    Block(CallBlock),
    /// What may be calls without their markers.
    Untagged(UntaggedBlock),
    Echo(Echo),
}

/// The line after the start of a channel with reasoning.
const CHANNEL_LINE: &str = "thought\n";

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

    /// Takes the next piece of the reply.
    ///
    /// ```
    /// use causerie::{Parsed, Piece, ReplyParser};
    ///
    /// let mut text = String::new();
    /// let mut parser = ReplyParser::new(Some(Default::default()));
    /// // What may be the start of a marker is held back.
    /// for piece in ["1 <th", "ree"] {
    ///     parser.push(Piece::Text(piece), &mut |parsed| if let Parsed::Text(piece) = parsed { text += &piece });
    /// }
    /// assert_eq!(text, "1 <three");
    /// ```
    pub fn push(&mut self, piece: Piece<'_>, emit: &mut impl FnMut(Parsed)) {
        match (self.notation, piece) {
            (None, Piece::Text(text) | Piece::Control(text)) => emit_text(text, emit),
            (Some(notation), Piece::Text(text)) => self.push_text(notation, text, emit),
            (Some(notation), Piece::Control(spelling)) => self.push_control(notation, spelling, emit),
        }
    }

    /// Ends the reply.
    ///
    /// ```
    /// use causerie::{Parsed, Piece, ReplyEnd, ReplyParser};
    ///
    /// let mut text = String::new();
    /// let mut parser = ReplyParser::new(Some(Default::default()));
    /// let mut show = |parsed| if let Parsed::Text(piece) = parsed { text += &piece };
    /// parser.push(Piece::Text("1 <th"), &mut show);
    /// parser.finish(ReplyEnd::Ended, &mut show);
    /// assert_eq!(text, "1 <th");
    /// ```
    pub fn finish(&mut self, end: ReplyEnd, emit: &mut impl FnMut(Parsed)) {
        let Some(notation) = self.notation else { return };
        let held = match &self.state {
            ParserState::Block(block) if block.unmarked != Some(UnmarkedName::Unread) => {
                std::mem::take(&mut self.held) // the start of a marker
            }
            _ => String::new(),
        };
        self.end_candidate(notation, end == ReplyEnd::Ended, emit);
        self.release_held(notation, emit);
        self.release_unmarked(notation, emit);
        if let Some(block) = self.take_block() {
            let ending = match end {
                ReplyEnd::Ended => Ending::Stopped,
                ReplyEnd::Interrupted => Ending::Cut,
            };
            if ending == Ending::Stopped && self.replays_without_quotes(notation, &block, emit) {
                self.held.push_str(&held);
                return self.finish(end, emit);
            }
            let content = self.read_block(notation, &block, ending);
            if ending == Ending::Stopped && content.is_empty() && !block.start.is_empty() {
                self.release_space(emit);
                emit_text(&block.written(&held).text(), emit); // the marker was only mentioned
            } else {
                self.emit_content(content, block.written(&held), end == ReplyEnd::Ended, emit);
            }
        }
        self.release_line_ends(emit);
        if !self.had_calls {
            self.release_space(emit);
        }
    }

    fn push_text(&mut self, notation: &'static Notation, text: &str, emit: Emit<'_>) {
        let mut at = 0;
        while at < text.len() {
            if self.is_off() {
                return emit_text(&text[at..], emit);
            }
            at += self.step(notation, &text[at..], emit);
        }
    }

    /// Takes the start of a text that is not empty; returns the number of bytes taken.
    fn step(&mut self, notation: &'static Notation, text: &str, emit: Emit<'_>) -> usize {
        if let ParserState::Echo(echo) = &mut self.state {
            return match echo.push(text) {
                Compared::Held => text.len(),
                Compared::Completes(length) => {
                    emit(Parsed::Note(Note::EchoRemoved));
                    length
                }
                Compared::Differs(held) => {
                    self.state = ParserState::Text;
                    self.push_text(notation, &held, emit);
                    0
                }
            };
        }
        if let ParserState::Untagged(candidate) = &mut self.state {
            let followed = candidate.follow(text, &self.functions);
            return self.handle_followed(notation, followed, text, emit);
        }
        if !self.held.is_empty() {
            return self.continue_held(notation, text, emit);
        }
        let opening = match &mut self.state {
            ParserState::Block(_) if notation.in_block.is_empty() => None,
            ParserState::Block(block) => block.next_angle(text),
            ParserState::Reasoning => text.find('<'),
            _ => self.finder.next_opening(text, &self.functions),
        };
        let plain = &text[..opening.unwrap_or(text.len())];
        let taken = self.take_plain(plain, emit);
        if taken < plain.len() || opening.is_none() || self.is_off() {
            return taken;
        }
        let text = &text[taken..];
        if text.starts_with('<') {
            return taken + self.take_angle(notation, text, emit);
        }
        match self.finder.candidate(text) {
            Some(candidate) => self.state = ParserState::Untagged(candidate),
            None => return taken + self.take_plain(text, emit),
        }
        taken
    }

    /// Takes text that is not part of a marker; returns how many bytes fit under the size limit of a block.
    fn take_plain(&mut self, text: &str, emit: Emit<'_>) -> usize {
        match &mut self.state {
            ParserState::Block(block) => {
                let n_added = block.add(text);
                if n_added < text.len() {
                    self.abandon_block(emit);
                } else {
                    self.check_unmarked(emit);
                }
                return n_added;
            }
            ParserState::Reasoning => {
                let text = self.after_channel_line(text, emit);
                self.emit_plain(text, emit);
            }
            ParserState::Text | ParserState::Untagged(_) | ParserState::Echo(_) => {
                if !text.trim().is_empty() {
                    self.notation = self.notation.filter(|_| !self.is_text_last);
                }
                self.finder.pass(text);
                self.emit_plain(text, emit);
            }
        }
        text.len()
    }

    /// The text after the line that names a channel. A line with another name is text of the channel.
    fn after_channel_line<'a>(&mut self, text: &'a str, emit: Emit<'_>) -> &'a str {
        let expected = self.channel_line;
        let is_same = |(these, those): &(u8, u8)| these == those;
        let n_same = text.bytes().zip(expected.bytes()).take_while(is_same).count();
        self.channel_line = &expected[n_same..];
        if n_same < text.len() && !self.channel_line.is_empty() {
            let written = &CHANNEL_LINE[..CHANNEL_LINE.len() - expected.len()];
            self.channel_line = "";
            self.emit_plain(written, emit);
            return text;
        }
        &text[n_same..]
    }

    /// Takes all of a text that is not part of a marker.
    fn add_plain(&mut self, text: &str, emit: Emit<'_>) {
        let taken = self.take_plain(text, emit);
        if taken < text.len() {
            self.take_plain(&text[taken..], emit); // the block was abandoned, so the rest is text
        }
    }

    /// Releases the text that is held, because nothing that could complete it follows.
    fn release_held(&mut self, notation: &'static Notation, emit: Emit<'_>) {
        // Released text may contain another block and the start of its echo: less than half of it, so the loop ends.
        while let ParserState::Echo(echo) = &mut self.state {
            let held = echo.take_held();
            self.state = ParserState::Text;
            self.push_text(notation, &held, emit);
        }
        let held = std::mem::take(&mut self.held);
        self.add_plain(&held, emit);
    }
}
