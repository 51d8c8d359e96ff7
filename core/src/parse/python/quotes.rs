//! Recovers calls whose strings hold quotes without escapes, as in `run(cmd='grep 'a b' notes.txt')`.
//!
//! Every quote behind which a value could end may close a string. All choices are tried; the calls are accepted only
//! when exactly one choice reads as a whole.

use crate::parse::cursor::{Cursor, starts_word};
use crate::parse::list::List;
use crate::parse::python;
use crate::parse::python::literal::Place;

/// Work allowed for each byte of the block, in bytes looked at.
const WORK_PER_BYTE: usize = 64;

/// The choice made for each string of a reading, in the order of the strings.
#[derive(Default)]
pub(in crate::parse) struct Closings {
    made: Vec<Choice>,
    /// Strings seen in the current reading.
    n_seen: usize,
    /// Whether a mended string holds what might be the next argument.
    pub(super) is_doubtful: bool,
    work: usize,
}

struct Choice {
    quote: char,
    place: Place,
    close: usize,
}

/// The calls between `from` and the end of `text`, if one choice of closing quotes, and only one, reads.
pub(in crate::parse) fn recover(text: &str, from: usize) -> Option<List> {
    let most_work = WORK_PER_BYTE.saturating_mul(text.len() - from);
    let mut closings = Closings::default();
    let mut found = None;
    loop {
        closings.n_seen = 0;
        closings.is_doubtful = false;
        let (list, end) = python::read_with(text, from, Some(&mut closings));
        closings.work += end - from;
        if list.is_sound() {
            if found.is_some() || closings.is_doubtful {
                return None;
            }
            found = Some(list);
        }
        let has_another = closings.advance(text);
        if closings.work > most_work {
            return None;
        }
        if !has_another {
            return found;
        }
    }
}

impl Closings {
    /// The closing quote of the string that starts at `from`: the one chosen for this reading, else the first possible.
    pub(super) fn choose(&mut self, text: &str, from: usize, quote: char, place: Place) -> Option<usize> {
        if self.n_seen == self.made.len() {
            let close = self.possible(text, from, quote, place)?;
            self.made.push(Choice { quote, place, close });
        }
        let close = self.made.get(self.n_seen)?.close;
        self.n_seen += 1;
        Some(close)
    }

    /// Moves on to the next choice: the last string that can end later does.
    fn advance(&mut self, text: &str) -> bool {
        while let Some(last) = self.made.pop() {
            if let Some(close) = self.possible(text, last.close + 1, last.quote, last.place) {
                self.made.push(Choice { close, ..last });
                return true;
            }
        }
        false
    }

    /// The first quote from `from` on that may close a string.
    fn possible(&mut self, text: &str, from: usize, quote: char, place: Place) -> Option<usize> {
        let mut at = from;
        loop {
            let close = super::string::closing(text, at, quote, false);
            self.work += close.unwrap_or(text.len()) - at;
            at = close?;
            if may_close(Cursor { text, at: at + 1 }, place) {
                return Some(at);
            }
            at += 1;
        }
    }
}

/// Whether a string may end before `cursor`.
fn may_close(mut cursor: Cursor<'_>, place: Place) -> bool {
    cursor.skip_space();
    match cursor.peek() {
        None | Some(')' | ']' | '}' | ':') => true,
        Some(',') => {
            cursor.at += 1;
            may_continue(cursor, place)
        }
        _ => false,
    }
}

/// Whether another argument or item may start behind a comma.
fn may_continue(mut cursor: Cursor<'_>, place: Place) -> bool {
    cursor.skip_space();
    match (place, cursor.peek()) {
        (_, Some(')' | ']' | '}')) => true,
        (Place::Argument, _) => cursor.eat("**") || starts_argument(cursor),
        (Place::Inside, Some(first)) => "'\"[({+-.".contains(first) || first.is_alphanumeric(),
        (Place::Inside, None) => false,
    }
}

/// `name=`.
pub(super) fn starts_argument(mut cursor: Cursor<'_>) -> bool {
    let name = cursor.name();
    cursor.skip_space();
    !name.is_empty() && cursor.eat("=") && cursor.peek() != Some('=')
}

/// Whether a string may have swallowed the next argument or the next call: it holds `name=` or `name(` behind a comma,
/// or behind a quote or a bracket and a space.
pub(super) fn hides_more(written: &str) -> bool {
    written.match_indices([',', '\'', '"', ')', ']']).any(|(at, separator)| {
        let mut cursor = Cursor { text: written, at: at + 1 };
        let space = cursor.eat_while(char::is_whitespace);
        let starts_anew = separator == "," || !space.is_empty();
        starts_anew && cursor.peek().is_some_and(starts_word) && starts_argument_or_call(cursor)
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
