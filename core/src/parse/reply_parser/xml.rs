//! What is particular to calls in XML: line ends before them, calls without the tag around them, calls that end reasoning.

use crate::notation::Notation;
use crate::notation::offered::OfferedFunctions;
use crate::notation::xml::{FUNCTION, tag_name};
use crate::options::Strictness;
use crate::parse::call_block::{CallBlock, UnmarkedName};
use crate::parse::event::{Emit, Parsed, emit_text};
use crate::parse::reply_parser::state::{ParserState, ReplyParser};

impl ReplyParser {
    /// Whether the notation is XML, and calls may come anywhere in the text.
    fn is_xml(&self) -> bool {
        self.notation.is_some_and(|notation| notation.is_tagged) && !self.is_text_last
    }

    /// Whether a call without the tag around it may begin. Models that reason, or that wrote the tag before, do not forget it:
    /// they rather write about a call.
    pub(super) fn reads_unmarked(&self) -> bool {
        let may_forget = !self.had_reasoning && !self.had_block && self.strictness == Strictness::Recover;
        self.is_xml() && may_forget && !self.functions.is_empty()
    }

    /// Whether the next character of the reasoning is the first of a line, in XML.
    pub(super) fn may_start_in_reasoning(&self) -> bool {
        let is_line_start = 0 < self.n_line_ends || self.is_reasoning_empty;
        self.is_xml() && is_line_start && matches!(self.state, ParserState::Reasoning)
    }

    /// Emits text, or reasoning. In XML, line ends are held back until it is clear that no block follows them.
    pub(super) fn emit_plain(&mut self, text: &str, emit: Emit<'_>) {
        let kept = if self.is_xml() { text.trim_end_matches('\n') } else { text };
        let n_line_ends = text.len() - kept.len();
        if kept.is_empty() {
            self.n_line_ends += n_line_ends;
            return;
        }
        self.release_line_ends(emit);
        self.n_line_ends = n_line_ends;
        self.emit_section(kept, emit);
    }

    /// Emits the line ends that were held back.
    pub(super) fn release_line_ends(&mut self, emit: Emit<'_>) {
        let line_ends = "\n".repeat(std::mem::take(&mut self.n_line_ends));
        self.emit_section(&line_ends, emit);
    }

    fn emit_section(&mut self, text: &str, emit: Emit<'_>) {
        match self.state {
            ParserState::Reasoning if !text.is_empty() => {
                self.is_reasoning_empty = false;
                emit(Parsed::Reasoning(text.to_owned()));
            }
            ParserState::Reasoning => {}
            _ => match &mut self.loose_space {
                Some(space) if text.trim().is_empty() => space.push_str(text),
                _ => {
                    self.release_space(emit);
                    emit_text(text, emit);
                }
            },
        }
    }

    /// Emits white space that was held back, because other text follows it.
    pub(super) fn release_space(&mut self, emit: Emit<'_>) {
        emit_text(&self.loose_space.take().unwrap_or_default(), emit);
    }

    /// Begins a call without the tag around it.
    pub(super) fn start_unmarked(&mut self, emit: Emit<'_>) {
        self.has_open_end = false;
        self.state = ParserState::Block(CallBlock::unmarked());
        self.add_plain(FUNCTION, emit);
    }

    /// Goes back to text if the call without a tag does not have the name of an offered function.
    pub(super) fn check_unmarked(&mut self, emit: Emit<'_>) {
        let (ParserState::Block(block), Some(notation)) = (&mut self.state, self.notation) else { return };
        if block.unmarked != Some(UnmarkedName::Unread) {
            return;
        }
        match tag_name(&block.body[FUNCTION.len()..]) {
            Some(name) if self.functions.named(name).is_some() => {
                block.unmarked = Some(UnmarkedName::Offered);
                block.n_line_ends = std::mem::take(&mut self.n_line_ends);
            }
            Some(_) => self.release_unmarked(notation, emit),
            None if may_become_offered(&self.functions, &block.body[FUNCTION.len()..]) => {}
            None => self.release_unmarked(notation, emit),
        }
    }

    /// Ends a call whose name was not read: it is text, which may contain other markers after its first character.
    pub(super) fn release_unmarked(&mut self, notation: &'static Notation, emit: Emit<'_>) {
        let ParserState::Block(CallBlock { unmarked: Some(UnmarkedName::Unread), .. }) = &self.state else { return };
        let Some(block) = self.take_block() else { return };
        self.add_plain(&block.body[..1], emit);
        self.push_text(notation, &block.body[1..], emit);
    }
}

/// Whether the beginning of a name, which may be in quotes, may become that of an offered function.
fn may_become_offered(functions: &OfferedFunctions, beginning: &str) -> bool {
    let beginning = beginning.trim_start();
    let name = beginning.strip_prefix(['"', '\'']).unwrap_or(beginning);
    let is_whole = |name: &str| functions.named(name).is_some();
    functions.may_begin(name) || is_whole(name.trim_end()) || is_whole(name.trim_end().trim_end_matches(['"', '\'']))
}
