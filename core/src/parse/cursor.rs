//! A position in text that is being read.

use unicode_ident::{is_xid_continue, is_xid_start};

/// Reads a text from left to right. Copied to look ahead.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    /// Bytes read; always between two characters.
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Reads `wanted`, if it comes next.
    pub(super) fn eat(&mut self, wanted: &str) -> bool {
        let is_here = self.rest().starts_with(wanted);
        if is_here {
            self.at += wanted.len();
        }
        is_here
    }

    /// Reads characters while `belongs` holds for them.
    pub(super) fn eat_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|character| !belongs(character)).unwrap_or(rest.len());
        self.at += end;
        #[cfg(test)]
        crate::parse::work::count(end + 1);
        &rest[..end]
    }

    pub(super) fn skip_space(&mut self) {
        self.eat_while(char::is_whitespace);
    }

    /// Reads white space that is written as an escape, such as `\n`, and white space after it; returns whether there was any.
    pub(super) fn eat_escaped_space(&mut self) -> bool {
        let is_here = ["\\n", "\\r", "\\t"].iter().any(|escape| self.eat(escape));
        if is_here {
            self.skip_space();
        }
        is_here
    }

    /// Reads an identifier; returns an empty string if none comes next.
    pub(super) fn word(&mut self) -> &'a str {
        if self.peek().is_some_and(starts_word) { self.eat_while(continues_word) } else { "" }
    }

    /// Reads the name of a function or an argument, identifiers joined by dots or hyphens; returns an empty string if none
    /// comes next.
    pub(super) fn name(&mut self) -> &'a str {
        let start = self.at;
        let mut end = start;
        let mut word = self.word();
        while !word.is_empty() {
            end = self.at;
            word = match self.peek() {
                Some('.') if self.eat(".") => self.word(),
                Some('-') if self.eat("-") => self.eat_while(continues_word),
                _ => "",
            };
        }
        self.at = end;
        &self.text[start..end]
    }
}

pub(super) fn starts_word(character: char) -> bool {
    character == '_' || character.is_alphabetic() || is_xid_start(character)
}

pub(super) fn continues_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric() || is_xid_continue(character)
}
