//! `GET /openapi.json`: what the server answers, in the words of OpenAPI 3.1. A test holds the fields of requests
//! against those that the code asks for, and replies are held against their schemas.

use serde_json::{Map, Value as Json, json};

use crate::serve::{Auth, Hosted};

mod replies;
mod requests;

/// The document of a server that has this model.
pub(super) fn document(model_id: &str, hosted: Option<&Hosted>) -> Json {
    let mut paths = Map::new();
    for (path, summary, request, reply) in [
        ("/v1/chat/completions", "Reply to messages", requests::chat(), "ChatCompletion"),
        ("/v1/completions", "Continue a prompt as it stands", requests::completion(), "Completion"),
        ("/v1/responses", "Reply to messages, in OpenAI's newer form", requests::response(), "Response"),
        ("/v1/messages", "Reply to messages, in Anthropic's form", requests::message(), "Message"),
    ] {
        paths.insert(path.to_owned(), post(path, summary, request, reply, true));
    }
    let path = "/v1/messages/count_tokens";
    paths.insert(path.to_owned(), post(path, "Count the tokens of messages", requests::count(), "TokenCount", false));
    for path in paths.values_mut() {
        path["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]["model"]["enum"] =
            json!([model_id]);
    }
    for (path, summary, kind, schema) in [
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
    let mut model = json!({ "get": get("/v1/models/{id}", "One model", "application/json", &reference("Model")) });
    model["parameters"] = json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }]);
    paths.insert("/v1/models/{id}".to_owned(), model);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "causerie",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A language model on this device. Fields that are not listed are ignored and named in the \
                            header x-ignored-fields, or refused where they would change the reply.",
        },
        "paths": paths,
        "components": { "schemas": replies::schemas() },
    });
    if let Some(hosted) = hosted {
        describe_access(&mut document, hosted);
    }
    document
}

/// Where the hosted form is reached, and what asks for a key.
fn describe_access(document: &mut Json, hosted: &Hosted) {
    document["servers"] = json!([{ "url": hosted.base_path.to_string() }]);
    if hosted.auth == Auth::Public {
        return;
    }
    document["components"]["securitySchemes"] = json!({ "key": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "`Key <API_KEY>`: the word Key, one space, and a key of `causerie keys create`.",
    } });
    document["security"] = json!([{ "key": [] }]);
    let open = ["/", "/livez", "/readyz", "/health"].into_iter().chain(hosted.open_metrics.then_some("/metrics"));
    for path in open {
        document["paths"][path]["get"]["security"] = json!([]);
    }
}

fn post(path: &str, summary: &str, request: Json, reply: &str, is_streamed: bool) -> Json {
    let mut content = json!({ "application/json": { "schema": reference(reply) } });
    if is_streamed {
        content["text/event-stream"] = json!({ "schema": { "type": "string" } });
    }
    let fault = if path.starts_with("/v1/messages") { "MessageError" } else { "Error" };
    json!({ "post": {
        "summary": summary,
        "operationId": operation(path),
        "requestBody": { "required": true, "content": { "application/json": { "schema": request } } },
        "responses": responses(content, fault),
    } })
}

fn get(path: &str, summary: &str, kind: &str, schema: &Json) -> Json {
    let content = json!({ kind: { "schema": schema } });
    json!({ "summary": summary, "operationId": operation(path), "responses": responses(content, "Error") })
}

fn responses(content: Json, fault: &str) -> Json {
    let refused = json!({ "application/json": { "schema": reference(fault) } });
    json!({
        "200": { "description": "What was asked for", "content": content },
        "4XX": { "description": "The request cannot be answered as it stands, or not now", "content": refused },
        "5XX": { "description": "The request failed, or the server is about to stop", "content": refused },
    })
}

/// A name for generated clients.
fn operation(path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty() && *word != "v1");
    let name = words.collect::<Vec<_>>().join("_");
    if name.is_empty() { "page".to_owned() } else { name }
}

fn reference(schema: &str) -> Json {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::serve::fields::{Fields, asked};
    use crate::serve::recent::Memory;
    use crate::serve::{Service, Settings, chat, completions, messages, responses as wire};
    use causerie::testing::ScriptedModel;
    use std::sync::Arc;

    fn fields(json: &Json) -> Fields {
        Fields::read(json.to_string().as_bytes()).unwrap()
    }

    /// Every field of a schema by name, at whatever depth.
    fn properties(schema: &Json, found: &mut BTreeMap<String, Json>) {
        match schema {
            Json::Object(entries) => {
                for (name, property) in entries.get("properties").and_then(Json::as_object).into_iter().flatten() {
                    found.insert(name.clone(), property.clone());
                }
                entries.values().for_each(|value| properties(value, found));
            }
            Json::Array(items) => items.iter().for_each(|item| properties(item, found)),
            _ => {}
        }
    }

    /// What the code asks of a request stands in its schema, with its type and its limits; and what stands at the top of
    /// the schema is asked for.
    #[track_caller]
    fn check(schema: &Json, read: impl FnOnce()) {
        asked::begin();
        read();
        let asked = asked::end();
        assert!(!asked.is_empty());
        let mut described = BTreeMap::new();
        properties(schema, &mut described);
        for (name, limits) in &asked {
            let property = described.get(name).unwrap_or_else(|| panic!("{name} is not described"));
            for (key, value) in limits.as_object().unwrap() {
                assert_eq!(&property[key], value, "{key} of {name}");
            }
        }
        for name in schema["properties"].as_object().unwrap().keys() {
            assert!(asked.contains_key(name), "{name} is described, but nobody asks for it");
        }
    }

    #[test]
    fn every_field_of_a_request_is_described() {
        let runner = ScriptedModel::new().load().unwrap();
        let service = Arc::new(Service::new("m", true, Settings::default()));
        service.runner.set(runner).unwrap();
        let said = json!([{ "role": "user", "content": "Hi" }]);
        let chat_body = json!({ "model": "m", "messages": said });
        check(&requests::chat(), || {
            drop(chat::read_chat(&service, fields(&chat_body)).map_err(|err| panic!("{err:?}")))
        });
        let completion = json!({ "model": "m", "prompt": "Hi" });
        check(&requests::completion(), || {
            drop(completions::read(&service, fields(&completion)).map_err(|err| panic!("{err:?}")));
        });
        let message = json!({
            "messages": said, "max_tokens": 1, "tool_choice": { "type": "tool", "name": "f" }, "thinking": { "type": "enabled" },
        });
        check(&requests::message(), || {
            drop(messages::translate(&mut fields(&message)).map_err(|err| panic!("{err:?}")))
        });
        check(&requests::response(), || {
            let memory = Memory::new(&service.recent, None);
            drop(wire::translate(&mut fields(&json!({ "input": "Hi" })), &memory).map_err(|err| panic!("{err:?}")));
        });
    }

    #[test]
    fn every_reference_has_its_schema() {
        let document = document("m", None);
        let text = document.to_string();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for (at, _) in text.match_indices("#/components/schemas/") {
            let name: String = text[at + 21..].chars().take_while(char::is_ascii_alphanumeric).collect();
            assert!(schemas.contains_key(&name), "{name}");
        }
    }
}
