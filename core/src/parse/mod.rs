//! The reply of a model, taken apart into text, reasoning and function calls while it is being written.
//!
//! [`ReplyParser`] is a push machine over pieces of text and control tokens. Outside of blocks it passes text on at
//! once, holding back only what may be the beginning of a [`marker`]. A [`block`] is collected up to its end and then
//! [`reading`] tells calls from text, over a [`list`] of single calls that [`python`] or [`json`] reads. Behind a block
//! an [`echo`] of it is looked for. A [`bare`] list in the place of a block counts only where that is asked for. Nothing
//! here fails: what is no call is text, or rejected with a reason.

mod bare;
mod block;
mod brackets;
mod call_ids;
mod cursor;
mod echo;
mod escape;
mod event;
mod fault;
mod json;
mod list;
mod marker;
mod python;
mod reading;
mod render;
mod repairs;
mod work;

use crate::function::{Arguments, SdkFunction, Value};
use crate::options::{FunctionCallParser, RejectedCallText, Strictness};
use crate::response::ReplySection;
use bare::BareList;
use block::Block;
use call_ids::CallIds;
use echo::{Compared, Echo};
use marker::{JSON_END, Marker, Start};
use reading::{Ending, Reading};
use repairs::Repairs;

pub use event::{Note, Parsed, Piece, ReplyEnd};
pub use json::read_json;
pub(crate) use python::is_name;
pub use render::{render_calls, render_json_calls};

/// Brackets that may be open at once in an argument.
const DEEPEST: usize = 64;
/// Bytes of a block's body at most.
const LARGEST_BLOCK: usize = 1 << 20;
/// Calls in one block at most.
pub(crate) const MOST_CALLS: usize = 128;

/// Turns the pieces of a reply into text, reasoning and calls. However the reply is cut into pieces, the result is the
/// same, but for where text and reasoning are cut.
///
/// A block of calls may have 1 MiB and 128 calls, and 64 brackets may be open in an argument; what exceeds that is
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
    /// Functions by whose parameters arguments without names are named.
    functions: Vec<SdkFunction>,
    /// Functions whose calls count without markers; none once the text of the reply has begun.
    bare_names: Vec<String>,
    /// Whether the text of the reply, once it has begun, is all that follows.
    is_text_last: bool,
    rejected_text: RejectedCallText,
    state: State,
    /// The beginning of what may be a marker; holds no other.
    held: String,
    /// Whether a block outgrew its cap, so that its end marker is still to come.
    has_open_end: bool,
    /// Whether the text was read before, with quotes that proved to be wrong.
    is_replaying: bool,
    call_ids: CallIds,
}

#[derive(Debug)]
enum State {
    Text,
    Reasoning,
    Block(Block),
    Echo(Echo),
    Bare(BareList),
}

type Emit<'a> = &'a mut dyn FnMut(Parsed);

impl ReplyParser {
    /// A parser for one reply. With `None`, everything is text.
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
            functions: Vec::new(),
            bare_names: Vec::new(),
            is_text_last: false,
            rejected_text: RejectedCallText::default(),
            state: State::Text,
            held: String::new(),
            has_open_end: false,
            is_replaying: false,
            call_ids: CallIds::default(),
        }
    }

    /// The same, with another strictness.
    ///
    /// ```
    /// use causerie::{ReplyParser, Strictness};
    ///
    /// let parser = ReplyParser::new(Some(Default::default())).strictness(Strictness::Strict);
    /// ```
    pub fn strictness(self, strictness: Strictness) -> Self {
        Self { strictness, ..self }
    }

    /// The same, with arguments that have no names taking those of the parameters of these functions, in their order.
    ///
    /// ```
    /// use causerie::{ReplyParser, SdkFunction};
    ///
    /// let functions = vec![SdkFunction::new("get_weather", "Tells the weather.", Vec::new())];
    /// let parser = ReplyParser::new(Some(Default::default())).positional_arguments_of(functions);
    /// ```
    pub fn positional_arguments_of(self, functions: Vec<SdkFunction>) -> Self {
        Self { functions, ..self }
    }

    /// The same, with a list of calls that begins the reply's text without markers, `[f(a=1)]`, counting as a block of calls.
    /// It must be whole and well formed, and all its functions must be among these; else it is text. Only Python calls
    /// are looked for.
    ///
    /// ```
    /// use causerie::{Parsed, Piece, ReplyEnd, ReplyParser, SdkFunction};
    ///
    /// let now = SdkFunction::new("now", "Tells the time.", Vec::new());
    /// let mut parser = ReplyParser::new(Some(Default::default())).bare_calls_of([&now]);
    /// let mut parsed = Vec::new();
    /// parser.push(Piece::Text("[now()]"), &mut |event| parsed.push(event));
    /// parser.finish(ReplyEnd::Ended, &mut |event| parsed.push(event));
    /// assert!(matches!(&parsed[..], [Parsed::Calls(calls)] if calls[0].name == "now"));
    /// ```
    pub fn bare_calls_of<'a>(self, functions: impl IntoIterator<Item = &'a SdkFunction>) -> Self {
        let is_python = self.parser == Some(FunctionCallParser::DefaultFunctionCallParser);
        let names = functions.into_iter().filter(|_| is_python).map(|function| function.name.clone());
        Self { bare_names: names.collect(), ..self }
    }

    /// The same for a reply whose text, once it has begun, goes on to its end, as one that fits a schema does: what looks like
    /// a marker in it is text.
    pub(crate) fn text_last(self) -> Self {
        Self { is_text_last: true, ..self }
    }

    /// The same, with another rule for the text of rejected calls.
    ///
    /// ```
    /// use causerie::{RejectedCallText, ReplyParser};
    ///
    /// let parser = ReplyParser::new(Some(Default::default())).rejected_call_text(RejectedCallText::Never);
    /// ```
    pub fn rejected_call_text(self, rejected_text: RejectedCallText) -> Self {
        Self { rejected_text, ..self }
    }

    /// The same for a reply whose reasoning was opened by the prompt.
    ///
    /// ```
    /// use causerie::{ReplySection, ReplyParser};
    ///
    /// let parser = ReplyParser::new(Some(Default::default())).starting_in_reasoning();
    /// assert_eq!(parser.place(), ReplySection::Reasoning);
    /// ```
    pub fn starting_in_reasoning(self) -> Self {
        Self { state: State::Reasoning, ..self }
    }

    /// Where the reply stands now.
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
            State::Text | State::Echo(_) | State::Bare(_) => ReplySection::Text,
            State::Reasoning => ReplySection::Reasoning,
            State::Block(_) => ReplySection::Calls,
        }
    }

    /// What is held back because it may be the beginning of a marker.
    pub(crate) fn held(&self) -> &str {
        &self.held
    }

    /// Whether everything is text.
    pub(crate) fn is_off(&self) -> bool {
        self.parser.is_none()
    }

    /// Bytes of what was pushed that may still become text.
    pub(crate) fn n_undecided(&self) -> usize {
        let collected = match &self.state {
            State::Text | State::Reasoning => 0,
            State::Block(block) => block.body.len(),
            State::Echo(echo) => echo.n_held(),
            State::Bare(list) => list.n_held(),
        };
        self.held.len() + collected
    }

    /// What stands in the block that is open now.
    pub(crate) fn open_block(&self) -> String {
        match &self.state {
            State::Block(block) => format!("{}{}", block.body, self.held),
            _ => String::new(),
        }
    }

    /// Takes the next piece of the reply.
    ///
    /// ```
    /// use causerie::{Parsed, Piece, ReplyParser};
    ///
    /// let mut text = String::new();
    /// let mut parser = ReplyParser::new(Some(Default::default()));
    /// // What may be the beginning of a marker is held back.
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
        if matches!(self.state, State::Block(_)) {
            self.held.clear(); // the beginning of a marker, which is never shown
        }
        self.release_held(parser, emit);
        if let State::Block(block) = std::mem::replace(&mut self.state, State::Text) {
            let ending = match end {
                ReplyEnd::Ended => Ending::Stopped,
                ReplyEnd::Interrupted => Ending::Cut,
            };
            if ending == Ending::Stopped && self.replays_without_quotes(parser, &block, emit) {
                return self.finish(end, emit);
            }
            let reading = reading::read(parser, self.strictness, &self.functions, &block.body, ending);
            self.emit_reading(reading, &block.body, end == ReplyEnd::Ended, emit);
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

    /// Takes some of a text that is not empty; returns how many bytes.
    fn step(&mut self, parser: FunctionCallParser, text: &str, emit: Emit<'_>) -> usize {
        if let State::Echo(echo) = &mut self.state {
            return match echo.push(text) {
                Compared::Held => text.len(),
                Compared::Completes(length) => {
                    emit(Parsed::Note(Note::EchoRemoved));
                    length
                }
                Compared::Differs(held) => {
                    self.state = State::Text;
                    self.push_text(parser, &held, emit);
                    0
                }
            };
        }
        if !self.held.is_empty() {
            return self.continue_held(parser, text, emit);
        }
        if let Some(taken) = self.step_bare(parser, text, emit) {
            return taken;
        }
        let angle = match &mut self.state {
            State::Block(_) if marker::in_block(parser).is_empty() => None,
            State::Block(block) => block.next_angle(text),
            _ => text.find('<'),
        };
        let plain = &text[..angle.unwrap_or(text.len())];
        let taken = self.take_plain(plain, emit);
        if taken < plain.len() || angle.is_none() || self.is_off() {
            return taken;
        }
        taken + self.take_angle(parser, &text[taken..], emit)
    }

    /// Takes what starts with `<`: a marker, the beginning of one, or the `<` alone.
    fn take_angle(&mut self, parser: FunctionCallParser, text: &str, emit: Emit<'_>) -> usize {
        match marker::at_start(text, self.markers(parser)) {
            Start::Marker(marker, spelling) => {
                self.meet(parser, marker, spelling, emit);
                spelling.len()
            }
            Start::Prefix => {
                self.held.push_str(text);
                text.len()
            }
            Start::Plain => self.take_plain(&text[..1], emit),
        }
    }

    /// Continues the beginning of a marker.
    fn continue_held(&mut self, parser: FunctionCallParser, text: &str, emit: Emit<'_>) -> usize {
        let n_held = self.held.len();
        self.held.push_str(&text[..text.floor_char_boundary(marker::LONGEST)]);
        match marker::at_start(&self.held, self.markers(parser)) {
            Start::Marker(marker, spelling) => {
                self.held.clear();
                self.meet(parser, marker, spelling, emit);
                spelling.len() - n_held
            }
            Start::Prefix => text.len(),
            Start::Plain => {
                self.held.truncate(n_held);
                let held = std::mem::take(&mut self.held);
                self.add_plain(&held, emit);
                0
            }
        }
    }

    /// The markers that text can spell here.
    fn markers(&self, parser: FunctionCallParser) -> &'static [marker::Spelling] {
        match self.state {
            State::Text | State::Echo(_) | State::Bare(_) => marker::in_text(parser),
            State::Reasoning => marker::in_reasoning(parser),
            State::Block(_) => marker::in_block(parser),
        }
    }

    fn push_control(&mut self, parser: FunctionCallParser, spelling: &str, emit: Emit<'_>) {
        let Some(marker) = marker::of_control(parser, spelling) else {
            return;
        };
        if let State::Echo(echo) = &mut self.state
            && marker == Marker::BlockEnd
            && echo.ends_here()
        {
            return emit(Parsed::Note(Note::EchoRemoved));
        }
        self.release_held(parser, emit);
        self.meet(parser, marker, spelling, emit);
    }

    /// Does what a marker demands.
    fn meet(&mut self, parser: FunctionCallParser, marker: Marker, spelling: &str, emit: Emit<'_>) {
        match (&mut self.state, marker) {
            (State::Reasoning, Marker::ReasoningEnd) => self.state = State::Text,
            (State::Reasoning, _) => {
                emit(Parsed::Reasoning(spelling.to_owned()));
                if marker == Marker::BlockStart {
                    emit(Parsed::Note(Note::CallInReasoning));
                }
            }
            (State::Block(_), Marker::BlockEnd) => self.close_block(parser, emit),
            (State::Block(block), Marker::ReasoningStart | Marker::ReasoningEnd) => {
                block.read_over(spelling);
                self.add_plain(spelling, emit);
            }
            (State::Block(_), Marker::BlockStart) => self.cut_block(parser, spelling, emit),
            (State::Text | State::Echo(_) | State::Bare(_), Marker::BlockStart) => self.begin_block(),
            (State::Text | State::Echo(_) | State::Bare(_), Marker::ReasoningStart) => self.state = State::Reasoning,
            (State::Text | State::Echo(_) | State::Bare(_), Marker::BlockEnd) if self.has_open_end => {
                self.has_open_end = false
            }
            (State::Text | State::Echo(_) | State::Bare(_), Marker::BlockEnd | Marker::ReasoningEnd) => {
                emit(Parsed::Note(Note::StrayMarker));
            }
        }
    }

    /// Takes text that is part of no marker; returns how much, which is less than all if it breaks a block's cap.
    fn take_plain(&mut self, text: &str, emit: Emit<'_>) -> usize {
        match &mut self.state {
            State::Block(block) => {
                let n_added = block.add(text);
                if n_added < text.len() {
                    self.give_block_up(emit);
                }
                return n_added;
            }
            State::Reasoning if !text.is_empty() => emit(Parsed::Reasoning(text.to_owned())),
            State::Reasoning => {}
            State::Text | State::Echo(_) | State::Bare(_) => {
                if !text.trim().is_empty() {
                    self.bare_names.clear();
                    self.parser = self.parser.filter(|_| !self.is_text_last);
                }
                emit_text(text, emit);
            }
        }
        text.len()
    }

    /// Takes all of a text that is part of no marker.
    fn add_plain(&mut self, text: &str, emit: Emit<'_>) {
        let taken = self.take_plain(text, emit);
        if taken < text.len() {
            self.take_plain(&text[taken..], emit); // a block was given up, so the rest is text
        }
    }

    /// Releases what is held: nothing that could complete it follows.
    fn release_held(&mut self, parser: FunctionCallParser, emit: Emit<'_>) {
        // Released text may hold another block, and the beginning of its echo: shorter than half, so this ends.
        // A list without markers begins once.
        loop {
            let held = match &mut self.state {
                State::Echo(echo) => echo.take_held(),
                State::Bare(list) => list.take_held(),
                State::Text | State::Reasoning | State::Block(_) => break,
            };
            self.state = State::Text;
            self.push_text(parser, &held, emit);
        }
        let held = std::mem::take(&mut self.held);
        self.add_plain(&held, emit);
    }

    fn begin_block(&mut self) {
        self.has_open_end = false;
        self.bare_names.clear();
        self.state = State::Block(Block::new(self.is_replaying));
    }

    fn close_block(&mut self, parser: FunctionCallParser, emit: Emit<'_>) {
        let State::Block(block) = std::mem::replace(&mut self.state, State::Text) else {
            return;
        };
        let reading = reading::read(parser, self.strictness, &self.functions, &block.body, Ending::Closed);
        if reading.is_broken && self.replays_without_quotes(parser, &block, emit) {
            return self.push_text(parser, JSON_END.0, emit);
        }
        self.emit_reading(reading, &block.body, true, emit);
        if !block.body.trim().is_empty() {
            self.state = State::Echo(Echo::new(&block.body, marker::end_in_text(parser)));
        }
    }

    /// Ends a block inside of which another one starts.
    fn cut_block(&mut self, parser: FunctionCallParser, spelling: &str, emit: Emit<'_>) {
        let State::Block(block) = std::mem::replace(&mut self.state, State::Text) else {
            return;
        };
        if self.replays_without_quotes(parser, &block, emit) {
            return self.meet(parser, Marker::BlockStart, spelling, emit);
        }
        let reading = reading::read(parser, self.strictness, &self.functions, &block.body, Ending::Cut);
        self.emit_reading(reading, &block.body, true, emit);
        self.begin_block();
    }

    /// Ends a block that outgrew the cap: it becomes text, and so does what follows.
    fn give_block_up(&mut self, emit: Emit<'_>) {
        let State::Block(block) = std::mem::replace(&mut self.state, State::Text) else {
            return;
        };
        let Some(parser) = self.parser else { return };
        if self.replays_without_quotes(parser, &block, emit) {
            return;
        }
        self.has_open_end = true;
        emit(Parsed::Rejected(vec![reading::too_large(parser, &block.body)]));
        if self.rejected_text != RejectedCallText::Never {
            emit_text(&block.body, emit);
        }
    }

    /// Reads a block again when its quotes proved to be wrong and hid an end marker; tells whether it did.
    fn replays_without_quotes(&mut self, parser: FunctionCallParser, block: &Block, emit: Emit<'_>) -> bool {
        work::count(block.body.len());
        let hides_end = marker::end_in_text(parser).is_some_and(|end| block.body.contains(end));
        if block.ignores_quotes() || !hides_end {
            return false;
        }
        self.is_replaying = true;
        self.begin_block();
        self.push_text(parser, &block.body, emit);
        self.is_replaying = false;
        true
    }

    fn emit_reading(&mut self, mut reading: Reading, body: &str, releases_text: bool, emit: Emit<'_>) {
        let candidates = reading.rejected.iter_mut().filter_map(|rejected| rejected.candidate.as_mut());
        reading.calls.iter_mut().chain(candidates).for_each(|call| self.call_ids.give(call));
        let Reading { calls, rejected, trailing, .. } = reading;
        let (n_calls, n_rejected) = (calls.len(), rejected.len());
        if n_calls > 0 {
            emit(Parsed::Calls(calls));
        }
        if n_rejected > 0 {
            emit(Parsed::Rejected(rejected));
        }
        if n_calls + n_rejected == 0 {
            emit(Parsed::Note(Note::EmptyBlock));
        }
        let is_released = match self.rejected_text {
            RejectedCallText::WhenNoCall => n_calls == 0,
            RejectedCallText::Never => false,
            RejectedCallText::Always => true,
        };
        if n_rejected > 0 && is_released {
            if releases_text {
                emit_text(body, emit);
            }
        } else if let Some(at) = trailing {
            emit(Parsed::Note(Note::TrailingText));
            emit_text(&body[at..], emit);
        }
    }
}

/// The arguments in the text of a call, with numbers as texts, as the model wrote them; `None` for other texts. Arguments
/// that were given as JSON text inside of the call keep their numbers.
pub(crate) fn number_lexemes(raw_text: &str) -> Option<Arguments> {
    let text = raw_text.trim_start();
    if text.starts_with('{') { json::lexemes(text) } else { python::lexemes(text) }
}

/// The number that a lexeme stands for.
pub(crate) fn number_of(lexeme: &str) -> Option<Value> {
    python::number::read(lexeme, &mut Repairs::default()).ok()
}

fn emit_text(text: &str, emit: Emit<'_>) {
    if !text.is_empty() {
        emit(Parsed::Text(text.to_owned()));
    }
}
