//! The push machine that turns the pieces of a reply into text, reasoning and calls.

mod blocks;

use crate::function::SdkFunction;
use crate::options::{FunctionCallParser, Strictness};
use crate::parse::block_reader::{self, Ending};
use crate::parse::call_block::CallBlock;
use crate::parse::call_ids::CallIds;
use crate::parse::echo::{Compared, Echo};
use crate::parse::event::{Emit, Note, Parsed, Piece, ReplyEnd, emit_text};
use crate::parse::marker::{self, Marker, MarkerSpelling, MarkerStart};
use crate::parse::untagged::{CandidateFinder, UntaggedBlock};
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
    parser: Option<FunctionCallParser>,
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

/// The text of a block that is being written, for a constraint that begins there.
pub(crate) enum OpenBlock {
    /// After the start marker.
    Marked(String),
    /// A block without markers: its opening bracket, and the text from the name of the first call on.
    Untagged(String),
}

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
            parser,
            strictness: Strictness::default(),
            is_text_last: false,
            state: ParserState::Text,
            held: String::new(),
            has_open_end: false,
            is_replaying: false,
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

    /// Also delivers calls of these functions that are written in JSON without the markers: as the whole reply, in a code
    /// fence, or between `<tools>`, `<function_call>` or `<response>` tags. Has an effect on
    /// [`JsonStyleFunctionCallParser`](FunctionCallParser::JsonStyleFunctionCallParser) unless parsing is
    /// [strict](Strictness::Strict).
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
        let reads_untagged = self.parser == Some(FunctionCallParser::JsonStyleFunctionCallParser)
            && self.strictness == Strictness::Recover
            && !self.is_text_last;
        let functions = if reads_untagged { functions } else { &[] };
        let names = functions.iter().map(|function| function.name.clone()).collect();
        Self { finder: CandidateFinder::new(names), ..self }
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
        Self { state: ParserState::Reasoning, ..self }
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
            ParserState::Block(_) => ReplySection::Calls,
        }
    }

    /// The text that is held back because it may be the start of a marker.
    pub(crate) fn held(&self) -> &str {
        &self.held
    }

    /// Whether everything is text.
    pub(crate) fn is_off(&self) -> bool {
        self.parser.is_none()
    }

    /// Bytes that were pushed and may still become text.
    pub(crate) fn n_undecided(&self) -> usize {
        let collected = match &self.state {
            ParserState::Text | ParserState::Reasoning => 0,
            ParserState::Block(block) => block.body.len(),
            ParserState::Untagged(candidate) => candidate.text().len(),
            ParserState::Echo(echo) => echo.n_held(),
        };
        self.held.len() + collected
    }

    /// The open block; `None` outside of blocks.
    pub(crate) fn open_block(&self) -> Option<OpenBlock> {
        match &self.state {
            ParserState::Block(block) => Some(OpenBlock::Marked(format!("{}{}", block.body, self.held))),
            ParserState::Untagged(candidate) => candidate.from_name().map(OpenBlock::Untagged),
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
        match (self.parser, piece) {
            (None, Piece::Text(text) | Piece::Control(text)) => emit_text(text, emit),
            (Some(parser), Piece::Text(text)) => self.push_text(parser, text, emit),
            (Some(parser), Piece::Control(spelling)) => self.push_control(parser, spelling, emit),
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
        let Some(parser) = self.parser else { return };
        if matches!(self.state, ParserState::Block(_)) {
            self.held.clear(); // the start of a marker, which is never shown
        }
        self.end_candidate(parser, end == ReplyEnd::Ended, emit);
        self.release_held(parser, emit);
        if let Some(block) = self.take_block() {
            let ending = match end {
                ReplyEnd::Ended => Ending::Stopped,
                ReplyEnd::Interrupted => Ending::Cut,
            };
            if ending == Ending::Stopped && self.replays_without_quotes(parser, &block, emit) {
                return self.finish(end, emit);
            }
            let content = block_reader::read(parser, self.strictness, &block.body, ending);
            self.emit_content(content, &block.body, end == ReplyEnd::Ended, emit);
        }
    }

    fn push_text(&mut self, parser: FunctionCallParser, text: &str, emit: Emit<'_>) {
        let mut at = 0;
        while at < text.len() {
            if self.is_off() {
                return emit_text(&text[at..], emit);
            }
            at += self.step(parser, &text[at..], emit);
        }
    }

    /// Takes the start of a text that is not empty; returns the number of bytes taken.
    fn step(&mut self, parser: FunctionCallParser, text: &str, emit: Emit<'_>) -> usize {
        if let ParserState::Echo(echo) = &mut self.state {
            return match echo.push(text) {
                Compared::Held => text.len(),
                Compared::Completes(length) => {
                    emit(Parsed::Note(Note::EchoRemoved));
                    length
                }
                Compared::Differs(held) => {
                    self.state = ParserState::Text;
                    self.push_text(parser, &held, emit);
                    0
                }
            };
        }
        if let ParserState::Untagged(candidate) = &mut self.state {
            let followed = candidate.follow(text, self.finder.names());
            return self.handle_followed(parser, followed, text, emit);
        }
        if !self.held.is_empty() {
            return self.continue_held(parser, text, emit);
        }
        let opening = match &mut self.state {
            ParserState::Block(_) if marker::in_block(parser).is_empty() => None,
            ParserState::Block(block) => block.next_angle(text),
            ParserState::Reasoning => text.find('<'),
            _ => self.finder.next_opening(text),
        };
        let plain = &text[..opening.unwrap_or(text.len())];
        let taken = self.take_plain(plain, emit);
        if taken < plain.len() || opening.is_none() || self.is_off() {
            return taken;
        }
        let text = &text[taken..];
        if text.starts_with('<') {
            return taken + self.take_angle(parser, text, emit);
        }
        self.state = ParserState::Untagged(self.finder.candidate(text));
        taken
    }

    /// Takes a marker, the start of one, or only the `<` that the text starts with.
    fn take_angle(&mut self, parser: FunctionCallParser, text: &str, emit: Emit<'_>) -> usize {
        match marker::at_start(text, self.markers(parser)) {
            MarkerStart::Marker(marker, spelling) => {
                self.handle_marker(parser, marker, spelling, emit);
                spelling.len()
            }
            MarkerStart::Prefix => {
                self.held.push_str(text);
                text.len()
            }
            MarkerStart::Plain => self.take_plain(&text[..1], emit),
        }
    }

    /// Continues the start of a marker.
    fn continue_held(&mut self, parser: FunctionCallParser, text: &str, emit: Emit<'_>) -> usize {
        let n_held = self.held.len();
        self.held.push_str(&text[..text.floor_char_boundary(marker::LONGEST)]);
        match marker::at_start(&self.held, self.markers(parser)) {
            MarkerStart::Marker(marker, spelling) => {
                self.held.clear();
                self.handle_marker(parser, marker, spelling, emit);
                spelling.len() - n_held
            }
            MarkerStart::Prefix => text.len(),
            MarkerStart::Plain => {
                self.held.truncate(n_held);
                let held = std::mem::take(&mut self.held);
                self.add_plain(&held, emit);
                0
            }
        }
    }

    /// The markers that text can spell in the current state.
    fn markers(&self, parser: FunctionCallParser) -> &'static [MarkerSpelling] {
        match self.state {
            ParserState::Text | ParserState::Untagged(_) | ParserState::Echo(_) => {
                marker::in_text(parser, self.finder.is_searching())
            }
            ParserState::Reasoning => marker::in_reasoning(parser),
            ParserState::Block(_) => marker::in_block(parser),
        }
    }

    fn push_control(&mut self, parser: FunctionCallParser, spelling: &str, emit: Emit<'_>) {
        let Some(marker) = marker::of_control(parser, spelling) else {
            return;
        };
        if let ParserState::Echo(echo) = &mut self.state
            && marker == Marker::BlockEnd
            && echo.ends_here()
        {
            return emit(Parsed::Note(Note::EchoRemoved));
        }
        if let ParserState::Untagged(candidate) = &self.state {
            let is_ended = marker == Marker::BlockEnd && candidate.ends_at_marker();
            if self.end_candidate(parser, is_ended, emit) {
                return;
            }
        }
        self.release_held(parser, emit);
        self.handle_marker(parser, marker, spelling, emit);
    }

    /// Handles a marker.
    fn handle_marker(&mut self, parser: FunctionCallParser, marker: Marker, spelling: &str, emit: Emit<'_>) {
        match (&mut self.state, marker) {
            (ParserState::Reasoning, Marker::ReasoningEnd) => self.state = ParserState::Text,
            (ParserState::Reasoning, _) => {
                emit(Parsed::Reasoning(spelling.to_owned()));
                if marker == Marker::BlockStart {
                    emit(Parsed::Note(Note::CallInReasoning));
                }
            }
            (ParserState::Block(_), Marker::BlockEnd) => self.close_block(parser, emit),
            (ParserState::Block(block), Marker::ReasoningStart | Marker::ReasoningEnd) => {
                block.scan(spelling);
                self.add_plain(spelling, emit);
            }
            (ParserState::Block(_), Marker::BlockStart) => self.cut_block(parser, spelling, emit),
            (ParserState::Block(_), Marker::NearTag) => self.add_plain(spelling, emit),
            (_, Marker::BlockStart) => self.start_block(),
            (_, Marker::NearTag) => self.state = ParserState::Untagged(self.finder.candidate_in_tag(spelling)),
            (_, Marker::ReasoningStart) => self.state = ParserState::Reasoning,
            (_, Marker::BlockEnd) if self.has_open_end => self.has_open_end = false,
            (_, Marker::BlockEnd | Marker::ReasoningEnd) => emit(Parsed::Note(Note::StrayMarker)),
        }
    }

    /// Takes text that is not part of a marker; returns how many bytes fit under the size limit of a block.
    fn take_plain(&mut self, text: &str, emit: Emit<'_>) -> usize {
        match &mut self.state {
            ParserState::Block(block) => {
                let n_added = block.add(text);
                if n_added < text.len() {
                    self.abandon_block(emit);
                }
                return n_added;
            }
            ParserState::Reasoning if !text.is_empty() => emit(Parsed::Reasoning(text.to_owned())),
            ParserState::Reasoning => {}
            ParserState::Text | ParserState::Untagged(_) | ParserState::Echo(_) => {
                if !text.trim().is_empty() {
                    self.parser = self.parser.filter(|_| !self.is_text_last);
                }
                self.finder.pass(text);
                emit_text(text, emit);
            }
        }
        text.len()
    }

    /// Takes all of a text that is not part of a marker.
    fn add_plain(&mut self, text: &str, emit: Emit<'_>) {
        let taken = self.take_plain(text, emit);
        if taken < text.len() {
            self.take_plain(&text[taken..], emit); // the block was abandoned, so the rest is text
        }
    }

    /// Releases the text that is held, because nothing that could complete it follows.
    fn release_held(&mut self, parser: FunctionCallParser, emit: Emit<'_>) {
        // Released text may contain another block and the start of its echo: less than half of it, so the loop ends.
        while let ParserState::Echo(echo) = &mut self.state {
            let held = echo.take_held();
            self.state = ParserState::Text;
            self.push_text(parser, &held, emit);
        }
        let held = std::mem::take(&mut self.held);
        self.add_plain(&held, emit);
    }
}
