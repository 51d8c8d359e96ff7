//! `POST /v1/embeddings`: vectors of texts.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use causerie::embedding::{EmbedOptions, TextUse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::serve::embeddings::answer::{ComputedAnswer, is_other_model};
use crate::serve::embeddings::input::EmbeddingInput;
use crate::serve::error::HttpError;
use crate::serve::request::RequestNotes;
use crate::serve::request::fields::RequestFields;
use crate::serve::request::types::{Integer, MAX_TOKENS, WithoutEffect};
use crate::serve::service::Service;

/// The fields of a request.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::serve) struct EmbeddingFields {
    /// The id of the model that embeds. Other ids are answered by the same model, unless the server is strict.
    model: Option<String>,
    /// A text, token ids, or an array of either.
    input: EmbeddingInput,
    /// float: arrays of numbers; base64: the bytes of 32-bit floats, the least significant first.
    #[schemars(extend("default" = "float"))]
    encoding_format: Option<EncodingFormat>,
    /// Values of a vector to keep. The shorter vector has the length 1 again.
    dimensions: Option<Integer<1, MAX_TOKENS>>,
    /// query or document, which chooses the prompt in the model's files.
    input_type: Option<InputType>,
    /// Cuts texts that are too long, which are an error otherwise.
    #[schemars(extend("default" = false))]
    truncate: Option<bool>,
    #[serde(rename = "user")]
    _user: Option<WithoutEffect>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum EncodingFormat {
    Float,
    Base64,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum InputType {
    Query,
    Document,
}

/// Reads a request and prepares its answer.
pub(in crate::serve) fn read(service: &Arc<Service>, mut fields: RequestFields) -> Result<ComputedAnswer, HttpError> {
    let served = service.embedder()?;
    let embedding: EmbeddingFields = fields.read()?;
    let notes = RequestNotes {
        is_other_model: is_other_model(service, served, embedding.model.as_deref())?,
        ignored: fields.into_ignored(service.settings.strict_fields)?,
    };
    let options = EmbedOptions {
        text_use: match embedding.input_type {
            None => TextUse::Unspecified,
            Some(InputType::Query) => TextUse::Query,
            Some(InputType::Document) => TextUse::Document,
        },
        dimensions: embedding.dimensions.map(Integer::count),
        truncates: embedding.truncate.unwrap_or(false),
        ..EmbedOptions::default()
    };
    let is_base64 = embedding.encoding_format == Some(EncodingFormat::Base64);
    let (model, id, texts) = (served.model.clone(), served.id.clone(), embedding.input.0);
    Ok(ComputedAnswer::new(service, served, notes, move |progress| {
        let embedded = model.embed_watched(texts, options, progress).map_err(|err| HttpError::from_engine(&err))?;
        let entry = |(index, vector): (usize, &Vec<f32>)| {
            let embedding = if is_base64 { base64(vector) } else { json!(vector) };
            json!({ "object": "embedding", "index": index, "embedding": embedding })
        };
        Ok(json!({
            "object": "list",
            "data": embedded.vectors.iter().enumerate().map(entry).collect::<Vec<_>>(),
            "model": id,
            "usage": { "prompt_tokens": embedded.n_tokens, "total_tokens": embedded.n_tokens },
        }))
    }))
}

fn base64(vector: &[f32]) -> Json {
    let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
    Json::String(STANDARD.encode(bytes))
}
