//! The markers of a reply: where they start in text, and what each means in the state that the parser is in.

use crate::notation::Notation;
use crate::notation::marker::{self, Marker, MarkerSpelling, MarkerStart, TAG, THINK_END};
use crate::notation::xml;
use crate::parse::block_reader::Ending;
use crate::parse::event::{Emit, Note, Parsed, emit_text};
use crate::parse::reply_parser::state::{CHANNEL_LINE, ParserState, ReplyParser};
use crate::parse::untagged::NEAR_TAG_STARTS;

impl ReplyParser {
    /// Takes a marker, the start of one, or only the `<` that the text starts with.
    pub(super) fn take_angle(&mut self, notation: &'static Notation, text: &str, emit: Emit<'_>) -> usize {
        match marker::at_start(text, self.markers(notation)) {
            MarkerStart::Marker(marker, spelling) => {
                self.handle_marker(notation, marker, spelling, emit);
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
    pub(super) fn continue_held(&mut self, notation: &'static Notation, text: &str, emit: Emit<'_>) -> usize {
        let n_held = self.held.len();
        self.held.push_str(&text[..text.floor_char_boundary(marker::MAX_LENGTH)]);
        match marker::at_start(&self.held, self.markers(notation)) {
            MarkerStart::Marker(marker, spelling) => {
                self.held.clear();
                self.handle_marker(notation, marker, spelling, emit);
                spelling.len() - n_held
            }
            MarkerStart::Prefix => text.len(),
            MarkerStart::Plain => {
                self.held.truncate(n_held);
                let held = std::mem::take(&mut self.held);
                self.add_plain(&held[..1], emit);
                self.push_text(notation, &held[1..], emit); // another marker may start in it
                0
            }
        }
    }

    /// The markers that text can spell in the current state.
    pub(super) fn markers(&self, notation: &'static Notation) -> impl Iterator<Item = MarkerSpelling> + use<> {
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

    pub(super) fn push_control(&mut self, notation: &'static Notation, spelling: &str, emit: Emit<'_>) {
        let Some(marker) = notation.of_control(spelling) else {
            return self.push_inner(notation.inner_control(spelling), notation, emit);
        };
        if let ParserState::Echo(echo) = &mut self.state
            && marker == Marker::BlockEnd
            && echo.ends_here()
        {
            return emit(Parsed::Note(Note::EchoRemoved));
        }
        if let ParserState::Untagged(candidate) = &self.state {
            let is_ended = marker == Marker::BlockEnd && candidate.ends_at_marker();
            if self.end_candidate(notation, is_ended, emit) {
                return;
            }
        }
        self.release_held(notation, emit);
        if marker == Marker::BlockStart && self.may_start_in_reasoning() {
            return self.push_text(notation, spelling, emit); // what follows it decides
        }
        self.handle_marker(notation, marker, spelling, emit);
    }

    /// Takes a control token that is part of a block. An echo of a block with such tokens is not recognised.
    pub(super) fn push_inner(&mut self, spelling: Option<&'static str>, notation: &'static Notation, emit: Emit<'_>) {
        let Some(spelling) = spelling else { return };
        self.release_held(notation, emit);
        if let ParserState::Untagged(candidate) = &mut self.state
            && candidate.expects_tag()
        {
            let followed = candidate.follow(spelling, &self.functions);
            self.handle_followed(notation, followed, spelling, emit);
        }
        if let ParserState::Block(block) = &mut self.state {
            let n_added = block.add_control(spelling);
            if n_added < spelling.len() {
                self.abandon_block(emit);
            }
        }
    }

    /// Handles a marker.
    pub(super) fn handle_marker(
        &mut self,
        notation: &'static Notation,
        marker: Marker,
        spelling: &str,
        emit: Emit<'_>,
    ) {
        self.release_unmarked(notation, emit);
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
        match (&mut self.state, marker) {
            (ParserState::Reasoning, Marker::ReasoningEnd) => self.state = ParserState::Text,
            (ParserState::Reasoning, Marker::StartInReasoning) => self.start_block_after(notation, spelling, emit),
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
            (ParserState::Block(_), Marker::BlockEnd) => self.close_block(notation, Ending::Closed, emit),
            (ParserState::Block(_), Marker::Response) => self.close_block(notation, Ending::Stopped, emit),
            (ParserState::Block(_), Marker::UnmarkedEnd) => {
                self.add_plain(spelling, emit);
                self.close_block(notation, Ending::Closed, emit);
                self.has_open_end = true;
            }
            (ParserState::Block(_), Marker::BlockStart) => self.cut_block(notation, spelling, emit),
            (ParserState::Block(block), _) => {
                block.scan(spelling);
                self.add_plain(spelling, emit);
            }
            (_, Marker::BlockStart) => self.start_block(notation, spelling),
            (_, Marker::StartInReasoning) => self.start_block_after(notation, spelling, emit),
            (_, Marker::UnmarkedStart) => self.start_unmarked(emit),
            (_, Marker::NearTag) => match self.finder.candidate_in_tag(spelling) {
                Some(candidate) => self.state = ParserState::Untagged(candidate),
                None => self.add_plain(spelling, emit),
            },
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
    pub(super) fn start_block_after(&mut self, notation: &'static Notation, spelling: &str, emit: Emit<'_>) {
        let (start, _) = notation.blocks[0];
        self.start_block(notation, spelling);
        self.add_plain(spelling.strip_prefix(start).unwrap_or(spelling), emit);
    }
}
