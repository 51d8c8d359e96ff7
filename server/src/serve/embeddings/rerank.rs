//! `POST /v1/rerank`: documents, ordered by how well they fit a query.

use std::borrow::Cow;
use std::sync::Arc;

use causerie::ErrorKind;
use causerie::embedding::RerankOptions;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::serve::embeddings::answer::{ComputedAnswer, is_other_model};
use crate::serve::embeddings::input::MAX_TEXTS;
use crate::serve::error::HttpError;
use crate::serve::request::RequestNotes;
use crate::serve::request::fields::RequestFields;
use crate::serve::request::types::{Integer, MAX_TOKENS, WithoutEffect};
use crate::serve::service::Service;

/// The fields of a request.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::serve) struct RankingFields {
    /// The id of the model that ranks. Other ids are answered by the same model, unless the server is strict.
    model: Option<String>,
    query: String,
    /// Strings, or objects with a text.
    #[schemars(length(min = 1, max = 2048))]
    documents: Vec<RankingDocument>,
    /// The number of results; all documents without it.
    top_n: Option<Integer<1, MAX_TOKENS>>,
    /// Adds the text of each document to its result.
    #[schemars(extend("default" = false))]
    return_documents: Option<bool>,
    /// What makes a document relevant, for models that are asked in words.
    instruction: Option<String>,
    #[serde(rename = "user")]
    _user: Option<WithoutEffect>,
}

/// A document's text: a string, or an object with it.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Json")]
struct RankingDocument(String);

impl TryFrom<Json> for RankingDocument {
    type Error = String;

    fn try_from(value: Json) -> Result<Self, String> {
        let text = value.as_str().or_else(|| value.get("text")?.as_str());
        let text = text.map(|text| Self(text.to_owned()));
        text.ok_or_else(|| "must be a string, or an object with the string text".to_owned())
    }
}

impl JsonSchema for RankingDocument {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RankingDocument".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text = json!({ "type": "string" });
        json_schema!({ "anyOf": [text, { "type": "object", "required": ["text"], "properties": { "text": text } }] })
    }
}

/// Reads a request and prepares its answer.
pub(in crate::serve) fn read(service: &Arc<Service>, mut fields: RequestFields) -> Result<ComputedAnswer, HttpError> {
    let served = service.ranker()?;
    let ranking: RankingFields = fields.read()?;
    let notes = RequestNotes {
        is_other_model: is_other_model(service, served, ranking.model.as_deref())?,
        ignored: fields.into_ignored(service.settings.strict_fields)?,
    };
    let documents: Vec<String> = ranking.documents.into_iter().map(|document| document.0).collect();
    if !(1..=MAX_TEXTS).contains(&documents.len()) {
        let message = format!("documents must be 1 to {MAX_TEXTS}, found {}", documents.len());
        return Err(HttpError::value("documents", message));
    }
    let options = RerankOptions { top_n: ranking.top_n.map(Integer::count), instruction: ranking.instruction };
    let returns_documents = ranking.return_documents.unwrap_or(false);
    let (model, id, query) = (served.model.clone(), served.id.clone(), ranking.query);
    Ok(ComputedAnswer::new(service, served, notes, move |progress| {
        let ranked = model.rerank_watched(&query, &documents, options, progress);
        let ranked = ranked.map_err(|err| match err.kind() {
            // Documents are cut.
            ErrorKind::PromptExceedsContext { .. } => HttpError::from_engine(&err).at("query"),
            _ => HttpError::from_engine(&err),
        })?;
        let results = ranked.results.iter().map(|document| {
            let mut result = json!({ "index": document.index, "relevance_score": document.relevance });
            if returns_documents {
                result["document"] = json!({ "text": documents[document.index] });
            }
            result
        });
        Ok(json!({
            "model": id,
            "object": "list",
            "results": results.collect::<Vec<_>>(),
            "usage": { "prompt_tokens": ranked.n_tokens, "total_tokens": ranked.n_tokens },
        }))
    }))
}
