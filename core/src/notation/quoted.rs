//! Where quoted text ends: the one scanner of strings, in calls and in the tags of chat templates.
//!
//! A backslash escapes the character after it. Quotes and backslashes are ASCII, so the scanner reads bytes: neither is
//! ever part of another character.

/// How a string is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QuoteStyle {
    /// `'` or `"`.
    quote: u8,
    /// Whether three quotes stand on each side, as Python allows.
    pub(crate) is_triple: bool,
}

impl QuoteStyle {
    /// The style of the string that starts `text`, if its first character is a quote. Three quotes are not special.
    pub(crate) fn single(text: &str) -> Option<Self> {
        let quote = text.bytes().next().filter(|byte| matches!(byte, b'\'' | b'"'))?;
        Some(Self { quote, is_triple: false })
    }

    /// The style of the Python string that starts `text`, if its first character is a quote.
    pub(crate) fn python(text: &str) -> Option<Self> {
        let is_triple = text.starts_with("\"\"\"") || text.starts_with("'''");
        Self::single(text).map(|style| Self { is_triple, ..style })
    }

    /// `'` or `"`.
    pub(crate) fn quote(self) -> char {
        char::from(self.quote)
    }

    /// Bytes of the opening quotes, and of the closing ones.
    pub(crate) fn length(self) -> usize {
        if self.is_triple { 3 } else { 1 }
    }

    /// Where the first closing quotes start in `text`, at or after `from`, which must be inside of the string.
    pub(crate) fn closing(self, text: &str, from: usize) -> Option<usize> {
        let mut state = QuoteState::Inside(self.quote);
        for (at, byte) in text.bytes().enumerate().skip(from) {
            crate::notation::work::count(1);
            match state.after(byte) {
                QuoteState::Outside if !self.is_triple || Self::python(&text[at..]) == Some(self) => return Some(at),
                QuoteState::Outside => {} // one or two quotes inside of triple ones
                next => state = next,
            }
        }
        None
    }

    /// The position after the string whose opening quotes stand at `open`; `None` if it never ends.
    pub(crate) fn end(self, text: &str, open: usize) -> Option<usize> {
        Some(self.closing(text, open + self.length())? + self.length())
    }
}

/// Whether text is inside of a string, for text that arrives in pieces. Triple quotes are not special.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum QuoteState {
    #[default]
    Outside,
    Inside(u8),
    /// Inside, after a backslash.
    Escaped(u8),
}

impl QuoteState {
    /// The state after the next byte.
    pub(crate) fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Outside, b'"' | b'\'') => Self::Inside(byte),
            (Self::Inside(quote), b'\\') => Self::Escaped(quote),
            (Self::Inside(quote), _) if byte == quote => Self::Outside,
            (Self::Escaped(quote), _) => Self::Inside(quote),
            (state, _) => state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_ends_at_its_own_quote() {
        for (text, end) in [("'a\"b'c", Some(5)), (r"'a\'b' ", Some(6)), (r"'\\'", Some(4)), ("\"é\"", Some(4))] {
            assert_eq!(QuoteStyle::single(text).unwrap().end(text, 0), end, "{text}");
        }
        for text in ["'", "'a\"", r"'a\'", "'''"] {
            assert_eq!(QuoteStyle::python(text).unwrap().end(text, 0), None, "{text}");
        }
        assert_eq!(QuoteStyle::single("a'"), None);
    }

    #[test]
    fn only_python_knows_triple_quotes() {
        let text = r"'''a''b\''''' c";
        assert_eq!(QuoteStyle::python(text).unwrap().end(text, 0), Some(12));
        assert_eq!(QuoteStyle::single(text).unwrap().end(text, 0), Some(2));
    }
}
