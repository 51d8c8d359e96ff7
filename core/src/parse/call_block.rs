//! A block of calls while it is being written: the text between its start marker and its end marker.

use crate::parse::limits::MAX_BLOCK_BYTES;
use crate::parse::quoted::QuoteState;

/// Collects the body of a block.
#[derive(Debug, Default)]
pub(super) struct CallBlock {
    pub(super) body: String,
    /// Whether the end of the body is inside of a string, where markers are data.
    quotes: QuoteState,
    /// Whether markers count even in strings: set when the quotes turned out to be wrong.
    ignores_quotes: bool,
}

impl CallBlock {
    pub(super) fn new(ignores_quotes: bool) -> Self {
        Self { ignores_quotes, ..Self::default() }
    }

    pub(super) fn ignores_quotes(&self) -> bool {
        self.ignores_quotes
    }

    /// Scans the spelling of a control token, which holds no quotes.
    pub(super) fn scan(&mut self, spelling: &str) {
        self.quotes = spelling.bytes().fold(self.quotes, QuoteState::after);
    }

    /// Where the next marker could start in `text`, which follows the body: the first `<` outside of strings.
    pub(super) fn next_angle(&mut self, text: &str) -> Option<usize> {
        if self.ignores_quotes {
            return text.find('<');
        }
        for (at, byte) in text.bytes().enumerate() {
            #[cfg(test)]
            crate::parse::work::count(1);
            if self.quotes == QuoteState::Outside && byte == b'<' {
                return Some(at);
            }
            self.quotes = self.quotes.after(byte);
        }
        None
    }

    /// Adds text; returns how many bytes fit under the limit.
    pub(super) fn add(&mut self, text: &str) -> usize {
        let fitting = text.floor_char_boundary(MAX_BLOCK_BYTES - self.body.len());
        self.body.push_str(&text[..fitting]);
        fitting
    }
}
