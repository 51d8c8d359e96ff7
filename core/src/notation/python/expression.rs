//! Distinguishes a Python expression, which calls may not contain, from text with wrong quotes.

use crate::notation::brackets::{skip_group, string_end};
use crate::notation::cursor::{Cursor, starts_word};
use crate::notation::python::string::StringOpening;

/// If two operators start alike, the longer one comes first.
const OPERATORS: [&str; 18] =
    ["**", "//", "==", "!=", "<=", ">=", "<<", ">>", "+", "-", "*", "/", "%", "<", ">", "&", "|", "^"];
const WORD_OPERATORS: [&str; 7] = ["if", "else", "and", "or", "in", "is", "not"];

/// Whether a character could continue an expression after a value.
pub(super) fn is_operator(character: char) -> bool {
    "+-*/%<>!&|^@~.[({?".contains(character)
}

/// Whether only operators and operands follow up to the end of a value, as in `'a' + b` after the `'a'`.
pub(super) fn continues(mut cursor: Cursor<'_>) -> bool {
    loop {
        cursor.skip_space();
        match cursor.peek() {
            None | Some(',' | ')' | ']' | '}' | ':') => return true,
            _ => {}
        }
        let goes_on = postfix(&mut cursor) || operator(&mut cursor) && operand(&mut cursor);
        if !goes_on {
            return false;
        }
    }
}

/// `.name`, `(…)` or `[…]`.
fn postfix(cursor: &mut Cursor<'_>) -> bool {
    match cursor.peek() {
        Some('(' | '[') => group(cursor),
        Some('.') => cursor.eat(".") && !cursor.word().is_empty(),
        _ => false,
    }
}

fn operator(cursor: &mut Cursor<'_>) -> bool {
    OPERATORS.iter().any(|operator| cursor.eat(operator)) || WORD_OPERATORS.contains(&cursor.word())
}

fn operand(cursor: &mut Cursor<'_>) -> bool {
    cursor.skip_space();
    if StringOpening::read(cursor.rest()).is_some() {
        let quote = cursor.rest().find(['\'', '"']).unwrap_or(0);
        return string_end(cursor.text, cursor.at + quote).map(|end| cursor.at = end).is_some();
    }
    match cursor.peek() {
        Some('(' | '[' | '{') => group(cursor),
        Some(first) if starts_word(first) => !cursor.word().is_empty(),
        Some('0'..='9' | '-') => !crate::notation::python::number::lexeme(cursor).is_empty(),
        _ => false,
    }
}

fn group(cursor: &mut Cursor<'_>) -> bool {
    let skipped = skip_group(cursor.text, cursor.at);
    cursor.at = skipped.end;
    skipped.is_balanced
}
