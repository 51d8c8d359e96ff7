//! The markers of a reply: where they start in text, and what each means in the state that the parser is in.

use crate::options::FunctionCallParser;
use crate::parse::block_reader::Ending;
use crate::parse::event::{Emit, Note, Parsed, emit_text};
use crate::parse::marker::{self, Marker, MarkerSpelling, MarkerStart};
use crate::parse::notation::{Notation, TAG, THINK_END};
use crate::parse::reply_parser::{CHANNEL_LINE, ParserState, ReplyParser, xml};
use crate::parse::untagged::NEAR_TAG_STARTS;

impl ReplyParser {
    /// Takes a marker, the start of one, or only the `<` that the text starts with.
    pub(super) fn take_angle(&mut self, parser: FunctionCallParser, text: &str, emit: Emit<'_>) -> usize {
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
    pub(super) fn continue_held(&mut self, parser: FunctionCallParser, text: &str, emit: Emit<'_>) -> usize {
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
                self.add_plain(&held[..1], emit);
                self.push_text(parser, &held[1..], emit); // another marker may start in it
                0
            }
        }
    }

    /// The markers that text can spell in the current state.
    pub(super) fn markers(&self, parser: FunctionCallParser) -> impl Iterator<Item = MarkerSpelling> + use<> {
        let notation = Notation::of(parser);
        let (known, others): (&[MarkerSpelling], &[MarkerSpelling]) = match &self.state {
            ParserState::Reasoning if self.may_start_in_reasoning() => (&[THINK_END], &xml::STARTS_IN_REASONING),
            ParserState::Reasoning => (notation.in_reasoning, &[]),
            ParserState::Block(block) if block.unmarked.is_some() => (notation.in_block, &xml::UNMARKED_END),
            ParserState::Block(_) => (notation.in_block, &[]),
            _ if self.finder.is_searching() => (notation.in_text, &NEAR_TAG_STARTS),
            _ if self.reads_unmarked() => (notation.in_text, &xml::UNMARKED_START),
            _ => (notation.in_text, &[]),
        };
        known.iter().chain(others).copied()
    }

    pub(super) fn push_control(&mut self, parser: FunctionCallParser, spelling: &str, emit: Emit<'_>) {
        let notation = Notation::of(parser);
        let Some(marker) = notation.of_control(spelling) else {
            return self.push_inner(notation.inner_control(spelling), parser, emit);
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
        if marker == Marker::BlockStart && self.may_start_in_reasoning() {
            return self.push_text(parser, spelling, emit); // what follows it decides
        }
        self.handle_marker(parser, marker, spelling, emit);
    }

    /// Takes a control token that is part of a block. An echo of a block with such tokens is not recognised.
    pub(super) fn push_inner(&mut self, spelling: Option<&'static str>, parser: FunctionCallParser, emit: Emit<'_>) {
        let Some(spelling) = spelling else { return };
        self.release_held(parser, emit);
        if let ParserState::Untagged(candidate) = &mut self.state
            && candidate.expects_tag()
        {
            let followed = candidate.follow(spelling, &self.functions);
            self.handle_followed(parser, followed, spelling, emit);
        }
        if let ParserState::Block(block) = &mut self.state {
            let n_added = block.add_control(spelling);
            if n_added < spelling.len() {
                self.abandon_block(emit);
            }
        }
    }

    /// Handles a marker.
    pub(super) fn handle_marker(&mut self, parser: FunctionCallParser, marker: Marker, spelling: &str, emit: Emit<'_>) {
        self.release_unmarked(parser, emit);
        if let ParserState::Block(block) = &mut self.state {
            let (starts, ends) =
                (marker == Marker::BlockStart, matches!(marker, Marker::BlockEnd | Marker::UnmarkedEnd));
            if block.hides(starts, ends, &self.functions) {
                return self.add_plain(spelling, emit);
            }
        } else if !matches!(marker, Marker::BlockStart | Marker::UnmarkedStart | Marker::StartInReasoning) {
            self.release_line_ends(emit);
        }
        // White space before reasoning stays where it was written.
        if matches!(marker, Marker::ReasoningStart | Marker::ChannelStart)
            && !self.had_calls
            && let Some(space) = &mut self.loose_space
        {
            emit_text(&std::mem::take(space), emit);
        }
        let notation = Notation::of(parser);
        match (&mut self.state, marker) {
            (ParserState::Reasoning, Marker::ReasoningEnd) => self.state = ParserState::Text,
            (ParserState::Reasoning, Marker::StartInReasoning) => self.start_block_after(parser, spelling, emit),
            (ParserState::Reasoning, Marker::Response) => {}
            (ParserState::Reasoning, Marker::JsonInReasoning) => {
                let (tag, json) = spelling.split_at(TAG.0.len());
                self.emit_plain(tag, emit);
                emit(Parsed::Note(Note::CallInReasoning));
                self.emit_plain(json, emit);
            }
            (ParserState::Reasoning, _) => {
                self.emit_plain(spelling, emit);
                if marker == Marker::BlockStart {
                    emit(Parsed::Note(Note::CallInReasoning));
                }
            }
            (ParserState::Block(_), Marker::BlockEnd) => self.close_block(parser, Ending::Closed, emit),
            (ParserState::Block(_), Marker::Response) => self.close_block(parser, Ending::Stopped, emit),
            (ParserState::Block(_), Marker::UnmarkedEnd) => {
                self.add_plain(spelling, emit);
                self.close_block(parser, Ending::Closed, emit);
                self.has_open_end = true;
            }
            (ParserState::Block(_), Marker::BlockStart) => self.cut_block(parser, spelling, emit),
            (ParserState::Block(block), _) => {
                block.scan(spelling);
                self.add_plain(spelling, emit);
            }
            (_, Marker::BlockStart) => self.start_block(parser, spelling),
            (_, Marker::StartInReasoning) => self.start_block_after(parser, spelling, emit),
            (_, Marker::UnmarkedStart) => self.start_unmarked(emit),
            (_, Marker::NearTag) => self.state = ParserState::Untagged(self.finder.candidate_in_tag(spelling)),
            (_, Marker::ReasoningStart) => self.start_reasoning(""),
            (_, Marker::ChannelStart) => self.start_reasoning(CHANNEL_LINE),
            // Where no call was written, the marker is only mentioned.
            (_, Marker::BlockEnd) if !self.had_calls && notation.end_in_text() == Some(spelling) => {
                self.has_open_end = false;
                self.add_plain(spelling, emit);
            }
            (_, Marker::BlockEnd) if self.has_open_end => self.has_open_end = false,
            (_, Marker::BlockEnd | Marker::ReasoningEnd) => emit(Parsed::Note(Note::StrayMarker)),
            (_, Marker::UnmarkedEnd | Marker::JsonInReasoning) => self.add_plain(spelling, emit),
            (_, Marker::Response) => {}
        }
    }

    pub(super) fn start_reasoning(&mut self, channel_line: &'static str) {
        self.state = ParserState::Reasoning;
        self.had_reasoning = true;
        self.is_reasoning_empty = true;
        self.channel_line = channel_line;
    }

    /// Starts a block with a marker that contains the beginning of its body.
    pub(super) fn start_block_after(&mut self, parser: FunctionCallParser, spelling: &str, emit: Emit<'_>) {
        let (start, _) = Notation::of(parser).blocks[0];
        self.start_block(parser, spelling);
        self.add_plain(spelling.strip_prefix(start).unwrap_or(spelling), emit);
    }
}
