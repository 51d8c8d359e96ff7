//! Decodes tokens to text: the bytes of each token, and whole characters from a stream of bytes.

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
    pub(super) fn added(token: &str, spelling: &Spelling) -> Self {
        if looks_like_control(token) { Self::Control(token.into()) } else { Self::Bytes(spelling.added_bytes(token)) }
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
    fn added_bytes(&self, token: &str) -> Box<[u8]> {
        match self {
            Self::ByteLevel(_) => token.as_bytes().into(),
            Self::Pieces => token.replace(SPACE, " ").into_bytes().into(),
        }
    }
}

/// Characters outside the table, which only hand-made vocabularies have, stand for themselves.
fn bytes_of_symbols(token: &str, byte_of_symbol: &HashMap<char, u8>) -> Box<[u8]> {
    let mut bytes = Vec::with_capacity(token.len());
    for symbol in token.chars() {
        match byte_of_symbol.get(&symbol) {
            Some(byte) => bytes.push(*byte),
            None => bytes.extend_from_slice(symbol.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes.into()
}

/// The byte that a piece such as `<0x0A>` stands for.
fn byte_piece(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    let are_digits = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    are_digits.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// Decodes a stream of bytes to whole characters, and keeps an incomplete character until the rest arrives.
#[derive(Default)]
pub(crate) struct Utf8Pieces {
    held: Vec<u8>,
    /// Whether a space at the beginning is dropped, because the tokenizer adds one before every text.
    drops_space: bool,
}

impl Utf8Pieces {
    pub(crate) fn new(drops_space: bool) -> Self {
        Self { held: Vec::new(), drops_space }
    }

    /// The part of the next bytes that belongs to the text.
    pub(crate) fn kept<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.strip_prefix(b" ").filter(|_| self.drops_space).unwrap_or(bytes)
    }

    /// Returns the characters that these bytes complete. Invalid bytes become U+FFFD.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        let kept = self.kept(bytes);
        self.drops_space &= bytes.is_empty();
        self.held.extend_from_slice(kept);
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
        self.drops_space = false;
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
    fn the_space_added_before_a_text_is_dropped_once() {
        let mut pieces = Utf8Pieces::new(true);
        let text: Vec<String> = [&b""[..], b" ", b" a", b" b"].map(|bytes| pieces.push(bytes)).into();
        assert_eq!(text, ["", "", " a", " b"]);
        assert_eq!(Utf8Pieces::new(true).push(b"a b"), "a b");
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
