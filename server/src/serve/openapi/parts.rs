//! The parts of which the document of the service is made.

use serde_json::{Value as Json, json};

pub(super) fn post(path: &str, summary: &str, request: Json, reply: &str, is_streamed: bool) -> Json {
    let mut content = json!({ "application/json": { "schema": reference(reply) } });
    if is_streamed {
        content["text/event-stream"] = json!({ "schema": { "type": "string" } });
    }
    let error = if path.starts_with("/v1/messages") { "MessageError" } else { "Error" };
    json!({ "post": {
        "summary": summary,
        "operationId": operation(path),
        "requestBody": { "required": true, "content": { "application/json": { "schema": request } } },
        "responses": responses(content, error),
    } })
}

pub(super) fn get(path: &str, summary: &str, kind: &str, schema: &Json) -> Json {
    let content = json!({ kind: { "schema": schema } });
    json!({ "summary": summary, "operationId": operation(path), "responses": responses(content, "Error") })
}

pub(super) fn responses(content: Json, error: &str) -> Json {
    let refused = json!({ "application/json": { "schema": reference(error) } });
    json!({
        "200": { "description": "Success", "content": content },
        "4XX": { "description": "The request is refused", "content": refused },
        "5XX": { "description": "The request failed, or the server cannot answer it now", "content": refused },
    })
}

/// The operation id, from which generators name functions.
pub(super) fn operation(path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty() && *word != "v1");
    let name = words.collect::<Vec<_>>().join("_");
    if name.is_empty() { "page".to_owned() } else { name }
}

pub(super) fn reference(schema: &str) -> Json {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}
