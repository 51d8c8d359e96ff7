//! Tokens back to text: the bytes of each token, and whole characters out of bytes that arrive in pieces.

use std::collections::HashMap;

/// The byte behind each printable stand-in of a byte-level vocabulary: printable bytes stand for themselves, the others
/// for the characters from U+0100 on, in order. The table is GPT-2's.
fn byte_of_symbol() -> HashMap<char, u8> {
    let is_printable = |byte: &u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let printable = (0..=255).filter(is_printable).map(|byte| (char::from(byte), byte));
    let hidden = (0..=255u8).filter(|byte| !is_printable(byte));
    let stand_ins = ('\u{100}'..).zip(hidden);
    printable.chain(stand_ins).collect()
}

/// What a token adds to the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenText {
    Bytes(Box<[u8]>),
    /// A control token, with its spelling.
    Control(Box<str>),
}

/// Decodes the spellings of byte-level tokens.
pub(crate) struct ByteLevel {
    byte_of_symbol: HashMap<char, u8>,
}

impl ByteLevel {
    pub(crate) fn new() -> Self {
        Self { byte_of_symbol: byte_of_symbol() }
    }

    /// The bytes of a token. A character outside the table, which only a hand-made vocabulary has, stands for itself.
    pub(crate) fn bytes(&self, token: &str) -> Box<[u8]> {
        let mut bytes = Vec::with_capacity(token.len());
        for symbol in token.chars() {
            match self.byte_of_symbol.get(&symbol) {
                Some(byte) => bytes.push(*byte),
                None => bytes.extend_from_slice(symbol.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        bytes.into()
    }
}

/// Gives out whole characters; keeps the start of one until the rest arrives.
#[derive(Default)]
pub(crate) struct Utf8Pieces {
    held: Vec<u8>,
}

impl Utf8Pieces {
    /// The text that is complete with these bytes. Bytes that can begin no character become U+FFFD.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let mut text = String::new();
        loop {
            match std::str::from_utf8(&self.held) {
                Ok(valid) => {
                    text.push_str(valid);
                    self.held.clear();
                    return text;
                }
                Err(err) => {
                    let (valid, rest) = self.held.split_at(err.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    let Some(invalid) = err.error_len() else {
                        self.held = rest.to_vec();
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.held = rest[invalid..].to_vec();
                }
            }
        }
    }

    /// What is left at the end: a character cut short becomes U+FFFD.
    pub(crate) fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_symbol() {
        let mut bytes: Vec<u8> = byte_of_symbol().into_values().collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
        assert_eq!(*ByteLevel::new().bytes("Ġaé"), [b' ', b'a', 0xE9]);
    }

    #[test]
    fn characters_come_out_whole() {
        let mut pieces = Utf8Pieces::default();
        let text: Vec<String> = "aé👍".bytes().map(|byte| pieces.push(&[byte])).collect();
        assert_eq!(text, ["a", "", "é", "", "", "", "👍"]);
        assert_eq!(pieces.finish(), "");
    }

    #[test]
    fn invalid_bytes_become_replacement_characters_and_hold_nothing_up() {
        let mut pieces = Utf8Pieces::default();
        assert_eq!(pieces.push(b"a\xFFb\xC3"), "a\u{FFFD}b");
        assert_eq!(pieces.push(b"c"), "\u{FFFD}c");
        assert_eq!(pieces.push(b"\xF0\x9F"), "");
        assert_eq!(pieces.finish(), "\u{FFFD}");
    }
}
