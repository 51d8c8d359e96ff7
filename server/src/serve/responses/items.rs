//! The items of a response's input, as a history.

use causerie::{Arguments, ChatMessage, ChatMessageContent, Role, SdkFunctionCall};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::serve::error::HttpError;
use crate::serve::request::content::{
    add_instructions, foreign_image, function_call, kind_of, message, read_arguments, read_image_url, read_parts,
    read_sound, read_text, tool_result,
};
use crate::serve::request::fields::{RequestFields, read_value};
use crate::serve::request::found_images::RequestImages;
use crate::serve::request::images::places_of;
use crate::serve::request::must_be;
use crate::serve::request::namespaces::joined;
use crate::serve::request::tools::{OfferedFunction, read_tools};
use crate::serve::request::unknown::{media_rule, role_of, text_of, unreadable};
use crate::serve::response_store::ResponseStore;

/// The items of a conversation, as they were sent.
pub(super) struct Input {
    /// The items up to the response that the request continues from.
    earlier: Vec<Json>,
    items: Vec<Json>,
    /// The indices of those items that come from stored responses.
    referenced: Vec<usize>,
}

#[derive(Debug, Deserialize)]
struct ItemReference {
    id: String,
}

#[derive(Debug, Deserialize)]
struct FunctionCallItem {
    call_id: String,
    name: String,
    namespace: Option<String>,
    #[serde(default)]
    arguments: Json,
}

#[derive(Debug, Deserialize)]
struct CustomCallItem {
    call_id: String,
    name: String,
    namespace: Option<String>,
    input: String,
}

#[derive(Debug, Deserialize)]
struct CallOutputItem {
    call_id: String,
    output: Option<Json>,
}

#[derive(Debug, Deserialize)]
struct MessageItem {
    role: String,
    content: Option<Json>,
    /// The call that a message of the role tool answers, as in chat completions.
    #[serde(alias = "tool_call_id")]
    call_id: Option<String>,
}

impl Input {
    /// Finds the items that a request names by the ids of stored responses.
    pub(super) fn read(input: Json, previous: Option<&str>, store: &ResponseStore) -> Result<Self, HttpError> {
        let earlier = previous.map_or_else(|| Ok(Vec::new()), |id| store.conversation(id))?;
        let mut items = match input {
            Json::String(text) => vec![json!({ "role": "user", "content": text })],
            Json::Array(items) if items.is_empty() => {
                return Err(HttpError::value("input", "input must not be an empty array"));
            }
            Json::Array(items) => items,
            value => {
                let rule = must_be("a string or an array of items", &value);
                return Err(HttpError::value("input", format!("input {rule}")));
            }
        };
        let (mut n_searched, mut referenced) = (0, Vec::new());
        for (i, item) in items.iter_mut().enumerate().filter(|(_, item)| item["type"] == "item_reference") {
            let place = format!("input[{i}]");
            let ItemReference { id } = read_value(&place, item.take())?;
            *item = store.item(&id, &mut n_searched).ok_or_else(|| {
                let message = format!(
                    "{place}.id must be that of an item of a recent response: at most 16 MiB of responses are searched"
                );
                HttpError::not_found(message).at("input")
            })?;
            referenced.push(i);
        }
        Ok(Self { earlier, items, referenced })
    }

    /// The functions that items declare, such as the `additional_tools` of Codex: functions of this request first.
    pub(super) fn functions(&self, fields: &RequestFields) -> Result<Vec<OfferedFunction>, HttpError> {
        let mut functions = Vec::new();
        for (i, item) in self.items.iter().enumerate().filter(|(_, item)| declares_functions(item)) {
            let tools = item["tools"].as_array().cloned();
            functions.extend(read_tools(fields, &format!("input[{i}].tools"), tools)?);
        }
        let listed = RequestFields::new(Map::new());
        for item in self.earlier.iter().filter(|item| declares_functions(item)) {
            functions.extend(read_tools(&listed, "previous_response_id", item["tools"].as_array().cloned())?);
        }
        Ok(functions)
    }

    pub(super) fn history(
        &self,
        instructions: Option<String>,
        fields: &RequestFields,
    ) -> Result<Vec<ChatMessage>, HttpError> {
        let mut history: Vec<ChatMessage> = instructions.into_iter().map(ChatMessage::system).collect();
        // Items of earlier requests that were ignored were listed then.
        let listed = RequestFields::new(Map::new());
        for item in &self.earlier {
            read_item("previous_response_id", item, &mut history, &listed)?;
        }
        for (i, item) in self.items.iter().enumerate() {
            read_item(&format!("input[{i}]"), item, &mut history, fields)?;
        }
        Ok(history)
    }

    /// The places of the images of all items, in order. `images` are the images of the request itself.
    pub(super) fn image_places(&self, images: &RequestImages) -> Vec<String> {
        let earlier =
            self.earlier.iter().flat_map(|item| places_of("", item)).map(|_| "previous_response_id".to_owned());
        let items = self.items.iter().enumerate().flat_map(|(i, item)| match self.referenced.contains(&i) {
            true => places_of(&format!("input[{i}]"), item),
            false => images.places_in("input", i),
        });
        earlier.chain(items).collect()
    }

    /// All items as JSON text.
    pub(super) fn into_json(self) -> String {
        Json::Array(self.earlier.into_iter().chain(self.items).collect()).to_string()
    }
}

fn read_item(
    place: &str,
    item: &Json,
    history: &mut Vec<ChatMessage>,
    fields: &RequestFields,
) -> Result<(), HttpError> {
    let is_message = item.get("type").is_none_or(Json::is_null) && item.get("role").is_some();
    let kind = if is_message { "message" } else { kind_of(place, item)? };
    match kind {
        "message" => read_message(place, item, history, fields)?,
        "function_call" => {
            let FunctionCallItem { call_id, name, namespace, arguments } = read_value(place, item.clone())?;
            let arguments = read_arguments(&format!("{place}.arguments"), arguments)?;
            add_call(history, function_call(call_id, joined(namespace.as_deref(), &name), arguments));
        }
        // A call whose input is not JSON.
        "custom_tool_call" => {
            let CustomCallItem { call_id, name, namespace, input } = read_value(place, item.clone())?;
            let arguments = Arguments::from_iter([("input".to_owned(), input.into())]);
            add_call(history, function_call(call_id, joined(namespace.as_deref(), &name), arguments));
        }
        "function_call_output" | "custom_tool_call_output" => {
            let CallOutputItem { call_id, output } = read_value(place, item.clone())?;
            let content = read_parts(&format!("{place}.output"), output, |place, part| read_part(place, part, fields))?;
            history.push(tool_result(call_id, content));
        }
        "reasoning" => {
            let texts = item.get("content").and_then(Json::as_array).into_iter().flatten();
            add_reasoning(history, texts.filter_map(|part| part.get("text")?.as_str()).collect());
        }
        // What only its provider can read, or a client's own marks.
        "compaction" | "compaction_summary" | "context_compaction" | "compaction_trigger" | "ghost_snapshot" => {
            fields.ignore(place);
        }
        _ if declares_functions(item) && text_of(item).is_none() => {}
        // Calls and results of tools that a provider runs.
        _ if kind.ends_with("_call") || kind.ends_with("_output") || kind.starts_with("mcp_") => {
            fields.ignore(place);
        }
        _ => read_unknown(place, kind, item, history, fields)?,
    }
    Ok(())
}

/// Whether an item has tools that the client runs. Tools of an MCP server that a provider asks are listed for the reader.
fn declares_functions(item: &Json) -> bool {
    let kind = item["type"].as_str().unwrap_or_default();
    item["tools"].is_array() && kind != "message" && !kind.starts_with("mcp_")
}

/// An item of an unknown type: a message if it has a content, or text. `agent_message` is what one agent of Codex writes to
/// another: for this model, a message of the user.
fn read_unknown(
    place: &str,
    kind: &str,
    item: &Json,
    history: &mut Vec<ChatMessage>,
    fields: &RequestFields,
) -> Result<(), HttpError> {
    if let Some(rule) = media_rule(kind) {
        return Err(unreadable(place, rule));
    }
    let text = text_of(item);
    if kind.contains("reasoning") || kind.contains("thinking") {
        fields.ignore(if text.is_some() { format!("{place}.type") } else { place.to_owned() });
        add_reasoning(history, text.unwrap_or_default());
        return Ok(());
    }
    let content = match &item["content"] {
        Json::Array(parts) if !parts.is_empty() && parts.iter().all(|part| part["type"].is_string()) => {
            Json::Array(parts.clone())
        }
        _ => text.map_or(Json::Null, Json::String),
    };
    if content.is_null() {
        fields.ignore(place);
        return Ok(());
    }
    fields.ignore(format!("{place}.type"));
    let role = item["role"].as_str().map_or(Role::User, role_of);
    if let Some(content) = read_content(place, role, Some(content), fields)? {
        add_message(history, role, content);
    }
    Ok(())
}

fn add_reasoning(history: &mut Vec<ChatMessage>, reasoning: String) {
    if !reasoning.is_empty() {
        let reasoning_content = Some(reasoning);
        history.push(ChatMessage { reasoning_content, ..message(Role::Assistant, Vec::new()) });
    }
}

fn read_message(
    place: &str,
    item: &Json,
    history: &mut Vec<ChatMessage>,
    fields: &RequestFields,
) -> Result<(), HttpError> {
    let MessageItem { role: name, content, call_id } = read_value(place, item.clone())?;
    let role = role_of(&name);
    if let ("tool", Some(call_id)) = (name.as_str(), call_id) {
        history.push(tool_result(call_id, read_content(place, role, content, fields)?.unwrap_or_default()));
        return Ok(());
    }
    if !["system", "developer", "user", "assistant"].contains(&name.as_str()) {
        fields.ignore(format!("{place}.role"));
    }
    if let Some(content) = read_content(place, role, content, fields)? {
        add_message(history, role, content);
    }
    Ok(())
}

/// The parts of a message; `None` if all were passed over. Only messages of the user and of tools may have images.
fn read_content(
    place: &str,
    role: Role,
    content: Option<Json>,
    fields: &RequestFields,
) -> Result<Option<Vec<ChatMessageContent>>, HttpError> {
    let is_empty = matches!(&content, Some(Json::Array(parts)) if parts.is_empty());
    let read = if role == Role::User { read_part } else { read_text };
    let parts = read_parts(&format!("{place}.content"), content, |place, part| read(place, part, fields))?;
    Ok(Some(parts).filter(|parts| is_empty || !parts.is_empty()))
}

fn add_message(history: &mut Vec<ChatMessage>, role: Role, content: Vec<ChatMessageContent>) {
    match (role, history.last_mut().filter(|last| continues(last))) {
        (Role::Assistant, Some(reply)) => reply.content.extend(content),
        (Role::System, _) => add_instructions(history, content),
        _ => history.push(message(role, content)),
    }
}

/// Whether text that follows is part of this message: a reply whose reasoning or calls came first, as items of their own.
fn continues(last: &ChatMessage) -> bool {
    last.role == Role::Assistant && (last.content.is_empty() || last.function_calls.is_some())
}

/// Adds a call to the last message if it is the model's, else to a new one.
fn add_call(history: &mut Vec<ChatMessage>, call: SdkFunctionCall) {
    if history.last().is_none_or(|last| last.role != Role::Assistant) {
        history.push(message(Role::Assistant, Vec::new()));
    }
    if let Some(reply) = history.last_mut() {
        reply.function_calls.get_or_insert_default().push(call);
    }
}

fn read_part(place: &str, part: Json, fields: &RequestFields) -> Result<Option<ChatMessageContent>, HttpError> {
    match kind_of(place, &part)? {
        "input_image" => {
            let place = format!("{place}.image_url");
            let url = part["image_url"].as_str();
            let url =
                url.ok_or_else(|| HttpError::value(&place, format!("{place} must be a string: files are not stored")))?;
            read_image_url(&place, url).map(Some)
        }
        kind @ ("image" | "image_url") => Err(foreign_image(place, "input_image", kind)),
        kind @ ("input_audio" | "audio_url") => read_sound(place, kind, &part).map(Some),
        _ => read_text(place, part, fields),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn text(text: &str) -> ChatMessageContent {
        ChatMessageContent::Text(text.to_owned())
    }

    #[test]
    fn items_of_one_reply_are_one_message() {
        let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": "{}" });
        let result = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": id });
        let input = json!([
            { "role": "developer", "content": "And kind." },
            { "role": "user", "content": [{ "type": "input_text", "text": "Hi" }] },
            { "type": "reasoning", "id": "rs_1", "summary": [], "content": [{ "type": "reasoning_text", "text": "Hm." }] },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "So.", "annotations": [] }] },
            call("a"), call("b"), result("a"), result("b"), call("c"), result("c"),
            { "type": "message", "role": "assistant", "content": "One. " }, call("d"),
            { "type": "message", "role": "assistant", "content": "Two." }, call("e"), result("d"), result("e"),
        ]);
        let input = Input::read(input, None, &ResponseStore::new(&Arc::default(), None)).unwrap();
        let history = input.history(Some("Be brief.".to_owned()), &RequestFields::new(Map::new())).unwrap();

        let reply = |content: &[&str], calls: &[&str]| ChatMessage {
            function_calls: Some(
                calls.iter().map(|id| function_call((*id).to_owned(), "f".to_owned(), Arguments::new())).collect(),
            ),
            ..message(Role::Assistant, content.iter().map(|said| text(said)).collect())
        };
        let result = |id: &str| tool_result(id.to_owned(), vec![text(id)]);
        let expect = [
            message(Role::System, vec![text("Be brief."), text("\n\n"), text("And kind.")]),
            ChatMessage::user("Hi"),
            ChatMessage { reasoning_content: Some("Hm.".to_owned()), ..reply(&["So."], &["a", "b"]) },
            result("a"),
            result("b"),
            reply(&[], &["c"]),
            result("c"),
            reply(&["One. ", "Two."], &["d", "e"]),
            result("d"),
            result("e"),
        ];
        assert_eq!(history, expect);
    }
}
