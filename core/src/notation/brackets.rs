//! Skips over brackets and strings without reading what they hold: how to get past a call that cannot be read.

use crate::notation::quoted::QuoteStyle;

/// How far a skip came.
pub(crate) struct Skipped {
    /// The position after the skipped text if its brackets match, else the position of the fault.
    pub(crate) end: usize,
    pub(crate) is_balanced: bool,
    /// The most brackets that were open at once.
    pub(crate) depth: usize,
}

/// Skips the bracket that opens at `open`, up to and including the one that closes it.
pub(crate) fn skip_group(text: &str, open: usize) -> Skipped {
    skip(text, open, true)
}

/// Skips to the next comma or closing bracket that belongs to no bracket opened on the way.
pub(crate) fn skip_item(text: &str, from: usize) -> Skipped {
    skip(text, from, false)
}

fn skip(text: &str, from: usize, stops_after_group: bool) -> Skipped {
    let mut partners = Vec::new();
    let mut depth = 0;
    let mut at = from;
    // Brackets, quotes and commas are ASCII, so bytes are enough: none is ever part of another character.
    while let Some(&byte) = text.as_bytes().get(at) {
        crate::notation::work::count(1);
        let mut next = at + 1;
        let is_sound = match byte {
            b'\'' | b'"' => string_end(text, at).map(|end| next = end).is_some(),
            b'(' | b'[' | b'{' => {
                partners.push(if byte == b'(' { b')' } else { byte + 2 });
                depth = depth.max(partners.len());
                true
            }
            b',' | b')' | b']' | b'}' if partners.is_empty() => break,
            b')' | b']' | b'}' => partners.pop() == Some(byte),
            _ => true,
        };
        if !is_sound {
            return Skipped { end: at, is_balanced: false, depth };
        }
        at = next;
        if stops_after_group && partners.is_empty() {
            break;
        }
    }
    Skipped { end: at, is_balanced: partners.is_empty(), depth }
}

/// The position after the string whose quotes open at `open`; `None` if it never ends.
pub(crate) fn string_end(text: &str, open: usize) -> Option<usize> {
    QuoteStyle::python(&text[open..])?.end(text, open)
}
