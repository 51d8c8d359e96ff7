//! Reads the tokenizer of a Hugging Face folder from tokenizer.json and tokenizer_config.json.

use std::collections::HashMap;

use serde_json::Value as Json;
use tokenizers::{ModelWrapper, Tokenizer as Encoder};

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::bytes::TokenText;
use crate::tokenizer::decoding::Decoding;
use crate::tokenizer::growth;
use crate::tokenizer::guarded::guarded;
use crate::tokenizer::parts::{Strips, TokenizerParts};
use crate::tokenizer::special::{SpecialTokens, token_text};
use crate::weights::TokenizerFiles;

pub(super) fn read(files: &TokenizerFiles<'_>) -> Result<TokenizerParts> {
    parts(&files.json, &files.settings, &[("config.json", files.config), ("generation_config.json", &files.generation)])
}

/// The parts of a tokenizer from tokenizer.json, tokenizer_config.json, and the model's configurations.
pub(super) fn parts(json: &str, settings: &Json, configs: &[(&str, &Json)]) -> Result<TokenizerParts> {
    growth::check(json)?;
    let encoder = guarded("tokenizer.json", || Encoder::from_bytes(json.as_bytes()))?;
    let decoding = Decoding::new(&encoder)?;
    let token_id = |key: &str| settings.get(key).and_then(token_text).and_then(|token| encoder.token_to_id(token));
    let texts = texts(&encoder, &decoding)?;
    let stated = StatedIds { configs, n_tokens: texts.len() };
    let bos_id = match (settings.get("bos_token"), token_id("bos_token")) {
        (Some(Json::Null), _) => None, // explicitly none, so the configuration does not count
        (_, None) => stated.known("bos_token_id").next(),
        (_, named) => named,
    };
    let end_ids: Vec<u32> = token_id("eos_token").into_iter().chain(stated.known("eos_token_id")).collect();
    if end_ids.is_empty() {
        stated.check("eos_token_id")?;
    }
    let adds_bos = match settings.get("add_bos_token").and_then(Json::as_bool) {
        Some(adds_bos) => {
            if adds_bos && bos_id.is_none() && settings.get("bos_token") != Some(&Json::Null) {
                stated.check("bos_token_id")?;
            }
            adds_bos
        }
        None => {
            let empty = guarded("tokenizer.json", || encoder.encode_fast("", true))?;
            bos_id.is_some() && empty.get_ids().first().copied() == bos_id
        }
    };
    Ok(TokenizerParts {
        texts,
        leading: decoding.leading,
        unknown_id: unknown_token(encoder.get_model()).and_then(|token| encoder.token_to_id(token)),
        bos_id,
        adds_bos,
        end_ids,
        special: SpecialTokens::read(settings),
        strips: strips(&encoder),
        frames: None,
        encoder,
        pairs: None,
    })
}

/// The token for text that no other token can represent.
fn unknown_token(model: &ModelWrapper) -> Option<&str> {
    match model {
        ModelWrapper::BPE(bpe) => bpe.unk_token.as_deref(),
        ModelWrapper::WordPiece(pieces) => Some(&pieces.unk_token),
        _ => None,
    }
}

fn texts(encoder: &Encoder, decoding: &Decoding) -> Result<Vec<TokenText>> {
    let added = encoder.get_added_tokens_decoder();
    let vocabulary = encoder.get_vocab(true);
    let highest = vocabulary.values().max().map_or(0, |id| *id as usize + 1); // ids are u32
    if highest > 16 * vocabulary.len() + 1024 {
        return Err(wrong("token ids in tokenizer.json must be near the size of the vocabulary"));
    }
    let mut texts = vec![TokenText::Bytes(Box::default()); highest];
    for (token, id) in vocabulary {
        texts[id as usize] = match added.get(&id) {
            Some(added) if added.special => TokenText::Control(token.into()),
            Some(_) => {
                let normalized = encoder.get_added_vocabulary().simple_id_to_token(id);
                TokenText::added(&token, decoding.added_bytes(&token, normalized.as_deref().unwrap_or(&token))?)
            }
            None => TokenText::Bytes(decoding.bytes(&token)?),
        };
    }
    Ok(texts)
}

/// The control tokens that take white space beside them.
fn strips(encoder: &Encoder) -> HashMap<Box<str>, Strips> {
    let added = encoder.get_added_tokens_decoder().into_values();
    let strips = added.map(|token| (token.content.into(), Strips { before: token.lstrip, after: token.rstrip }));
    strips.filter(|(_, strips)| *strips != Strips::default()).collect()
}

/// The ids of tokens in a model's configurations. Models whose vocabulary was replaced may still state ids of the earlier one;
/// they are refused only where no other id can be used.
struct StatedIds<'a> {
    /// Each with the name of its file.
    configs: &'a [(&'a str, &'a Json)],
    n_tokens: usize,
}

impl StatedIds<'_> {
    /// The ids under a key, each with its file.
    fn all(&self, key: &str) -> impl Iterator<Item = (&str, u32)> {
        let named = self.configs.iter().filter_map(move |(file, config)| Some((*file, config.get(key)?)));
        named.flat_map(|(file, json)| ids(json).into_iter().map(move |id| (file, id)))
    }

    /// The ids under a key that are in the vocabulary.
    fn known(&self, key: &str) -> impl Iterator<Item = u32> {
        self.all(key).map(|(_, id)| id).filter(|id| (*id as usize) < self.n_tokens)
    }

    /// Refuses ids outside of the vocabulary.
    fn check(&self, key: &str) -> Result<()> {
        let n_tokens = self.n_tokens;
        match self.all(key).find(|(_, id)| n_tokens <= *id as usize) {
            None => Ok(()),
            Some((file, id)) => {
                Err(wrong(format!("{key} in {file} must be a token of the vocabulary, below {n_tokens}, found {id}")))
            }
        }
    }
}

/// The ids of one id or an array of ids.
fn ids(json: &Json) -> Vec<u32> {
    let ids = json.as_array().map_or(std::slice::from_ref(json), Vec::as_slice);
    ids.iter().filter_map(Json::as_u64).filter_map(|id| u32::try_from(id).ok()).collect()
}

fn wrong(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}
