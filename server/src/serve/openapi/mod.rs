//! `GET /openapi.json`: the service as an OpenAPI 3.1 document. The schemas of requests come from the structs that read
//! them; replies are described by hand, and tests validate real ones.

use serde_json::{Map, Value as Json, json};

use crate::access::{Auth, Hosted};
use crate::serve::settings::Settings;

mod audio;
mod embeddings;
mod parts;
mod replies;
mod requests;

use parts::{get, post, reference};

/// The document of a server with this model.
pub(super) fn document(model_id: &str, settings: &Settings) -> Json {
    let mut paths = Map::new();
    for (path, summary, request, reply) in [
        ("/v1/chat/completions", "Reply to messages", requests::chat(), "ChatCompletion"),
        ("/v1/completions", "Continue a prompt as it stands", requests::completion(), "Completion"),
        ("/v1/responses", "Reply to messages, in OpenAI's newer dialect", requests::response(), "Response"),
        ("/v1/messages", "Reply to messages, in Anthropic's dialect", requests::message(), "Message"),
    ] {
        paths.insert(path.to_owned(), post(path, summary, request, reply, true));
    }
    let path = "/v1/messages/count_tokens";
    paths.insert(path.to_owned(), post(path, "Count the tokens of messages", requests::count(), "TokenCount", false));
    for path in paths.values_mut() {
        let schema = &mut path["post"]["requestBody"]["content"]["application/json"]["schema"];
        schema["properties"]["model"]["default"] = json!(model_id);
        if settings.strict_model {
            schema["properties"]["model"]["enum"] = json!([model_id]);
            schema["required"].as_array_mut().into_iter().for_each(|required| required.push(json!("model")));
        }
    }
    for (path, summary, kind, schema) in [
        (
            "/v1/responses/{id}/input_items",
            "The items that a response replied to",
            "application/json",
            reference("ItemList"),
        ),
        ("/", "A page to talk with the model", "text/html", json!({ "type": "string" })),
        ("/v1/models", "The models served", "application/json", reference("ModelList")),
        ("/livez", "Whether the server runs", "application/json", reference("Status")),
        ("/readyz", "Whether the server takes requests", "application/json", reference("Status")),
        ("/health", "Whether the server takes requests", "application/json", reference("Status")),
        ("/metrics", "Counts for Prometheus", "text/plain", json!({ "type": "string" })),
        ("/openapi.json", "This document", "application/json", json!({ "type": "object" })),
    ] {
        paths.insert(path.to_owned(), json!({ "get": get(path, summary, kind, &schema) }));
    }
    audio::describe(&mut paths);
    embeddings::describe(&mut paths);
    let mut response = json!({
        "get": get("/v1/responses/{id}", "A stored response", "application/json", &reference("Response")),
        "delete": get("/v1/responses/{id}", "Forget a response", "application/json", &reference("DeletedResponse")),
    });
    response["delete"]["operationId"] = json!("delete_response");
    paths.insert("/v1/responses/{id}".to_owned(), response);
    let model = json!({ "get": get("/v1/models/{id}", "One model", "application/json", &reference("Model")) });
    paths.insert("/v1/models/{id}".to_owned(), model);
    for path in ["/v1/models/{id}", "/v1/responses/{id}", "/v1/responses/{id}/input_items"] {
        paths[path]["parameters"] =
            json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 } }]);
    }
    paths["/v1/responses/{id}/input_items"]["get"]["parameters"] = json!([
        { "name": "limit", "in": "query", "schema": { "type": "integer", "minimum": 1, "maximum": 100 } },
        { "name": "order", "in": "query", "schema": { "enum": ["asc", "desc"] } },
        { "name": "after", "in": "query", "schema": { "type": "string" } },
    ]);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "causerie",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A language model on this device. Fields that are not listed are ignored and named in the \
                            header x-ignored-fields, or refused where they would change the reply. /v1/realtime is a WebSocket, \
                            which documents of this kind do not describe: docs/realtime.md does.",
        },
        "paths": paths,
        "components": { "schemas": replies::schemas() },
    });
    for (name, schema) in embeddings::schemas() {
        document["components"]["schemas"][name] = schema;
    }
    if let Some(hosted) = &settings.hosted {
        describe_access(&mut document, hosted);
    } else if settings.local_keys.is_some() {
        require_key(&mut document, json!({ "type": "http", "scheme": "bearer" }), false);
    }
    document
}

/// The address of a hosted server, and which paths require a key.
fn describe_access(document: &mut Json, hosted: &Hosted) {
    document["servers"] = json!([{ "url": hosted.base_path.to_string() }]);
    if hosted.auth == Auth::Public {
        return;
    }
    let scheme = json!({
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "`Key <API_KEY>`: the word Key, one space, and a key of `causerie keys create`.",
    });
    require_key(document, scheme, hosted.open_metrics);
}

/// The scheme of keys, and the paths that need none.
fn require_key(document: &mut Json, scheme: Json, open_metrics: bool) {
    document["components"]["securitySchemes"] = json!({ "key": scheme });
    document["security"] = json!([{ "key": [] }]);
    let open = ["/", "/livez", "/readyz", "/health"].into_iter().chain(open_metrics.then_some("/metrics"));
    for path in open {
        document["paths"][path]["get"]["security"] = json!([]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_has_its_schema() {
        let document = document("m", &Settings::default());
        let text = document.to_string();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for (at, _) in text.match_indices("#/components/schemas/") {
            let name: String = text[at + 21..].chars().take_while(char::is_ascii_alphanumeric).collect();
            assert!(schemas.contains_key(&name), "{name}");
        }
    }
}
