//! Finds the echo of a block: its body repeated after its end marker, as some models do.

/// Compares what follows a block with the block's body.
#[derive(Debug)]
pub(super) struct Echo {
    /// The body without whitespace around it; not empty.
    body: String,
    /// The marker that ends an echo, if text can spell it.
    end: Option<&'static str>,
    /// Text that was compared and may still be an echo.
    held: String,
    /// Bytes of the body that were matched.
    n_matched: usize,
    /// Bytes of the end marker that were matched after the body.
    n_ended: usize,
}

/// What comparing a piece of text found.
pub(super) enum Compared {
    /// The text may be part of an echo; it is held.
    Held,
    /// The text is not an echo. Nothing of it was taken; the text held before is returned.
    Differs(String),
    /// The text completes an echo with this many bytes.
    Completes(usize),
}

impl Echo {
    pub(super) fn new(body: &str, end: Option<&'static str>) -> Self {
        Self { body: body.trim().to_owned(), end, held: String::new(), n_matched: 0, n_ended: 0 }
    }

    pub(super) fn push(&mut self, text: &str) -> Compared {
        for (at, character) in text.char_indices() {
            crate::notation::work::count(1);
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

    /// Takes the block's end marker as a control token; returns whether it ends an echo.
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
