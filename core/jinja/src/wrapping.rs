//! Jinja2's filter `wordwrap`, with the rules of Python's `textwrap`.

use minijinja::value::{Kwargs, Rest, Value, ValueOrKwargs, from_args};
use minijinja::{Error, ErrorKind, State};

use crate::fuel;
use crate::python;

/// How lines are broken.
#[derive(Clone, Copy)]
struct Wrapping {
    /// Characters of a line.
    width: usize,
    breaks_long_words: bool,
    breaks_on_hyphens: bool,
}

pub(super) fn word_wrap(
    state: &mut State<'_, '_>,
    text: &Value,
    options: Rest<ValueOrKwargs>,
) -> Result<String, Error> {
    type Options = (Option<usize>, Option<bool>, Option<String>, Option<bool>, Kwargs);
    let (width, long, separator, hyphens, options): Options = from_args(&options.into_values())?;
    let width = width.or(options.get("width")?).unwrap_or(79);
    let breaks_long_words = long.or(options.get("break_long_words")?).unwrap_or(true);
    let separator = separator.or(options.get("wrapstring")?).unwrap_or_else(|| "\n".to_owned());
    let breaks_on_hyphens = hyphens.or(options.get("break_on_hyphens")?).unwrap_or(true);
    options.assert_all_used()?;
    if width == 0 {
        return Err(Error::new(ErrorKind::InvalidOperation, "the width of wordwrap must be at least 1"));
    }
    let text = python::text(state, text)?;
    fuel::characters(state, text.len())?;
    // A line has at least one character.
    fuel::bytes(state, text.len().saturating_mul(separator.len()))?;
    let wrapping = Wrapping { width, breaks_long_words, breaks_on_hyphens };
    let lines = text.lines().map(|line| Ok(wrapping.lines(state, line)?.join(&separator)));
    Ok(lines.collect::<Result<Vec<_>, Error>>()?.join(&separator))
}

impl Wrapping {
    /// The lines of one line.
    fn lines(self, state: &State<'_, '_>, text: &str) -> Result<Vec<String>, Error> {
        let mut chunks: Vec<&str> = chunks(text, self.breaks_on_hyphens);
        chunks.reverse();
        let mut lines = Vec::new();
        while let Some(first) = chunks.last() {
            fuel::values(state, 2)?; // a line of one chunk
            if !lines.is_empty() && is_blank(first) {
                chunks.pop();
            }
            let (mut line, mut length) = (Vec::new(), 0);
            while let Some(chunk) = chunks.last() {
                if !fits(chunk, self.width - length) {
                    break;
                }
                line.push(*chunk);
                length += chunk.chars().count();
                chunks.pop();
            }
            if let Some(chunk) = chunks.pop() {
                let (before, after) = self.cut(chunk, length);
                line.extend(Some(before).filter(|before| !before.is_empty()));
                chunks.extend(Some(after).filter(|after| !after.is_empty()));
            }
            if line.last().is_some_and(|chunk| is_blank(chunk)) {
                line.pop();
            }
            if !line.is_empty() {
                lines.push(line.concat());
            }
        }
        Ok(lines)
    }

    /// Cuts a chunk that does not fit into the rest of a line: what is put there, and what is left.
    fn cut(self, chunk: &str, length: usize) -> (&str, &str) {
        if fits(chunk, self.width) {
            return ("", chunk);
        }
        if !self.breaks_long_words {
            return if length == 0 { (chunk, "") } else { ("", chunk) };
        }
        let end = chunk.char_indices().nth(self.width - length).map_or(chunk.len(), |(at, _)| at);
        let hyphen = chunk[..end].rfind('-').filter(|at| self.breaks_on_hyphens && chunk[..*at].contains(|c| c != '-'));
        chunk.split_at(hyphen.map_or(end, |at| at + 1))
    }
}

/// Whether a chunk has at most this many characters. No more are counted: a chunk may be cut again and again.
fn fits(chunk: &str, n_characters: usize) -> bool {
    chunk.chars().nth(n_characters).is_none()
}

fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

/// Words and the white space between them, and the parts of words after whose hyphens a line may end.
fn chunks(text: &str, breaks_on_hyphens: bool) -> Vec<&str> {
    let mut chunks = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        // As in Python, a no-break space is part of a word.
        let space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c');
        let is_space = space(first);
        let end = rest.find(|c| space(c) != is_space).unwrap_or(rest.len());
        let (chunk, after) = rest.split_at(end);
        if is_space || !breaks_on_hyphens {
            chunks.push(chunk)
        } else {
            split_word(chunk, &mut chunks)
        }
        rest = after;
    }
    chunks
}

/// Splits a word after hyphens between letters, and around dashes of several hyphens.
fn split_word<'a>(word: &'a str, chunks: &mut Vec<&'a str>) {
    let characters: Vec<(usize, char)> = word.char_indices().collect();
    let at = |i: usize| characters.get(i).map(|(_, c)| *c);
    let is_letter = |i: usize| at(i).is_some_and(|c| c.is_alphabetic() || c == '_');
    let is_word = |i: usize| at(i).is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (mut start, mut i) = (0, 0);
    while i < characters.len() {
        let n_hyphens = (i..).take_while(|i| at(*i) == Some('-')).count();
        let position = |i: usize| characters.get(i).map_or(word.len(), |(at, _)| *at);
        let follows_word = 0 < i && (is_word(i - 1) || at(i - 1).is_some_and(|c| "!\"'&.,?".contains(c)));
        if 2 <= n_hyphens && follows_word && is_word(i + n_hyphens) {
            let (dash, end) = (position(i), position(i + n_hyphens));
            chunks.extend([&word[start..dash], &word[dash..end]]);
            start = end;
        } else if n_hyphens == 1 {
            let follows_letters = 2 <= i
                && is_letter(i - 1)
                && (is_letter(i - 2) || 3 <= i && at(i - 2) == Some('-') && is_letter(i - 3));
            let precedes_letters = is_letter(i + 1) && (is_letter(i + 2) || at(i + 2) == Some('-') && is_letter(i + 3));
            let end = position(i + 1);
            if follows_letters && precedes_letters && start < end {
                chunks.push(&word[start..end]);
                start = end;
            }
        }
        i += n_hyphens.max(1);
    }
    chunks.extend(Some(&word[start..]).filter(|rest| !rest.is_empty()));
}
