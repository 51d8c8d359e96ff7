//! Decodes tokens to text: the bytes of each token, and whole characters from a stream of bytes.

use std::borrow::Cow;
use std::collections::HashMap;

/// SentencePiece's symbol for a space.
pub(super) const SPACE: &str = "\u{2581}";

/// The byte for each symbol of a byte-level vocabulary: printable bytes are their own symbols, and the other bytes have the
/// characters from U+0100 on, in order. The table is GPT-2's.
fn byte_of_symbol() -> HashMap<char, u8> {
    let is_printable = |byte: &u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let printable = (0..=255).filter(is_printable).map(|byte| (char::from(byte), byte));
    let hidden = (0..=255u8).filter(|byte| !is_printable(byte));
    let stand_ins = ('\u{100}'..).zip(hidden);
    printable.chain(stand_ins).collect()
}

/// The symbol of each byte in byte-level vocabularies.
pub(super) fn symbols_of_bytes() -> [char; 256] {
    let mut symbols = ['\0'; 256];
    byte_of_symbol().into_iter().for_each(|(symbol, byte)| symbols[usize::from(byte)] = symbol);
    symbols
}

/// What a token adds to the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenText {
    Bytes(Box<[u8]>),
    /// A control token, with its spelling.
    Control(Box<str>),
}

impl TokenText {
    /// The text of an added token that its file does not mark as special. Some files leave this mark out for control tokens,
    /// which text of the user must not become.
    pub(super) fn added(token: &str, bytes: Box<[u8]>) -> Self {
        if looks_like_control(token) { Self::Control(token.into()) } else { Self::Bytes(bytes) }
    }

    /// The text, with U+FFFD for an incomplete character; for a control token, its spelling.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Control(spelling) => spelling.to_string(),
        }
    }

    /// The number of bytes that it adds; for a control token, of its spelling.
    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Control(spelling) => spelling.len(),
        }
    }
}

/// Control tokens of Gemma and FunctionGemma, which are spelled like tags of HTML.
const CONTROL_TAGS: [&str; 9] = [
    "<start_of_turn>",
    "<end_of_turn>",
    "<start_function_declaration>",
    "<end_function_declaration>",
    "<start_function_call>",
    "<end_function_call>",
    "<start_function_response>",
    "<end_function_response>",
    "<escape>",
];

/// Whether a token is spelled like a control token: `<|…|>`, with one of the bars (as in Gemma 4) or with DeepSeek's wide
/// bars, or as one of Gemma's.
pub(super) fn looks_like_control(token: &str) -> bool {
    let is_between = |start: &str, end: &str| {
        start.len() + end.len() < token.len() && token.starts_with(start) && token.ends_with(end)
    };
    is_between("<|", ">") || is_between("<", "|>") || is_between("<｜", "｜>") || CONTROL_TAGS.contains(&token)
}

/// How a vocabulary represents the bytes of its tokens.
pub(crate) enum Spelling {
    /// One printable character per byte, as in GPT-2.
    ByteLevel(HashMap<char, u8>),
    /// Text with U+2581 for a space, and `<0x0A>` for a single byte, as in SentencePiece.
    Pieces,
}

impl Spelling {
    pub(crate) fn byte_level() -> Self {
        Self::ByteLevel(byte_of_symbol())
    }

    /// The bytes of a token.
    pub(crate) fn bytes(&self, token: &str) -> Box<[u8]> {
        match self {
            Self::ByteLevel(byte_of_symbol) => bytes_of_symbols(token, byte_of_symbol),
            Self::Pieces => match byte_piece(token) {
                Some(byte) => Box::new([byte]),
                None => token.replace(SPACE, " ").into_bytes().into(),
            },
        }
    }

    /// The bytes of a token that is searched in text before all others.
    pub(super) fn added_bytes(&self, token: &str) -> Box<[u8]> {
        match self {
            Self::ByteLevel(_) => token.as_bytes().into(),
            Self::Pieces => token.replace(SPACE, " ").into_bytes().into(),
        }
    }
}

/// A token with characters outside the table, which only hand-made vocabularies have, stands for itself.
fn bytes_of_symbols(token: &str, byte_of_symbol: &HashMap<char, u8>) -> Box<[u8]> {
    let bytes: Option<Vec<u8>> = token.chars().map(|symbol| byte_of_symbol.get(&symbol).copied()).collect();
    bytes.unwrap_or_else(|| token.as_bytes().to_vec()).into()
}

/// The byte that a piece such as `<0x0A>` stands for.
pub(super) fn byte_piece(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    let are_digits = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    are_digits.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// What becomes of the spaces at the beginning of a text, because the tokenizer adds one before every text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LeadingSpaces {
    #[default]
    Kept,
    /// Up to this many are dropped.
    Dropped(usize),
    /// All spaces of the first token are dropped.
    DroppedFromFirstToken,
}

impl LeadingSpaces {
    /// One is dropped if the tokenizer adds one.
    pub(super) fn dropped_if(adds_space: bool) -> Self {
        if adds_space { Self::Dropped(1) } else { Self::Kept }
    }

    /// How many are dropped; `None` if that depends on the tokens.
    pub(super) fn n_dropped(self) -> Option<usize> {
        match self {
            Self::Kept => Some(0),
            Self::Dropped(n) => Some(n),
            Self::DroppedFromFirstToken => None,
        }
    }
}

/// Decodes a stream of bytes to whole characters, and keeps an incomplete character until the rest arrives.
#[derive(Default)]
pub(crate) struct Utf8Pieces {
    held: Vec<u8>,
    leading: LeadingSpaces,
}

impl Utf8Pieces {
    pub(crate) fn new(leading: LeadingSpaces) -> Self {
        Self { held: Vec::new(), leading }
    }

    /// The part of the next token's bytes that belongs to the text.
    pub(crate) fn kept<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match self.leading {
            LeadingSpaces::Kept => bytes.into(),
            LeadingSpaces::Dropped(n) => bytes[n_spaces(bytes).min(n)..].into(),
            LeadingSpaces::DroppedFromFirstToken => bytes.iter().copied().filter(|byte| *byte != b' ').collect(),
        }
    }

    /// Returns the characters that these bytes complete. Invalid bytes become U+FFFD.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        let kept = self.kept(bytes);
        self.held.extend_from_slice(&kept);
        self.leading = match self.leading {
            unchanged if bytes.is_empty() => unchanged,
            LeadingSpaces::Dropped(n) if n_spaces(bytes) == bytes.len() => {
                LeadingSpaces::Dropped(n.saturating_sub(bytes.len()))
            }
            _ => LeadingSpaces::Kept,
        };
        let held = std::mem::take(&mut self.held);
        let mut rest = &held[..];
        let mut text = String::new();
        loop {
            let err = match std::str::from_utf8(rest) {
                Ok(valid) => return text + valid,
                Err(err) => err,
            };
            let (valid, after) = rest.split_at(err.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            let Some(invalid) = err.error_len() else {
                self.held = after.to_vec();
                return text;
            };
            text.push(char::REPLACEMENT_CHARACTER);
            rest = &after[invalid..];
        }
    }

    /// Drops the beginning of a character at the end of a reply, which was cut there.
    pub(crate) fn cut(&mut self) {
        self.held.clear();
    }

    /// Returns what is left before a control token. An incomplete character becomes U+FFFD.
    pub(crate) fn finish(&mut self) -> String {
        self.leading = LeadingSpaces::Kept;
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }
}

/// The number of spaces at the beginning.
fn n_spaces(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| **byte == b' ').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_symbol() {
        let mut bytes: Vec<u8> = byte_of_symbol().into_values().collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
        assert_eq!(*Spelling::byte_level().bytes("Ġaé"), [b' ', b'a', 0xE9]);
    }

    #[test]
    fn pieces_spell_spaces_and_bytes() {
        for (piece, expect) in [("▁a▁", &b" a "[..]), ("<0x0A>", b"\n"), ("<0xZZ>", b"<0xZZ>"), ("<0x+1>", b"<0x+1>")]
        {
            assert_eq!(*Spelling::Pieces.bytes(piece), *expect);
        }
    }

    #[test]
    fn control_tokens_are_known_by_their_spelling() {
        for token in ["<|im_end|>", "<|tool_call>", "<tool_call|>", "<|\"|>", "<｜end▁of▁sentence｜>", "<end_of_turn>"]
        {
            assert!(looks_like_control(token), "{token}");
        }
        for token in ["<think>", "<table>", "</s>", "<|>", "<||", "<tool_call>", "\n\n"] {
            assert!(!looks_like_control(token), "{token}");
        }
    }

    #[test]
    fn spaces_added_before_a_text_are_dropped() {
        use LeadingSpaces::{Dropped, DroppedFromFirstToken, Kept};
        let text = |leading, tokens: &[&str]| {
            let mut pieces = Utf8Pieces::new(leading);
            tokens.iter().map(|token| pieces.push(token.as_bytes())).collect::<Vec<_>>()
        };
        assert_eq!(text(Dropped(1), &["", " ", " a", " b"]), ["", "", " a", " b"]);
        assert_eq!(text(Dropped(1), &["a b", " c"]), ["a b", " c"]);
        assert_eq!(text(Dropped(2), &[" ", " ", " a"]), ["", "", " a"]);
        assert_eq!(text(Dropped(2), &[" ", "  a", " b"]), ["", " a", " b"]);
        assert_eq!(text(Dropped(2), &[" a", " b"]), ["a", " b"]);
        assert_eq!(text(DroppedFromFirstToken, &["", "  a b", " c"]), ["", "ab", " c"]);
        assert_eq!(text(Kept, &[" ", "a"]), [" ", "a"]);
    }

    #[test]
    fn characters_come_out_whole() {
        let mut pieces = Utf8Pieces::default();
        let text: Vec<String> = "aé👍".bytes().map(|byte| pieces.push(&[byte])).collect();
        assert_eq!(text, ["a", "", "é", "", "", "", "👍"]);
        assert_eq!(pieces.finish(), "");
    }

    #[test]
    fn invalid_bytes_become_replacement_characters_without_delay() {
        let mut pieces = Utf8Pieces::default();
        assert_eq!(pieces.push(b"a\xFFb\xC3"), "a\u{FFFD}b");
        assert_eq!(pieces.push(b"c"), "\u{FFFD}c");
        assert_eq!(pieces.push(b"\xF0\x9F"), "");
        assert_eq!(pieces.finish(), "\u{FFFD}");
        assert_eq!(pieces.push(b"a\xF0\x9F"), "a");
        pieces.cut();
        assert_eq!(pieces.finish(), "");
    }

    /// If the rest were copied after each invalid byte, this would take hours.
    #[test]
    fn many_invalid_bytes_take_linear_time() {
        let text = Utf8Pieces::default().push(&vec![0xFF; 16 << 20]);
        assert_eq!(text.chars().filter(|character| *character == '\u{FFFD}').count(), 16 << 20);
    }
}
