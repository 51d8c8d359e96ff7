//! How the tokens of a tokenizer.json become text: its decoder, as far as the text of each token can be computed beforehand.
//!
//! The decoders of the tokenizers library work on all tokens of a text. A reply is decoded while it is written, so a step that
//! needs the end of the text, or the tokens around, is refused.

use serde_json::Value as Json;
use tokenizers::decoders::DecoderWrapper;
use tokenizers::pre_tokenizers::metaspace::PrependScheme;
use tokenizers::{Decoder, Tokenizer as Encoder};

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::bytes::{LeadingSpaces, Spelling, byte_piece};
use crate::tokenizer::guarded::guarded;
use crate::tokenizer::parts::MAX_TOKEN_BYTES;

/// Size limit in bytes of what replaces a match.
const MAX_REPLACEMENT: usize = 64;

/// How tokens are decoded to text.
pub(super) struct Decoding {
    steps: Vec<DecodingStep>,
    pub(super) leading: LeadingSpaces,
}

/// A step that changes the text of one token.
enum DecodingStep {
    Replace { pattern: String, content: String },
    ReplaceMatches(DecoderWrapper),
    Strip { content: char, start: usize, stop: usize },
    ByteFallback,
    ByteLevel(Spelling),
    WordPiece(String), // the prefix of tokens that begin no word
}

impl DecodingStep {
    /// Whether the step changes each token as it would change the text. Once tokens are joined, only the replacement of a single
    /// character does.
    fn can_follow(&self, stage: DecodingStage) -> bool {
        let is_character = |pattern: &str| pattern.chars().count() == 1;
        match stage {
            DecodingStage::Tokens => true,
            DecodingStage::JoinedBytes | DecodingStage::Text => {
                matches!(self, Self::Replace { pattern, .. } if is_character(pattern))
            }
            DecodingStage::TextOfBytes => false,
        }
    }
}

/// What the steps so far have made of the tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DecodingStage {
    Tokens,
    /// Tokens, with the bytes of several tokens joined.
    JoinedBytes,
    /// One text.
    Text,
    /// One text, in which a token may be a part of a character.
    TextOfBytes,
}

impl Decoding {
    pub(super) fn new(encoder: &Encoder) -> Result<Self> {
        let decoder = encoder.get_decoder().ok_or_else(|| wrong("tokenizer.json must have a decoder"))?;
        let mut decoding = Self { steps: Vec::new(), leading: LeadingSpaces::Kept };
        let mut stage = DecodingStage::Tokens;
        decoding.add(decoder, &mut stage)?;
        Ok(decoding)
    }

    fn add(&mut self, decoder: &DecoderWrapper, stage: &mut DecodingStage) -> Result<()> {
        if let DecoderWrapper::Sequence(sequence) = decoder {
            return sequence.get_decoders().iter().try_for_each(|decoder| self.add(decoder, stage));
        }
        let settings = serde_json::to_value(decoder).unwrap_or_default();
        let refused = |reason: &str| {
            let name = settings.get("type").and_then(Json::as_str).unwrap_or_default();
            Err(wrong(format!("decoder {name}{reason} in tokenizer.json is not supported")))
        };
        let keeps_spaces = self.leading == LeadingSpaces::Kept;
        match (decoder, *stage) {
            (DecoderWrapper::Fuse(_), DecodingStage::Tokens | DecodingStage::JoinedBytes) => {
                *stage = DecodingStage::Text
            }
            (DecoderWrapper::Fuse(_), DecodingStage::Text | DecodingStage::TextOfBytes) => {}
            (DecoderWrapper::ByteFallback(_), DecodingStage::Tokens) => {
                self.steps.push(DecodingStep::ByteFallback);
                *stage = DecodingStage::JoinedBytes;
            }
            (DecoderWrapper::ByteLevel(_), DecodingStage::Tokens) if keeps_spaces => {
                self.steps.push(DecodingStep::ByteLevel(Spelling::byte_level()));
                *stage = DecodingStage::TextOfBytes;
            }
            (DecoderWrapper::WordPiece(pieces), DecodingStage::Tokens) if keeps_spaces => {
                self.steps.push(DecodingStep::WordPiece(pieces.prefix.clone()));
                self.leading = LeadingSpaces::Dropped(1);
                *stage = DecodingStage::Text;
            }
            (DecoderWrapper::Strip(strip), DecodingStage::Tokens) if keeps_spaces => {
                self.steps.push(DecodingStep::Strip { content: strip.content, start: strip.start, stop: strip.stop });
            }
            (DecoderWrapper::Strip(strip), DecodingStage::Text | DecodingStage::TextOfBytes) if strip.stop == 0 => {
                let (before, is_space) = (self.leading.n_dropped(), strip.content == ' ');
                let (Some(before), true) = (before, is_space) else { return refused(" with these settings") };
                self.leading = LeadingSpaces::Dropped(before.saturating_add(strip.start));
            }
            (DecoderWrapper::Strip(_), DecodingStage::Text | DecodingStage::TextOfBytes) => {
                return refused(" with stop, which needs the end of a reply,");
            }
            (DecoderWrapper::Replace(_), _) if keeps_spaces => {
                let content = settings.get("content").and_then(Json::as_str).unwrap_or_default();
                if MAX_REPLACEMENT < content.len() {
                    return refused(&format!(" with more than {MAX_REPLACEMENT} bytes of content"));
                }
                let step = match settings.pointer("/pattern/String").and_then(Json::as_str) {
                    Some(pattern) => DecodingStep::Replace { pattern: pattern.to_owned(), content: content.to_owned() },
                    None => DecodingStep::ReplaceMatches(decoder.clone()),
                };
                if !step.can_follow(*stage) {
                    return refused(" after the other decoders");
                }
                self.steps.push(step);
            }
            (DecoderWrapper::Metaspace(metaspace), _) if keeps_spaces => {
                let drops = metaspace.prepend_scheme != PrependScheme::Never;
                let step =
                    DecodingStep::Replace { pattern: metaspace.get_replacement().into(), content: " ".to_owned() };
                if !step.can_follow(*stage) || drops && *stage == DecodingStage::Text {
                    return refused(" after the other decoders");
                }
                self.steps.push(step);
                if drops {
                    self.leading = LeadingSpaces::DroppedFromFirstToken;
                }
            }
            (_, DecodingStage::Tokens) if keeps_spaces => return refused(""),
            _ => return refused(" after the other decoders"),
        }
        Ok(())
    }

    /// The bytes of a token. Bytes that a byte token stands for are not changed by later steps.
    pub(super) fn bytes(&self, token: &str) -> Result<Box<[u8]>> {
        let mut text = token.to_owned();
        for step in &self.steps {
            match step {
                DecodingStep::Replace { pattern, content } => text = text.replace(pattern, content),
                DecodingStep::ReplaceMatches(decoder) => {
                    let token = std::mem::take(&mut text);
                    text = guarded("tokenizer.json", || decoder.decode_chain(vec![token]))?.concat();
                }
                DecodingStep::Strip { content, start, stop } => {
                    text = stripped(&text, *content, *start, *stop).to_owned()
                }
                DecodingStep::ByteFallback => {
                    if let Some(byte) = byte_piece(&text) {
                        return Ok(Box::new([byte]));
                    }
                }
                DecodingStep::ByteLevel(spelling) => return Ok(spelling.bytes(&text)),
                DecodingStep::WordPiece(prefix) => {
                    text = text.strip_prefix(prefix.as_str()).map_or_else(|| format!(" {text}"), str::to_owned);
                }
            }
            if MAX_TOKEN_BYTES < text.len() {
                break; // refused by its length, before steps make it longer
            }
        }
        Ok(text.into_bytes().into())
    }

    /// The bytes of a token that is searched in text before all others. `normalized` is what the normalizer makes of it; it is
    /// the token itself if the text is searched before it is normalized.
    pub(super) fn added_bytes(&self, token: &str, normalized: &str) -> Result<Box<[u8]>> {
        let is_byte_level = matches!(self.steps.last(), Some(DecodingStep::ByteLevel(_)));
        let bytes = self.bytes(normalized)?;
        // The symbols of bytes occur in it only if the normalizer wrote them.
        let is_spelled = token != normalized && std::str::from_utf8(&bytes).is_ok();
        Ok(if is_byte_level && !is_spelled { normalized.as_bytes().into() } else { bytes })
    }
}

/// The text without up to `start` characters at its beginning and up to `stop` at its end, if these are `content`.
fn stripped(mut text: &str, content: char, start: usize, stop: usize) -> &str {
    for _ in 0..start {
        match text.strip_prefix(content) {
            Some(rest) => text = rest,
            None => break,
        }
    }
    for _ in 0..stop {
        match text.strip_suffix(content) {
            Some(rest) => text = rest,
            None => break,
        }
    }
    text
}

fn wrong(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}
