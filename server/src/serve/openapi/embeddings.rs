//! The routes of models that read whole texts, in the OpenAPI document.

use serde_json::{Map, Value as Json, json};

use crate::serve::openapi::parts::post;
use crate::serve::openapi::requests;

/// Adds the paths.
pub(super) fn describe(paths: &mut Map<String, Json>) {
    for (path, summary, request, reply) in [
        ("/v1/embeddings", "Vectors of texts", requests::embedding(), "EmbeddingList"),
        ("/v1/rerank", "Order documents by how well they fit a query", requests::ranking(), "RankingList"),
    ] {
        paths.insert(path.to_owned(), post(path, summary, request, reply, false));
    }
}

/// The schemas of replies.
pub(super) fn schemas() -> [(&'static str, Json); 2] {
    let count = json!({ "type": "integer", "minimum": 0 });
    let usage = json!({
        "type": "object",
        "required": ["prompt_tokens", "total_tokens"],
        "properties": { "prompt_tokens": count, "total_tokens": count },
    });
    let list = |name: &str, item: Json| {
        json!({
            "type": "object",
            "required": ["object", "model", name, "usage"],
            "properties": {
                "object": { "const": "list" },
                "model": { "type": "string" },
                name: { "type": "array", "items": item },
                "usage": usage,
            },
        })
    };
    let embedding = json!({
        "type": "object",
        "required": ["object", "index", "embedding"],
        "properties": {
            "object": { "const": "embedding" },
            "index": count,
            "embedding": { "anyOf": [{ "type": "array", "items": { "type": "number" } }, { "type": "string" }] },
        },
    });
    let result = json!({
        "type": "object",
        "required": ["index", "relevance_score"],
        "properties": {
            "index": count,
            "relevance_score": { "type": "number" },
            "document": { "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } } },
        },
    });
    [("EmbeddingList", list("data", embedding)), ("RankingList", list("results", result))]
}
