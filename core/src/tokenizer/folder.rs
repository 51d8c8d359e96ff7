//! The tokenizer of a Hugging Face folder: tokenizer.json, with the chat template beside it.

use serde_json::Value as Json;
use tokenizers::{DecoderWrapper, Tokenizer as Encoder};

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::bytes::{ByteLevel, TokenText};
use crate::tokenizer::{Parts, guarded};
use crate::weights::Folder;

pub(crate) fn read(folder: &Folder) -> Result<Parts> {
    let wrong = |message: &str| SdkError::new(ErrorKind::ModelLoad, message);
    let json = folder.text("tokenizer.json")?.ok_or_else(|| wrong("tokenizer.json is missing"))?;
    let encoder = guarded("tokenizer.json", || Encoder::from_bytes(json.as_bytes()))?;
    if !matches!(encoder.get_decoder(), Some(DecoderWrapper::ByteLevel(_))) {
        return Err(wrong("tokenizer.json has a decoder other than ByteLevel, which is not supported"));
    }
    let settings = folder.json("tokenizer_config.json")?.unwrap_or_default();
    let generation = folder.json("generation_config.json")?.unwrap_or_default();
    let token_id = |key: &str| settings.get(key).and_then(token_text).and_then(|token| encoder.token_to_id(token));
    let mut end_ids: Vec<u32> = token_id("eos_token").into_iter().collect();
    for config in [folder.config(), &generation] {
        end_ids.extend(config.get("eos_token_id").into_iter().flat_map(ids));
    }
    let bos_id = token_id("bos_token").or_else(|| folder.config().get("bos_token_id").and_then(|id| ids(id).pop()));
    let template = match folder.text("chat_template.jinja")? {
        Some(template) => Some(template),
        None => settings.get("chat_template").and_then(default_template).map(str::to_owned),
    };
    Ok(Parts { texts: texts(&encoder)?, bos_id, end_ids, template, encoder })
}

fn texts(encoder: &Encoder) -> Result<Vec<TokenText>> {
    let byte_level = ByteLevel::new();
    let added = encoder.get_added_tokens_decoder();
    let vocabulary = encoder.get_vocab(true);
    let highest = vocabulary.values().max().map_or(0, |id| *id as usize + 1); // ids are u32
    if highest > 16 * vocabulary.len() + 1024 {
        return Err(SdkError::new(ErrorKind::ModelLoad, "tokenizer.json has token ids far beyond its vocabulary"));
    }
    let mut texts = vec![TokenText::Bytes(Box::default()); highest];
    for (token, id) in vocabulary {
        texts[id as usize] = match added.get(&id) {
            Some(added) if added.special => TokenText::Control(token.into()),
            Some(_) => TokenText::Bytes(token.into_bytes().into()),
            None => TokenText::Bytes(byte_level.bytes(&token)),
        };
    }
    Ok(texts)
}

/// A token is written as its text, or as an object that holds it.
fn token_text(json: &Json) -> Option<&str> {
    json.as_str().or_else(|| json.get("content")?.as_str())
}

/// One template, or a list of named ones of which `default` is meant for chat.
fn default_template(json: &Json) -> Option<&str> {
    let named = |name: &str| json.as_array()?.iter().find(|entry| entry.get("name").is_some_and(|found| found == name));
    json.as_str().or_else(|| named("default")?.get("template")?.as_str())
}

/// One id, or a list of ids.
fn ids(json: &Json) -> Vec<u32> {
    let ids = json.as_array().map_or(std::slice::from_ref(json), Vec::as_slice);
    ids.iter().filter_map(Json::as_u64).filter_map(|id| u32::try_from(id).ok()).collect()
}
