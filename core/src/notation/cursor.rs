//! A position in text that is being read.

use unicode_ident::{is_xid_continue, is_xid_start};

/// Reads a text from left to right. Copied to look ahead.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    pub(crate) text: &'a str,
    /// Bytes read; always between two characters.
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Reads `wanted`, if it comes next.
    pub(crate) fn eat(&mut self, wanted: &str) -> bool {
        let is_here = self.rest().starts_with(wanted);
        if is_here {
            self.at += wanted.len();
        }
        is_here
    }

    /// Reads characters while `belongs` holds for them.
    pub(crate) fn eat_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|character| !belongs(character)).unwrap_or(rest.len());
        self.at += end;
        crate::notation::work::count(end + 1);
        &rest[..end]
    }

    pub(crate) fn skip_space(&mut self) {
        self.eat_while(char::is_whitespace);
    }

    /// Reads white space that is written as an escape, such as `\n`, and white space after it; returns whether there was any.
    pub(crate) fn eat_escaped_space(&mut self) -> bool {
        let is_here = ["\\n", "\\r", "\\t"].iter().any(|escape| self.eat(escape));
        if is_here {
            self.skip_space();
        }
        is_here
    }

    /// Reads an identifier; returns an empty string if none comes next.
    pub(crate) fn word(&mut self) -> &'a str {
        if self.peek().is_some_and(starts_word) { self.eat_while(continues_word) } else { "" }
    }

    /// Reads the name of a function or an argument, identifiers joined by dots or hyphens; returns an empty string if none
    /// comes next.
    pub(crate) fn name(&mut self) -> &'a str {
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

/// What a block begins with, after white space.
pub(crate) struct Opening {
    /// Whether it is the bracket of a list.
    pub(crate) is_list: bool,
    /// The first character, after that bracket.
    pub(crate) first: Option<char>,
}

impl Opening {
    pub(crate) fn new(text: &str) -> Self {
        let mut cursor = Cursor { text, at: 0 };
        cursor.skip_space();
        let is_list = cursor.eat("[");
        if is_list {
            cursor.skip_space();
        }
        Self { is_list, first: cursor.peek() }
    }
}

pub(crate) fn starts_word(character: char) -> bool {
    character == '_' || character.is_alphabetic() || is_xid_start(character)
}

pub(crate) fn continues_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric() || is_xid_continue(character)
}
