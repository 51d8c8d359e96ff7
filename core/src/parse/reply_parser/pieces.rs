//! Takes the pieces of a reply, and its end: separates plain text from what may begin a marker or a call.

use crate::notation::Notation;
use crate::parse::block_reader::Ending;
use crate::parse::call_block::UnmarkedName;
use crate::parse::echo::Compared;
use crate::parse::event::{Emit, Note, Parsed, Piece, ReplyEnd, emit_text};
use crate::parse::reply_parser::state::{CHANNEL_LINE, ParserState, ReplyParser};

impl ReplyParser {
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

    pub(super) fn push_text(&mut self, notation: &'static Notation, text: &str, emit: Emit<'_>) {
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
    pub(super) fn take_plain(&mut self, text: &str, emit: Emit<'_>) -> usize {
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
    pub(super) fn add_plain(&mut self, text: &str, emit: Emit<'_>) {
        let taken = self.take_plain(text, emit);
        if taken < text.len() {
            self.take_plain(&text[taken..], emit); // the block was abandoned, so the rest is text
        }
    }

    /// Releases the text that is held, because nothing that could complete it follows.
    pub(super) fn release_held(&mut self, notation: &'static Notation, emit: Emit<'_>) {
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
