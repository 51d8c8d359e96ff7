//! The quotes that may close a string whose own quotes are not escaped.

use crate::notation::cursor::{Cursor, starts_word};
use crate::notation::quoted::QuoteStyle;

/// The position of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValuePosition {
    /// After `name=`.
    Argument,
    /// In a list or a dictionary.
    Nested,
}

/// The closing quote chosen for each string, in the order of the strings.
#[derive(Default)]
pub(crate) struct Closings {
    made: Vec<ClosingChoice>,
    /// Strings seen in the current attempt.
    pub(super) n_seen: usize,
    /// Whether a repaired string contains what may be the next argument.
    pub(super) is_doubtful: bool,
    /// Bytes looked at.
    pub(super) work: usize,
}

struct ClosingChoice {
    style: QuoteStyle,
    position: ValuePosition,
    close: usize,
}

impl Closings {
    /// The closing quote of the string that starts at `from`: the one chosen for this attempt, else the first possible one.
    pub(super) fn choose(
        &mut self,
        text: &str,
        from: usize,
        style: QuoteStyle,
        position: ValuePosition,
    ) -> Option<usize> {
        if self.n_seen == self.made.len() {
            let close = self.possible(text, from, style, position)?;
            self.made.push(ClosingChoice { style, position, close });
        }
        let close = self.made.get(self.n_seen)?.close;
        self.n_seen += 1;
        Some(close)
    }

    /// Moves on to the next choice: the last string that can end later ends later.
    pub(super) fn advance(&mut self, text: &str) -> bool {
        while let Some(last) = self.made.pop() {
            if let Some(close) = self.possible(text, last.close + 1, last.style, last.position) {
                self.made.push(ClosingChoice { close, ..last });
                return true;
            }
        }
        false
    }

    /// The first quote, at or after `from`, that may close a string.
    fn possible(&mut self, text: &str, from: usize, style: QuoteStyle, position: ValuePosition) -> Option<usize> {
        let mut at = from;
        loop {
            let close = style.closing(text, at);
            self.work += close.unwrap_or(text.len()) - at;
            at = close?;
            if may_close(Cursor { text, at: at + 1 }, position) {
                return Some(at);
            }
            at += 1;
        }
    }
}

/// Whether a string may end before `cursor`.
fn may_close(mut cursor: Cursor<'_>, position: ValuePosition) -> bool {
    cursor.skip_space();
    match cursor.peek() {
        None | Some(')' | ']' | '}' | ':') => true,
        Some(',') => {
            cursor.at += 1;
            may_continue(cursor, position)
        }
        _ => false,
    }
}

/// Whether another argument or item may start after a comma.
fn may_continue(mut cursor: Cursor<'_>, position: ValuePosition) -> bool {
    cursor.skip_space();
    match (position, cursor.peek()) {
        (_, Some(')' | ']' | '}')) => true,
        (ValuePosition::Argument, _) => cursor.eat("**") || starts_argument(cursor),
        (ValuePosition::Nested, Some(first)) => "'\"[({+-.".contains(first) || first.is_alphanumeric(),
        (ValuePosition::Nested, None) => false,
    }
}

/// Whether `name=` comes next.
pub(super) fn starts_argument(mut cursor: Cursor<'_>) -> bool {
    let name = cursor.name();
    cursor.skip_space();
    !name.is_empty() && cursor.eat("=") && cursor.peek() != Some('=')
}

/// Whether a string may include the next argument or the next call: it contains `name=` or `name(` after a comma, or
/// after a quote or bracket and whitespace.
pub(super) fn hides_more(written: &str) -> bool {
    written.match_indices([',', '\'', '"', ')', ']']).any(|(at, separator)| {
        let mut cursor = Cursor { text: written, at: at + 1 };
        let space = cursor.eat_while(char::is_whitespace);
        let is_separated = separator == "," || !space.is_empty();
        is_separated && cursor.peek().is_some_and(starts_word) && starts_argument_or_call(cursor)
    })
}

fn starts_argument_or_call(mut cursor: Cursor<'_>) -> bool {
    if starts_argument(cursor) {
        return true;
    }
    cursor.name();
    cursor.skip_space();
    cursor.peek() == Some('(')
}
