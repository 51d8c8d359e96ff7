//! Finds the echo of a block: its body written once more behind its end, as some models do.

use crate::parse::work;

/// Compares what follows a block with the block's body.
#[derive(Debug)]
pub(super) struct Echo {
    /// Without space around it; not empty.
    body: String,
    /// The marker that ends an echo, when text can spell it.
    end: Option<&'static str>,
    /// What was compared and may still be an echo.
    held: String,
    /// Bytes of the body that were found again.
    n_matched: usize,
    /// Bytes of the end marker that were found behind them.
    n_ended: usize,
}

/// How text compares.
pub(super) enum Compared {
    /// It may be an echo so far; it is held.
    Held,
    /// It is no echo. Nothing of it was taken; what was held before is returned.
    Differs(String),
    /// It completes an echo, with so many bytes.
    Completes(usize),
}

impl Echo {
    pub(super) fn new(body: &str, end: Option<&'static str>) -> Self {
        Self { body: body.trim().to_owned(), end, held: String::new(), n_matched: 0, n_ended: 0 }
    }

    pub(super) fn push(&mut self, text: &str) -> Compared {
        for (at, character) in text.char_indices() {
            work::count(1);
            if !self.matches(character) {
                return Compared::Differs(std::mem::take(&mut self.held));
            }
            if self.end.is_some_and(|end| end.len() == self.n_ended) {
                self.restart();
                return Compared::Completes(at + character.len_utf8());
            }
        }
        self.held.push_str(text);
        Compared::Held
    }

    /// The block's end marker came as a control token; tells whether it ends an echo.
    pub(super) fn ends_here(&mut self) -> bool {
        let is_whole = self.n_matched == self.body.len() && self.n_ended == 0;
        if is_whole {
            self.restart();
        }
        is_whole
    }

    /// Bytes that may still be an echo.
    pub(super) fn n_held(&self) -> usize {
        self.held.len()
    }

    pub(super) fn take_held(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    fn matches(&mut self, character: char) -> bool {
        let is_between = self.n_ended == 0 && (self.n_matched == 0 || self.n_matched == self.body.len());
        if self.body[self.n_matched..].starts_with(character) {
            self.n_matched += character.len_utf8();
            true
        } else if self.n_matched == self.body.len()
            && self.end.is_some_and(|end| end[self.n_ended..].starts_with(character))
        {
            self.n_ended += character.len_utf8();
            true
        } else {
            is_between && character.is_whitespace()
        }
    }

    fn restart(&mut self) {
        self.held.clear();
        self.n_matched = 0;
        self.n_ended = 0;
    }
}
