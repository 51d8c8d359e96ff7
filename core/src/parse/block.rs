//! A block of calls while it is being written: text between its start and its end.

use crate::parse::{LARGEST_BLOCK, work};

/// Collects a block's body.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) body: String,
    /// The string in which the body stands now, when markers in strings are data.
    string: InString,
    /// Whether markers count even in strings: set when quotes proved to be wrong.
    ignores_quotes: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum InString {
    #[default]
    No,
    Yes(u8),
    /// Behind a backslash.
    Escaped(u8),
}

impl Block {
    pub(super) fn new(ignores_quotes: bool) -> Self {
        Self { ignores_quotes, ..Self::default() }
    }

    pub(super) fn ignores_quotes(&self) -> bool {
        self.ignores_quotes
    }

    /// Sees text that holds no quotes, a control token's spelling.
    pub(super) fn read_over(&mut self, spelling: &str) {
        self.string = spelling.bytes().fold(self.string, InString::behind);
    }

    /// Where the next marker could start in `text`, which follows the body: the first `<` outside of strings.
    pub(super) fn next_angle(&mut self, text: &str) -> Option<usize> {
        if self.ignores_quotes {
            return text.find('<');
        }
        for (at, byte) in text.bytes().enumerate() {
            work::count(1);
            if self.string == InString::No && byte == b'<' {
                return Some(at);
            }
            self.string = self.string.behind(byte);
        }
        None
    }

    /// Adds text; returns how much of it fits under the cap.
    pub(super) fn add(&mut self, text: &str) -> usize {
        let fitting = text.floor_char_boundary(LARGEST_BLOCK - self.body.len());
        self.body.push_str(&text[..fitting]);
        fitting
    }
}

impl InString {
    fn behind(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::No, b'"' | b'\'') => Self::Yes(byte),
            (Self::Yes(quote), b'\\') => Self::Escaped(quote),
            (Self::Yes(quote), _) if byte == quote => Self::No,
            (Self::Escaped(quote), _) => Self::Yes(quote),
            (state, _) => state,
        }
    }
}
