//! The blocks of a reply: where they end, and what is delivered of them.

use crate::function::Repair;
use crate::notation::Notation;
use crate::notation::marker::TAG_END;
use crate::notation::marker::{Marker, MarkerSpelling};
use crate::parse::block_reader::{self, BlockContent, Ending, WrittenBlock};
use crate::parse::call_block::CallBlock;
use crate::parse::echo::Echo;
use crate::parse::event::{Emit, Parsed, emit_text};
use crate::parse::reply_parser::state::{ParserState, ReplyParser};
use crate::parse::untagged::Followed;

impl ReplyParser {
    /// Handles what became of a candidate that `text` follows; returns the number of bytes taken.
    pub(super) fn handle_followed(
        &mut self,
        notation: &'static Notation,
        followed: Followed,
        text: &str,
        emit: Emit<'_>,
    ) -> usize {
        match followed {
            Followed::Held => text.len(),
            Followed::Complete(n_taken) => {
                self.end_candidate(notation, true, emit);
                n_taken
            }
            Followed::Refused(n_taken) => {
                self.end_candidate(notation, false, emit);
                n_taken
            }
        }
    }

    /// Ends a candidate: its calls are delivered if it is one whose end was reached and that can be read; else it is text.
    /// Returns whether calls were delivered.
    pub(super) fn end_candidate(&mut self, notation: &'static Notation, is_ended: bool, emit: Emit<'_>) -> bool {
        let candidate = match std::mem::replace(&mut self.state, ParserState::Text) {
            ParserState::Untagged(candidate) => candidate,
            other => {
                self.state = other;
                return false;
            }
        };
        if is_ended && let Some(content) = candidate.read(&self.functions) {
            self.finder.pass_block();
            self.emit_content(
                content,
                WrittenBlock { n_line_ends: 0, start: "", body: candidate.text(), end: "" },
                true,
                emit,
            );
            return true;
        }
        // Its text may contain other markers, but no candidate that starts earlier than one in what follows.
        let was_paused = std::mem::replace(&mut self.finder.is_paused, true);
        self.push_text(notation, &candidate.into_text(), emit);
        self.finder.is_paused = was_paused;
        false
    }

    /// Starts a block after this marker.
    pub(super) fn start_block(&mut self, notation: &'static Notation, spelling: &str) {
        self.finder.pass_block();
        self.has_open_end = false;
        let n_line_ends = std::mem::take(&mut self.n_line_ends);
        self.had_block = true;
        let spells = |(start, _): &&MarkerSpelling| spelling.starts_with(start);
        let start = notation.in_block.iter().find(spells).map_or("", |(start, _)| *start);
        self.state = ParserState::Block(CallBlock::new(start, n_line_ends, self.is_replaying));
    }

    /// Ends a block at its end marker, or where it stops.
    pub(super) fn close_block(&mut self, notation: &'static Notation, ending: Ending, emit: Emit<'_>) {
        let Some(block) = self.take_block() else { return };
        let content = self.read_block(notation, &block, ending);
        if content.is_broken && self.replays_without_quotes(notation, &block, emit) {
            return self.push_text(notation, TAG_END.0, emit);
        }
        let has_end = ending == Ending::Closed && !block.start.is_empty();
        let end = notation.end_in_text().filter(|_| has_end).unwrap_or_default();
        let is_text = content.is_text;
        self.emit_content(content, block.written(end), true, emit);
        if !is_text && !block.body.trim().is_empty() {
            self.state = ParserState::Echo(Echo::new(&block.body, notation.end_in_text()));
        }
    }

    /// Ends a block in which another one starts.
    pub(super) fn cut_block(&mut self, notation: &'static Notation, spelling: &str, emit: Emit<'_>) {
        if !notation.has_ends() {
            self.close_block(notation, Ending::Stopped, emit);
            return self.start_block(notation, spelling);
        }
        let Some(block) = self.take_block() else { return };
        if self.replays_without_quotes(notation, &block, emit) {
            return self.handle_marker(notation, Marker::BlockStart, spelling, emit);
        }
        let content = self.read_block(notation, &block, Ending::Cut);
        self.emit_content(content, block.written(""), true, emit);
        self.start_block(notation, spelling);
    }

    /// Ends a block that exceeds the size limit: it becomes text, and so does what follows.
    pub(super) fn abandon_block(&mut self, emit: Emit<'_>) {
        let Some(block) = self.take_block() else { return };
        let Some(notation) = self.notation else { return };
        if self.replays_without_quotes(notation, &block, emit) {
            return;
        }
        self.has_open_end = true;
        self.release_space(emit);
        let rejected = block_reader::too_large(notation, &block.body, &self.functions);
        let is_offered = rejected.name.as_deref().is_some_and(|name| self.functions.named(name).is_some());
        if is_offered || !notation.only_offered {
            emit(Parsed::Rejected(vec![rejected]));
        }
        emit_text(&block.written("").text(), emit);
    }

    pub(super) fn read_block(&self, notation: &'static Notation, block: &CallBlock, ending: Ending) -> BlockContent {
        let mut content = block_reader::read(notation, self.strictness, block.text(), &self.functions, ending);
        if block.unmarked.is_some() {
            for call in &mut content.calls {
                call.repairs.push(Repair::MissingMarkers);
                call.repairs.sort_unstable();
            }
        }
        content
    }

    /// Parses a block again, without regard to quotes, if they were wrong and hid an end marker; returns whether it did.
    pub(super) fn replays_without_quotes(
        &mut self,
        notation: &'static Notation,
        block: &CallBlock,
        emit: Emit<'_>,
    ) -> bool {
        crate::notation::work::count(block.body.len());
        let hides_end = notation.end_in_text().is_some_and(|end| block.body.contains(end));
        if block.ignores_quotes() || !hides_end {
            return false;
        }
        self.is_replaying = true;
        self.n_line_ends = block.n_line_ends;
        self.start_block(notation, block.start);
        self.push_text(notation, &block.body, emit);
        self.is_replaying = false;
        true
    }

    pub(super) fn emit_content(
        &mut self,
        mut content: BlockContent,
        block: WrittenBlock<'_>,
        releases_text: bool,
        emit: Emit<'_>,
    ) {
        if content.has_calls() {
            self.had_calls = true;
            self.loose_space = Some(String::new());
        } else {
            self.release_space(emit);
        }
        let candidates = content.rejected.iter_mut().filter_map(|rejected| rejected.candidate.as_mut());
        content.calls.iter_mut().chain(candidates).for_each(|call| self.call_ids.give(call));
        content.emit(block, releases_text, emit);
    }

    /// Goes back to text; returns the block that was open.
    pub(super) fn take_block(&mut self) -> Option<CallBlock> {
        match std::mem::replace(&mut self.state, ParserState::Text) {
            ParserState::Block(block) => Some(block),
            _ => None,
        }
    }
}
