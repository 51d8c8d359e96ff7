//! Calls that are written without the markers of their notation.
//!
//! Models that are asked for JSON between tags also write it without them. These forms are read as calls, if they hold one
//! object or a list of objects with the name of an offered function and an object of arguments, and nothing else:
//!
//! | form | where it starts | where it ends |
//! |---|---|---|
//! | bare | at the start of the reply | at its end, or at a stray end marker |
//! | fenced | at three backticks, perhaps with `json`, at the start of a line | at the next three backticks |
//! | list | at the start of the reply, in Llama's notation: a list of calls in Python | at the end of the reply |
//! | near tag | at `<tools>`, `<function_call>` or `<response>` | at the tag's end |
//!
//! [`CandidateFinder`] finds where one may start, and a [`UntaggedBlock`] is followed until it is complete, or until the first
//! byte that cannot be part of such calls. Then it is text, to the byte. So a JSON answer is held back up to the end of its
//! first key, and an object with a `name` up to the end of the name.

mod candidate;
mod python_scan;
mod scan;

use crate::parse::marker::{self, Marker, MarkerSpelling};

pub(super) use candidate::{Followed, UntaggedBlock};

/// The starts of near tags.
pub(super) const NEAR_TAG_STARTS: [MarkerSpelling; 3] = [
    (marker::NEAR_TAGS[0].0, Marker::NearTag),
    (marker::NEAR_TAGS[1].0, Marker::NearTag),
    (marker::NEAR_TAGS[2].0, Marker::NearTag),
];

/// Finds where a block without markers may start in the text of a reply.
#[derive(Debug, Default)]
pub(super) struct CandidateFinder {
    /// The functions that may be called; none if only marked blocks are read.
    names: Vec<String>,
    /// Whether the notation is Llama's, whose calls have no markers.
    is_llama: bool,
    /// Whether the reply has more than white space so far.
    has_content: bool,
    /// Whether the current line has more than white space so far.
    line_has_content: bool,
    /// Whether text is parsed again that turned out not to be a candidate.
    pub(super) is_paused: bool,
}

impl CandidateFinder {
    pub(super) fn new(names: Vec<String>, is_llama: bool) -> Self {
        Self { names, is_llama, ..Self::default() }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether candidates may start now.
    pub(super) fn is_searching(&self) -> bool {
        !self.names.is_empty() && !self.is_paused
    }

    /// The first position in `text` where a marker or a candidate may start.
    pub(super) fn next_opening(&self, text: &str) -> Option<usize> {
        if !self.is_searching() {
            return text.find('<');
        }
        let (mut has_content, mut line_has_content) = (self.has_content, self.line_has_content);
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'<' => return Some(at),
                b'{' | b'[' if !has_content => return Some(at),
                b'`' if !line_has_content => return Some(at),
                b'\n' => line_has_content = false,
                byte if byte.is_ascii_whitespace() => {}
                _ => (has_content, line_has_content) = (true, true),
            }
        }
        None
    }

    /// Follows text that is neither a marker nor a candidate.
    pub(super) fn pass(&mut self, text: &str) {
        let is_blank = |text: &str| text.bytes().all(|byte| byte.is_ascii_whitespace());
        self.has_content = self.has_content || !is_blank(text);
        self.line_has_content = match text.rfind('\n') {
            Some(at) => !is_blank(&text[at..]),
            None => self.line_has_content || !is_blank(text),
        };
    }

    /// Follows a block of calls.
    pub(super) fn pass_block(&mut self) {
        self.has_content = true;
    }

    /// The candidate that a character other than `<` opens, which [`next_opening`](Self::next_opening) found.
    pub(super) fn candidate(&self, opening: &str) -> UntaggedBlock {
        if opening.starts_with('`') { UntaggedBlock::fenced() } else { UntaggedBlock::bare(self.is_llama) }
    }

    /// The candidate that a near tag opens.
    pub(super) fn candidate_in_tag(&self, tag: &str) -> UntaggedBlock {
        let end = marker::NEAR_TAGS.iter().find(|(start, _)| *start == tag).map_or("", |(_, end)| end);
        UntaggedBlock::in_tag(tag, end)
    }
}
