//! Anthropic's messages, which are made of blocks, as a history.

use causerie::{ChatMessage, ChatMessageContent, Role};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::serve::error::HttpError;
use crate::serve::request::content::{
    add_instructions, foreign_image, function_call, kind_of, message, parts_of, read_arguments, read_image_url,
    read_parts, read_sound, read_text, tool_result,
};
use crate::serve::request::fields::{RequestFields, read_value};
use crate::serve::request::must_be;
use crate::serve::request::unknown::role_of;

#[derive(Debug, Deserialize)]
struct BlockMessage {
    role: String,
    content: Option<Json>,
    /// The call that a message of the role tool answers, as in chat completions.
    #[serde(alias = "tool_call_id")]
    tool_use_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ToolUse {
    id: String,
    name: String,
    #[serde(default)]
    input: Json,
}

#[derive(Debug, Deserialize)]
struct ToolResult {
    tool_use_id: String,
    content: Option<Json>,
}

#[derive(Debug, Deserialize)]
struct ToolReference {
    tool_name: String,
}

#[derive(Debug, Deserialize)]
struct ThinkingBlock {
    thinking: String,
}

/// The history of a request.
pub(super) fn read_history(
    system: Option<Json>,
    messages: Vec<Json>,
    fields: &RequestFields,
) -> Result<Vec<ChatMessage>, HttpError> {
    let mut history = Vec::new();
    if system.is_some() {
        history.push(message(Role::System, read_texts("system", system, fields)?));
    }
    for (i, entry) in messages.into_iter().enumerate() {
        read_message(&format!("messages[{i}]"), entry, &mut history, fields)?;
    }
    Ok(history)
}

fn read_message(
    place: &str,
    entry: Json,
    history: &mut Vec<ChatMessage>,
    fields: &RequestFields,
) -> Result<(), HttpError> {
    let BlockMessage { role: name, content, tool_use_id } = read_value(place, entry)?;
    let content_place = format!("{place}.content");
    if let ("tool", Some(id)) = (name.as_str(), tool_use_id) {
        history.push(tool_result(id, read_result(&content_place, content, fields)?));
        return Ok(());
    }
    if !["user", "assistant", "system", "developer"].contains(&name.as_str()) {
        fields.ignore(format!("{place}.role"));
    }
    match role_of(&name) {
        Role::System => add_instructions(history, read_texts(&content_place, content, fields)?),
        Role::Assistant => history.extend(read_assistant(&content_place, content, fields)?),
        _ => read_user(&content_place, content, history, fields)?,
    }
    Ok(())
}

/// A content of text blocks only.
fn read_texts(
    place: &str,
    content: Option<Json>,
    fields: &RequestFields,
) -> Result<Vec<ChatMessageContent>, HttpError> {
    read_parts(place, content, |place, block| read_text(place, block, fields))
}

/// The content of a tool's result.
fn read_result(
    place: &str,
    content: Option<Json>,
    fields: &RequestFields,
) -> Result<Vec<ChatMessageContent>, HttpError> {
    let content = Some(content.unwrap_or_else(|| json!("")));
    read_parts(place, content, |place, block| read_shown(place, block, fields))
}

/// The blocks of a user, in which results of tools become messages of their own.
fn read_user(
    place: &str,
    content: Option<Json>,
    history: &mut Vec<ChatMessage>,
    fields: &RequestFields,
) -> Result<(), HttpError> {
    let blocks = parts_of(place, content)?;
    if blocks.is_empty() {
        history.push(ChatMessage::user(""));
    }
    let mut said = Vec::new();
    for (i, block) in blocks.into_iter().enumerate() {
        let place = format!("{place}[{i}]");
        match kind_of(&place, &block)? {
            "tool_result" => {
                flush(&mut said, history);
                let ToolResult { tool_use_id, content } = read_value(&place, block)?;
                history.push(tool_result(tool_use_id, read_result(&format!("{place}.content"), content, fields)?));
            }
            _ => said.extend(read_shown(&place, block, fields)?),
        }
    }
    flush(&mut said, history);
    Ok(())
}

fn flush(said: &mut Vec<ChatMessageContent>, history: &mut Vec<ChatMessage>) {
    if !said.is_empty() {
        history.push(message(Role::User, std::mem::take(said)));
    }
}

/// Text, also of a document or of a search result, which begin with their titles; or an image; or sound, in the form of an image or
/// as in the other dialects.
fn read_shown(place: &str, block: Json, fields: &RequestFields) -> Result<Option<ChatMessageContent>, HttpError> {
    let source = &block["source"];
    let (heads, content_place, content) = match (block["type"].as_str(), source["type"].as_str()) {
        (Some("document"), Some("text")) => (["title", "context"], "source.data", source["data"].clone()),
        (Some("document"), Some("content")) => (["title", "context"], "source.content", source["content"].clone()),
        (Some("search_result"), _) => (["title", "source"], "content", block["content"].clone()),
        (Some(kind @ ("image_url" | "input_image")), _) => return Err(foreign_image(place, "image", kind)),
        (Some("audio"), Some("base64")) => return read_sound(place, "source", &block).map(Some),
        (Some("audio"), kind) => {
            let place = format!("{place}.source.type");
            let rule = must_be("\"base64\": this server fetches no sound", &kind.into());
            return Err(HttpError::unsupported(&place, format!("{place} {rule}")));
        }
        (Some(kind @ ("input_audio" | "audio_url")), _) => return read_sound(place, kind, &block).map(Some),
        (Some("image"), _) => return read_image(&format!("{place}.source"), source).map(Some),
        // The result of a search for tools, all of which the model knows already.
        (Some("tool_reference"), _) => {
            let name = read_value::<ToolReference>(place, block)?.tool_name;
            return Ok(Some(ChatMessageContent::Text(name + "\n")));
        }
        _ => return read_text(place, block, fields),
    };
    let texts = read_texts(&format!("{place}.{content_place}"), Some(content), fields)?;
    let texts = texts.iter().filter_map(|part| match part {
        ChatMessageContent::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let heads = heads.into_iter().filter_map(|name| block[name].as_str());
    let lines: Vec<&str> = heads.chain(texts).collect();
    Ok(Some(ChatMessageContent::Text(lines.join("\n") + "\n\n")))
}

fn read_image(place: &str, source: &Json) -> Result<ChatMessageContent, HttpError> {
    let text_of = |name: &str| {
        let place = format!("{place}.{name}");
        let text = source[name].as_str();
        text.map(|text| (place.clone(), text))
            .ok_or_else(|| HttpError::value(&place, format!("{place} must be a string")))
    };
    match source["type"].as_str() {
        Some("base64") => {
            let (place, data) = text_of("data")?;
            read_image_url(&place, &format!("data:image;base64,{data}"))
        }
        Some("url") => {
            let (place, url) = text_of("url")?;
            read_image_url(&place, url)
        }
        kind => {
            let place = format!("{place}.type");
            let rule = must_be("\"base64\" or \"url\": files are not stored", &kind.into());
            Err(HttpError::unsupported(&place, format!("{place} {rule}")))
        }
    }
}

/// The reply of a model; `None` where all of it is ignored.
fn read_assistant(
    place: &str,
    content: Option<Json>,
    fields: &RequestFields,
) -> Result<Option<ChatMessage>, HttpError> {
    let (mut said, mut calls, mut thoughts) = (Vec::new(), Vec::new(), String::new());
    let blocks = parts_of(place, content)?;
    let is_empty = blocks.is_empty();
    for (i, block) in blocks.into_iter().enumerate() {
        let place = format!("{place}[{i}]");
        match kind_of(&place, &block)? {
            "tool_use" => {
                let ToolUse { id, name, input } = read_value(&place, block)?;
                let arguments = read_arguments(&format!("{place}.input"), input)?;
                calls.push(function_call(id, name, arguments));
            }
            "thinking" => thoughts.push_str(&read_value::<ThinkingBlock>(&place, block)?.thinking),
            // Thinking that only its provider can read.
            "redacted_thinking" => {}
            // Calls and results of tools that a provider runs.
            kind if kind.ends_with("_tool_use") || kind.ends_with("_tool_result") => fields.ignore(place),
            _ => said.extend(read_text(&place, block, fields)?),
        }
    }
    if !is_empty && said.is_empty() && calls.is_empty() && thoughts.is_empty() {
        return Ok(None);
    }
    Ok(Some(ChatMessage {
        function_calls: Some(calls).filter(|calls| !calls.is_empty()),
        reasoning_content: Some(thoughts).filter(|thoughts| !thoughts.is_empty()),
        ..message(Role::Assistant, said)
    }))
}

#[cfg(test)]
mod tests {
    use causerie::{Arguments, Value};
    use serde_json::Map;

    use super::*;

    #[test]
    fn results_of_tools_are_messages_of_their_own() {
        let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "f", "input": { "a": 1 } });
        let thinking = json!({ "type": "thinking", "thinking": "Hm.", "signature": "" });
        let result = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "is_error": false, "content": "42" });
        let said = |text: &str| json!({ "type": "text", "text": text });
        let messages = vec![
            json!({ "role": "user", "content": "Hi" }),
            json!({ "role": "assistant", "content": [thinking, said("So."), call] }),
            json!({ "role": "user", "content": [result, said("And?")] }),
        ];
        let fields = RequestFields::new(Map::new());
        let history = read_history(Some(json!("Be brief.")), messages, &fields).unwrap();
        let arguments = Arguments::from_iter([("a".to_owned(), Value::Integer(1))]);
        let reply = ChatMessage {
            reasoning_content: Some("Hm.".to_owned()),
            function_calls: Some(vec![function_call("toolu_1".to_owned(), "f".to_owned(), arguments)]),
            ..ChatMessage::assistant("So.")
        };
        let result = ChatMessage { tool_call_id: Some("toolu_1".to_owned()), ..ChatMessage::tool("42") };
        let expect =
            [ChatMessage::system("Be brief."), ChatMessage::user("Hi"), reply, result, ChatMessage::user("And?")];
        assert_eq!(history, expect);
    }
}
