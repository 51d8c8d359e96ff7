//! Text and tokens of a Whisper model.

use crate::checkpoint::WhisperTokens;
use crate::error::Result;
use crate::tokenizer::{ModelTokenizer, Segment, TokenText};

/// Symbols that describe sounds instead of words. A token that is one of them, with or without a space before it, is never
/// written.
const SYMBOLS: [&str; 47] = [
    "\"",
    "#",
    "(",
    ")",
    "*",
    "+",
    "/",
    ":",
    ";",
    "<",
    "=",
    ">",
    "@",
    "[",
    "\\",
    "]",
    "^",
    "_",
    "`",
    "{",
    "|",
    "}",
    "~",
    "「",
    "」",
    "『",
    "』",
    "<<",
    ">>",
    "<<<",
    ">>>",
    "--",
    "---",
    "-(",
    "-[",
    "('",
    "(\"",
    "((",
    "))",
    "(((",
    ")))",
    "[[",
    "]]",
    "{{",
    "}}",
    "♪♪",
    "♪♪♪",
];
/// Symbols of music. Their first token is never written.
const MUSIC: [&str; 7] = ["♩", "♪", "♫", "♬", "♭", "♮", "♯"];
/// Hyphens and quotation marks between words are allowed, but not at their beginning.
const AT_BEGINNING: [&str; 2] = [" -", " '"];

/// The tokens of a model.
pub(super) struct SpeechVocabulary {
    tokenizer: ModelTokenizer,
    pub(super) tokens: WhisperTokens,
    /// Tokens that are never written, and those that are never written first.
    pub(super) suppressed: Vec<u32>,
    pub(super) suppressed_first: Vec<u32>,
}

impl SpeechVocabulary {
    pub(super) fn new(tokenizer: ModelTokenizer, tokens: WhisperTokens) -> Result<Self> {
        let mut vocabulary = Self { tokenizer, tokens, suppressed: Vec::new(), suppressed_first: Vec::new() };
        let suppressed = vocabulary.tokens.suppressed.clone();
        vocabulary.suppressed = match suppressed {
            Some(suppressed) => suppressed,
            None => vocabulary.non_speech()?,
        };
        let WhisperTokens { start, translate, transcribe, previous, no_speech, no_times, .. } = vocabulary.tokens;
        // The one between the tasks and the text before, which begins a text without sound, is among them.
        vocabulary.suppressed.extend([start, translate, transcribe, previous, no_speech, no_times]);
        vocabulary.suppressed.extend(transcribe.saturating_add(1)..previous);
        vocabulary.suppressed.sort_unstable();
        vocabulary.suppressed.dedup();
        vocabulary.suppressed_first = match &vocabulary.tokens.suppressed_first {
            Some(suppressed) => suppressed.clone(),
            None => {
                let mut first = vocabulary.encode(" ")?;
                first.push(vocabulary.tokens.end);
                first
            }
        };
        Ok(vocabulary)
    }

    /// The tokens of text that follows other text.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>> {
        self.tokenizer.encode(&[Segment::Text(text.to_owned())])
    }

    /// The text of tokens, without control tokens and times.
    pub(super) fn decode(&self, tokens: &[u32]) -> String {
        let is_text = |token: &&u32| **token < self.tokens.end;
        let bytes = |token: &u32| match self.tokenizer.text(*token) {
            Some(TokenText::Bytes(bytes)) => &bytes[..],
            Some(TokenText::Control(_)) | None => &[],
        };
        let bytes: Vec<u8> = tokens.iter().filter(is_text).flat_map(bytes).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The tokens of symbols that are not spoken.
    fn non_speech(&self) -> Result<Vec<u32>> {
        let mut tokens = Vec::new();
        for text in AT_BEGINNING {
            tokens.extend(self.encode(text)?.first());
        }
        for (symbol, is_music) in
            SYMBOLS.iter().map(|symbol| (symbol, false)).chain(MUSIC.iter().map(|symbol| (symbol, true)))
        {
            for text in [(*symbol).to_owned(), format!(" {symbol}")] {
                let encoded = self.encode(&text)?;
                if encoded.len() == 1 || is_music {
                    tokens.extend(encoded.first());
                }
            }
        }
        Ok(tokens)
    }
}
