//! Reads the tokenizer of a Hugging Face folder from tokenizer.json and tokenizer_config.json.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};
use tokenizers::{ModelWrapper, Tokenizer as Encoder};

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::bytes::TokenText;
use crate::tokenizer::decoding::Decoding;
use crate::tokenizer::growth;
use crate::tokenizer::guarded::guarded;
use crate::tokenizer::parts::{Strips, TokenizerParts};
use crate::tokenizer::special::{SpecialTokens, token_text};
use crate::weights::Folder;

pub(super) fn read(folder: &Folder) -> Result<TokenizerParts> {
    let json = folder.text("tokenizer.json")?.ok_or_else(|| wrong("tokenizer.json is missing"))?;
    let generation = folder.json("generation_config.json")?.unwrap_or_default();
    parts(&json, &settings(folder)?, &[folder.config(), &generation])
}

/// The settings in tokenizer_config.json. Older folders name the special tokens in a file of their own, which takes precedence
/// unless the settings describe all added tokens.
pub(super) fn settings(folder: &Folder) -> Result<Json> {
    let mut settings = folder.json("tokenizer_config.json")?.unwrap_or_else(|| Json::Object(Map::new()));
    if let Some(entries) = settings.as_object_mut().filter(|entries| !entries.contains_key("added_tokens_decoder"))
        && let Some(Json::Object(named)) = folder.json("special_tokens_map.json")?
    {
        entries.extend(named);
    }
    Ok(settings)
}

/// The parts of a tokenizer from tokenizer.json, tokenizer_config.json, and the model's configurations.
pub(super) fn parts(json: &str, settings: &Json, configs: &[&Json]) -> Result<TokenizerParts> {
    growth::check(json)?;
    let encoder = guarded("tokenizer.json", || Encoder::from_bytes(json.as_bytes()))?;
    let decoding = Decoding::new(&encoder)?;
    let token_id = |key: &str| settings.get(key).and_then(token_text).and_then(|token| encoder.token_to_id(token));
    let config_ids = |key: &'static str| configs.iter().filter_map(move |config| config.get(key)).flat_map(ids);
    let bos_id = match settings.get("bos_token") {
        Some(Json::Null) => None, // explicitly none, so the configuration does not count
        _ => token_id("bos_token").or_else(|| config_ids("bos_token_id").next()),
    };
    let adds_bos = match settings.get("add_bos_token").and_then(Json::as_bool) {
        Some(adds_bos) => adds_bos,
        None => {
            let empty = guarded("tokenizer.json", || encoder.encode_fast("", true))?;
            bos_id.is_some() && empty.get_ids().first().copied() == bos_id
        }
    };
    Ok(TokenizerParts {
        texts: texts(&encoder, &decoding)?,
        leading: decoding.leading,
        unknown_id: unknown_token(encoder.get_model()).and_then(|token| encoder.token_to_id(token)),
        bos_id,
        adds_bos,
        end_ids: token_id("eos_token").into_iter().chain(config_ids("eos_token_id")).collect(),
        special: SpecialTokens::read(settings),
        strips: strips(&encoder),
        encoder,
    })
}

/// The token for text that no other token can represent.
fn unknown_token(model: &ModelWrapper) -> Option<&str> {
    match model {
        ModelWrapper::BPE(bpe) => bpe.unk_token.as_deref(),
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

/// The ids of one id or an array of ids.
fn ids(json: &Json) -> Vec<u32> {
    let ids = json.as_array().map_or(std::slice::from_ref(json), Vec::as_slice);
    ids.iter().filter_map(Json::as_u64).filter_map(|id| u32::try_from(id).ok()).collect()
}

fn wrong(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}
