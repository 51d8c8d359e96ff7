//! Calls that are written without the markers of their notation.
//!
//! Models also write calls without the control tokens or tags around them. These forms are read as calls, if they hold nothing
//! but calls of offered functions:
//!
//! | form | where it starts | where it ends |
//! |---|---|---|
//! | bare | at the start of the reply | at its end, or at a stray end marker |
//! | fenced | at three backticks, perhaps with a language, at the start of a line | at the next three backticks |
//! | after a word | at `functools`, in the notation of this name | at the end of the list |
//! | near tag | at `<tools>`, `<function_call>`, `<response>` or `<tool_call>` | at the tag's end |
//!
//! In each form, calls are objects of JSON, or a list of them; in LFM2's and Llama's notations also a list of calls in
//! Python; in Mistral's a bare call may also be a name and its arguments.
//!
//! [`CandidateFinder`] finds where one may start, and a [`UntaggedBlock`] is followed until it is complete, or until the first
//! byte that cannot be part of such calls. Then it is text, to the byte. So a JSON answer is held back up to the end of its
//! first key, and an object with a `name` up to the end of the name.

mod candidate;
mod forms;
mod named_scan;
mod opening;
mod python_scan;
mod scan;

use crate::notation::Notation;
use crate::notation::definition::{RegularPlace, UntaggedForms};
use crate::notation::marker::{self, Marker, MarkerSpelling};
use crate::notation::offered::OfferedFunctions;
use crate::options::Strictness;

pub(super) use candidate::{Followed, UntaggedBlock};
pub(crate) use forms::reads_untagged;

use forms::SearchedForms;
use opening::CandidatePlace;

/// The starts of near tags.
pub(super) const NEAR_TAG_STARTS: [MarkerSpelling; 4] = [
    (marker::NEAR_TAGS[0].0, Marker::NearTag),
    (marker::NEAR_TAGS[1].0, Marker::NearTag),
    (marker::NEAR_TAGS[2].0, Marker::NearTag),
    (marker::NEAR_TAGS[3].0, Marker::NearTag),
];

/// Finds where a block without markers may start in the text of a reply.
#[derive(Debug, Default)]
pub(super) struct CandidateFinder {
    /// The forms that are read; `None` if only marked blocks are.
    forms: Option<SearchedForms>,
    /// Whether the reply has more than white space so far.
    has_content: bool,
    /// Whether the current line has more than white space so far.
    line_has_content: bool,
    /// Whether the text ends with something else than white space.
    is_in_word: bool,
    /// Whether text is parsed again that turned out not to be a candidate.
    pub(super) is_paused: bool,
}

impl CandidateFinder {
    pub(super) fn new(notation: Option<&'static Notation>, strictness: Strictness) -> Self {
        let forms = notation
            .and_then(|notation| Some(SearchedForms { notation, forms: notation.untagged.as_ref()?, strictness }));
        Self { forms, ..Self::default() }
    }

    /// The forms, if candidates may start now.
    fn searched(&self) -> Option<&'static UntaggedForms> {
        self.forms.filter(|_| !self.is_paused).map(|searched| searched.forms)
    }

    /// Whether candidates may start now.
    pub(super) fn is_searching(&self) -> bool {
        self.searched().is_some()
    }

    /// The first position in `text` where a marker or a candidate may start.
    pub(super) fn next_opening(&self, text: &str, offered: &OfferedFunctions) -> Option<usize> {
        let Some(forms) = self.searched() else { return text.find('<') };
        let (mut has_content, mut line_has_content) = (self.has_content, self.line_has_content);
        let mut is_in_word = self.is_in_word;
        let word = forms.word.bytes().next().filter(|_| forms.regular == RegularPlace::AfterWord);
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'<' => return Some(at),
                byte if !has_content && opening::begins_bare(byte, forms, offered) => return Some(at),
                b'`' if !line_has_content => return Some(at),
                byte if !is_in_word && word == Some(byte) => return Some(at),
                b'\n' => line_has_content = false,
                byte if byte.is_ascii_whitespace() => {}
                _ => (has_content, line_has_content) = (true, true),
            }
            is_in_word = !byte.is_ascii_whitespace();
        }
        None
    }

    /// Follows text that is neither a marker nor a candidate.
    pub(super) fn pass(&mut self, text: &str) {
        let is_blank = |text: &str| text.bytes().all(|byte| byte.is_ascii_whitespace());
        self.has_content = self.has_content || !is_blank(text);
        self.is_in_word = text.bytes().last().map_or(self.is_in_word, |last| !last.is_ascii_whitespace());
        self.line_has_content = match text.rfind('\n') {
            Some(at) => !is_blank(&text[at..]),
            None => self.line_has_content || !is_blank(text),
        };
    }

    /// Follows a block of calls.
    pub(super) fn pass_block(&mut self) {
        self.has_content = true;
        self.is_in_word = false;
    }

    /// The candidate that a character other than `<` opens, which [`next_opening`](Self::next_opening) found.
    pub(super) fn candidate(&self, opening: &str) -> Option<UntaggedBlock> {
        let forms = self.forms?;
        let first = opening.bytes().next();
        let place = if first == Some(b'`') {
            CandidatePlace::Fenced
        } else if forms.forms.regular == RegularPlace::AfterWord && forms.forms.word.bytes().next() == first {
            CandidatePlace::AfterWord
        } else {
            CandidatePlace::Bare
        };
        Some(UntaggedBlock::new(forms, place, ""))
    }

    /// The candidate that a near tag opens.
    pub(super) fn candidate_in_tag(&self, tag: &str) -> Option<UntaggedBlock> {
        let end = marker::NEAR_TAGS.iter().find(|(start, _)| *start == tag).map_or("", |(_, end)| end);
        Some(UntaggedBlock::new(self.forms?, CandidatePlace::InTag { end }, tag))
    }
}
