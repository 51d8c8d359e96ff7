//! Text to token ids and back.
//!
//! Encoding is the tokenizers library's, built from tokenizer.json or from GGUF metadata. Text never becomes a control
//! token here: those come only as [`Segment::Control`]. Decoding is our own, byte by byte, so that a stream of tokens
//! gives whole characters.

mod bytes;
mod folder;
mod gguf;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{ErrorKind, Result, SdkError};
use crate::prompt::{ControlTokens, Segment};
use crate::weights::Weights;

pub(crate) use bytes::{TokenText, Utf8Pieces};

/// Control tokens that end a chat model's turn, whatever its files say of ends.
const TURN_ENDS: [&str; 3] = ["<|im_end|>", "<|endoftext|>", "<|eot_id|>"];

/// Encodes and decodes for one model.
pub(crate) struct Tokenizer {
    encoder: tokenizers::Tokenizer,
    texts: Vec<TokenText>,
    control_ids: HashMap<Box<str>, u32>,
    bos_id: Option<u32>,
    end_ids: Vec<u32>,
}

/// What a file says of its tokenizer.
struct Parts {
    encoder: tokenizers::Tokenizer,
    /// What each token adds to the text, by id.
    texts: Vec<TokenText>,
    bos_id: Option<u32>,
    end_ids: Vec<u32>,
    template: Option<String>,
}

impl Tokenizer {
    /// The tokenizer of a model, and the source of its chat template if it has one.
    pub(crate) fn load(weights: &Weights) -> Result<(Self, Option<String>)> {
        let mut parts = match weights {
            Weights::Gguf(file) => gguf::read(file)?,
            Weights::Folder(folder) => folder::read(folder)?,
        };
        parts.encoder.set_encode_special_tokens(true);
        // Files carry settings of their training, which would cut or fill up every prompt.
        parts.encoder.with_padding(None);
        let untruncated = parts.encoder.with_truncation(None).map(drop);
        guarded("the vocabulary", || untruncated)?;
        let control = parts.texts.iter().zip(0u32..).filter_map(|(text, id)| match text {
            TokenText::Control(spelling) => Some((spelling.clone(), id)),
            TokenText::Bytes(_) => None,
        });
        let control_ids: HashMap<Box<str>, u32> = control.collect();
        let n_tokens = parts.texts.len();
        if let Some(id) = parts.bos_id.iter().chain(&parts.end_ids).find(|id| n_tokens <= **id as usize) {
            return Err(SdkError::new(
                ErrorKind::ModelLoad,
                format!("token id {id} is outside the vocabulary of {n_tokens} tokens"),
            ));
        }
        let mut end_ids = parts.end_ids;
        end_ids.extend(TURN_ENDS.iter().filter_map(|end| control_ids.get(*end)));
        end_ids.sort_unstable();
        end_ids.dedup();
        let tokenizer = Self { encoder: parts.encoder, texts: parts.texts, control_ids, bos_id: parts.bos_id, end_ids };
        Ok((tokenizer, parts.template))
    }

    /// How many tokens there are.
    pub(crate) fn n_tokens(&self) -> usize {
        self.texts.len()
    }

    /// A finder of the control tokens' spellings.
    pub(crate) fn control_tokens(&self) -> Result<ControlTokens> {
        let spellings: Vec<&str> = self.control_ids.keys().map(AsRef::as_ref).collect();
        ControlTokens::new(&spellings)
    }

    /// The spelling of the token that begins a text; empty when there is none.
    pub(crate) fn bos_token(&self) -> &str {
        self.bos_id.map_or("", |id| self.spelling(id))
    }

    /// The spelling of the first token that ends a reply.
    pub(crate) fn eos_token(&self) -> &str {
        self.end_ids.first().map_or("", |id| self.spelling(*id))
    }

    fn spelling(&self, id: u32) -> &str {
        match self.text(id) {
            Some(TokenText::Control(spelling)) => spelling,
            _ => "",
        }
    }

    /// Whether a token ends a reply.
    pub(crate) fn is_end(&self, id: u32) -> bool {
        self.end_ids.contains(&id)
    }

    /// What a token adds to the text; `None` for an id without a token, as padded vocabularies have them.
    pub(crate) fn text(&self, id: u32) -> Option<&TokenText> {
        self.texts.get(id as usize)
    }

    /// The token ids of a prompt.
    pub(crate) fn encode(&self, segments: &[Segment]) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        for segment in segments {
            match segment {
                Segment::Text(text) => {
                    let encoding = guarded("the prompt", || self.encoder.encode_fast(text.as_str(), false))?;
                    ids.extend_from_slice(encoding.get_ids());
                }
                Segment::Control(spelling) => ids.extend(self.control_ids.get(spelling.as_str())),
            }
        }
        Ok(ids)
    }

    /// The token ids of a prompt that begins as the model expects: with the token that begins a text.
    pub(crate) fn encode_with_bos(&self, segments: &[Segment]) -> Result<Vec<u32>> {
        let mut ids = self.encode(segments)?;
        if let Some(bos_id) = self.bos_id.filter(|bos_id| ids.first() != Some(bos_id)) {
            ids.insert(0, bos_id);
        }
        Ok(ids)
    }
}

/// Runs code of the tokenizers library, which panics on some broken vocabularies.
fn guarded<T>(what: &str, run: impl FnOnce() -> Result<T, tokenizers::Error>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(err)) => Err(SdkError::new(ErrorKind::ModelLoad, format!("the tokenizer cannot take {what}: {err}"))),
        Err(_) => Err(SdkError::new(ErrorKind::ModelLoad, format!("the tokenizer failed on {what}"))),
    }
}
