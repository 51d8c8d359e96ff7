//! The input of `/v1/decisions`: a string, or items.

use std::collections::HashMap;

use causerie::{ChatMessage, ChatMessageContent, DecisionState, Role};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::serve::decisions::parts::{PartKinds, read_content};
use crate::serve::error::HttpError;
use crate::serve::request::fields::read_value;
use crate::serve::request::must_be;

#[derive(Debug, Deserialize)]
struct DecisionMessage {
    role: DecisionRole,
    content: Json,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DecisionRole {
    User,
    Developer,
    System,
    Assistant,
}

#[derive(Debug, Deserialize)]
struct DecisionCall {
    call_id: String,
    name: String,
    arguments: String,
}

#[derive(Debug, Deserialize)]
struct DecisionCustomCall {
    call_id: String,
    name: String,
    input: String,
}

#[derive(Debug, Deserialize)]
struct DecisionCallOutput {
    call_id: String,
    output: Json,
}

/// Reads the input.
pub(super) fn read_input(input: Json) -> Result<DecisionState, HttpError> {
    let items = match input {
        Json::String(text) => return Ok(text.into()),
        Json::Array(items) => items,
        other => {
            let message = format!("input {}", must_be("a string or an array of items", &other));
            return Err(HttpError::value("input", message));
        }
    };
    let mut messages = Vec::new();
    let mut called = HashMap::new();
    for (at, item) in items.into_iter().enumerate() {
        messages.push(read_item(&format!("input[{at}]"), item, &mut called)?);
    }
    Ok(messages.into())
}

/// Reads an item; `called` has the names of the functions called so far, by the ids of the calls.
fn read_item(place: &str, item: Json, called: &mut HashMap<String, String>) -> Result<ChatMessage, HttpError> {
    let kind = match (&item, item.get("type")) {
        (Json::Object(_), None | Some(Json::Null)) => "message".to_owned(),
        (Json::Object(_), Some(Json::String(kind))) => kind.clone(),
        (Json::Object(_), Some(other)) => {
            return Err(HttpError::value(place, format!("{place}.type {}", must_be("a string", other))));
        }
        (other, _) => return Err(HttpError::value(place, format!("{place} {}", must_be("an object", other)))),
    };
    match kind.as_str() {
        "message" => read_message(place, read_value(place, item)?),
        "function_call" => {
            let DecisionCall { call_id, name, arguments } = read_value(place, item)?;
            let message = ChatMessage::assistant(format!("{name}({arguments})"));
            called.insert(call_id, name);
            Ok(message)
        }
        "custom_tool_call" => {
            let DecisionCustomCall { call_id, name, input } = read_value(place, item)?;
            let message = ChatMessage::assistant(format!("{name}({input})"));
            called.insert(call_id, name);
            Ok(message)
        }
        "function_call_output" | "custom_tool_call_output" => {
            let DecisionCallOutput { call_id, output } = read_value(place, item)?;
            let Some(name) = called.get(&call_id) else {
                let message = format!("{place}.call_id must be the id of an earlier call, found {call_id:?}");
                return Err(HttpError::value(place, message));
            };
            let content = read_content(&format!("{place}.output"), output, PartKinds::TextAndImages)?;
            Ok(ChatMessage { content, name: Some(name.clone()), ..ChatMessage::tool("") })
        }
        _ => {
            let message = format!(
                "{place}.type must be message, function_call, function_call_output, custom_tool_call or \
                 custom_tool_call_output, found {kind:?}"
            );
            Err(HttpError::value(place, message))
        }
    }
}

fn read_message(place: &str, item: DecisionMessage) -> Result<ChatMessage, HttpError> {
    let (role, kinds) = match item.role {
        DecisionRole::User => (Role::User, PartKinds::All),
        DecisionRole::Developer | DecisionRole::System => (Role::System, PartKinds::Text),
        DecisionRole::Assistant => (Role::Assistant, PartKinds::Said),
    };
    let content: Vec<ChatMessageContent> = read_content(&format!("{place}.content"), item.content, kinds)?;
    Ok(ChatMessage { content, ..ChatMessage::new(role, "") })
}
