//! Reads the tokenizer of a Hugging Face folder from tokenizer.json and tokenizer_config.json.

use std::collections::HashMap;

use serde_json::Value as Json;
use tokenizers::{ModelWrapper, Tokenizer as Encoder};

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::bytes::{SPACE, Spelling, TokenText};
use crate::tokenizer::{Strips, TokenizerParts, growth, guarded};
use crate::weights::Folder;

pub(crate) fn read(folder: &Folder) -> Result<TokenizerParts> {
    let json = folder.text("tokenizer.json")?.ok_or_else(|| wrong("tokenizer.json is missing"))?;
    let settings = folder.json("tokenizer_config.json")?.unwrap_or_default();
    let generation = folder.json("generation_config.json")?.unwrap_or_default();
    parts(&json, &settings, &[folder.config(), &generation])
}

/// The parts of a tokenizer from tokenizer.json, tokenizer_config.json, and the model's configurations.
pub(super) fn parts(json: &str, settings: &Json, configs: &[&Json]) -> Result<TokenizerParts> {
    growth::check(json)?;
    let encoder = guarded("tokenizer.json", || Encoder::from_bytes(json.as_bytes()))?;
    let decoding = Decoding::of(&encoder)?;
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
        texts: texts(&encoder, &decoding.spelling)?,
        drops_space: decoding.drops_space,
        unknown_id: unknown_token(encoder.get_model()).and_then(|token| encoder.token_to_id(token)),
        bos_id,
        adds_bos,
        end_ids: token_id("eos_token").into_iter().chain(config_ids("eos_token_id")).collect(),
        strips: strips(&encoder),
        encoder,
    })
}

/// How ids are decoded to text, as the decoder of tokenizer.json defines.
struct Decoding {
    spelling: Spelling,
    drops_space: bool,
}

impl Decoding {
    fn of(encoder: &Encoder) -> Result<Self> {
        let decoder = serde_json::to_value(encoder.get_decoder()).unwrap_or_default();
        let mut decoding = Self { spelling: Spelling::Pieces, drops_space: false };
        if decoder.is_null() {
            return Err(wrong("tokenizer.json must have a decoder"));
        }
        let steps = decoder.get("decoders").and_then(Json::as_array);
        for step in steps.map_or(std::slice::from_ref(&decoder), Vec::as_slice) {
            let is = |key: &str, value: &str| step.get(key).and_then(Json::as_str) == Some(value);
            match step.get("type").and_then(Json::as_str).unwrap_or_default() {
                "ByteLevel" => decoding.spelling = Spelling::byte_level(),
                "Metaspace" if is("replacement", SPACE) => decoding.drops_space = !is("prepend_scheme", "never"),
                "Replace" if is("content", " ") && step.pointer("/pattern/String") == Some(&SPACE.into()) => {}
                "Strip" if is("content", " ") => decoding.drops_space = step.get("start") == Some(&1.into()),
                "ByteFallback" | "Fuse" => {}
                other => return Err(wrong(format!("decoder {other} in tokenizer.json is not supported"))),
            }
        }
        Ok(decoding)
    }
}

/// The token for text that no other token can represent.
fn unknown_token(model: &ModelWrapper) -> Option<&str> {
    match model {
        ModelWrapper::BPE(bpe) => bpe.unk_token.as_deref(),
        _ => None,
    }
}

fn texts(encoder: &Encoder, spelling: &Spelling) -> Result<Vec<TokenText>> {
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
            Some(_) => TokenText::added(&token, spelling),
            None => TokenText::Bytes(spelling.bytes(&token)),
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

/// A token is given as a string, or as an object with the string.
pub(super) fn token_text(json: &Json) -> Option<&str> {
    json.as_str().or_else(|| json.get("content")?.as_str())
}

/// The ids of one id or an array of ids.
fn ids(json: &Json) -> Vec<u32> {
    let ids = json.as_array().map_or(std::slice::from_ref(json), Vec::as_slice);
    ids.iter().filter_map(Json::as_u64).filter_map(|id| u32::try_from(id).ok()).collect()
}

fn wrong(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}
