//! A tokenizer as the files of a model describe it, before it is made ready for use.

use std::collections::HashMap;

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::bytes::{LeadingSpaces, TokenText};
use crate::tokenizer::frames::TextFrames;
use crate::tokenizer::pair_encoding::PairEncoding;
use crate::tokenizer::special::SpecialTokens;

/// Size limit of a token in bytes; known vocabularies stay below some hundred. A reply can contain the longest token
/// thousands of times.
pub(super) const MAX_TOKEN_BYTES: usize = 4096;

/// The tokenizer as a model's files describe it.
pub(super) struct TokenizerParts {
    /// Normalises text, splits it, and encodes words unless `pairs` does.
    pub(super) encoder: tokenizers::Tokenizer,
    pub(super) pairs: Option<PairEncoding>,
    /// What each token adds to the text, by id.
    pub(super) texts: Vec<TokenText>,
    /// What becomes of spaces at the beginning of decoded text.
    pub(super) leading: LeadingSpaces,
    /// The token for text that no other token can represent.
    pub(super) unknown_id: Option<u32>,
    /// The beginning-of-text token (BOS).
    pub(super) bos_id: Option<u32>,
    /// Whether every prompt begins with BOS.
    pub(super) adds_bos: bool,
    pub(super) end_ids: Vec<u32>,
    /// The special tokens that the files name.
    pub(super) special: SpecialTokens,
    /// The control tokens that take white space beside them.
    pub(super) strips: HashMap<Box<str>, Strips>,
    /// The tokens around texts that are read as a whole; `None` for what the encoder's own steps add.
    pub(super) frames: Option<TextFrames>,
}

/// Which white space beside a control token is part of the token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Strips {
    pub(super) before: bool,
    pub(super) after: bool,
}

/// Refuses a vocabulary with a token that is too long.
pub(super) fn check_lengths(texts: &[TokenText]) -> Result<()> {
    let Some((id, text)) = texts.iter().enumerate().find(|(_, text)| MAX_TOKEN_BYTES < text.n_bytes()) else {
        return Ok(());
    };
    let n_bytes = text.n_bytes();
    let message = format!("token {id} of the vocabulary must have at most {MAX_TOKEN_BYTES} bytes, found {n_bytes}");
    Err(SdkError::new(ErrorKind::ModelLoad, message))
}
