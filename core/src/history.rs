//! Histories in chat-completions form.

use serde_json::{Map, Value as Json};

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{Arguments, SdkFunctionCall, Value};
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::parse::read_json;

/// Reads a history from JSON text: a chat-completions array of `{"role", "content", "tool_calls"?,
/// "reasoning_content"?}`.
///
/// `content` is text, a list of `{"type": "text"}` parts, or null; a call's `arguments` are an object, or JSON text of
/// one, whose whole numbers stay exact at any size.
///
/// # Errors
/// [`ErrorKind::Serialization`] naming the place.
///
/// ```
/// let history = causerie::messages_from_json(r#"[{"role": "user", "content": "What time is it?"}]"#)?;
/// assert_eq!(history, [causerie::ChatMessage::user("What time is it?")]);
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub fn messages_from_json(text: &str) -> Result<Vec<ChatMessage>> {
    let json: Json = serde_json::from_str(text)
        .map_err(|err| SdkError::new(ErrorKind::Serialization, "messages are no valid JSON").caused_by(err))?;
    let entries = json.as_array().ok_or_else(|| wrong("messages", "expected an array"))?;
    entries.iter().enumerate().map(|(i, entry)| read_message(entry, &format!("messages[{i}]"))).collect()
}

fn read_message(entry: &Json, place: &str) -> Result<ChatMessage> {
    let entry = entry.as_object().ok_or_else(|| wrong(place, "expected an object"))?;
    let role = match entry.get("role").and_then(Json::as_str) {
        Some("system") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        _ => return Err(wrong(place, "role is none of system, user, assistant, tool")),
    };
    let mut message = ChatMessage::new(role, "");
    message.content = read_content(entry.get("content").unwrap_or(&Json::Null), &format!("{place}.content"))?;
    message.reasoning_content = match entry.get("reasoning_content") {
        None | Some(Json::Null) => None,
        Some(Json::String(reasoning)) => Some(reasoning.clone()),
        Some(_) => return Err(wrong(place, "reasoning_content is no text")),
    };
    message.function_calls = read_calls(entry, place)?;
    Ok(message)
}

fn read_content(content: &Json, place: &str) -> Result<Vec<ChatMessageContent>> {
    let text = |text: &str| ChatMessageContent::Text(text.to_owned());
    match content {
        Json::Null => Ok(Vec::new()),
        Json::String(content) => Ok(vec![text(content)]),
        Json::Array(parts) => {
            let read = |part: &Json| match (part.get("type").and_then(Json::as_str), part.get("text")) {
                (Some("text"), Some(Json::String(content))) => Ok(text(content)),
                _ => Err(wrong(place, "expected parts of type text")),
            };
            parts.iter().map(read).collect()
        }
        _ => Err(wrong(place, "expected text, a list of parts, or null")),
    }
}

fn read_calls(entry: &Map<String, Json>, place: &str) -> Result<Option<Vec<SdkFunctionCall>>> {
    let calls = match entry.get("tool_calls") {
        None | Some(Json::Null) => return Ok(None),
        Some(calls) => calls.as_array().ok_or_else(|| wrong(place, "tool_calls is no array"))?,
    };
    let read = |(i, call): (usize, &Json)| read_call(call, i, &format!("{place}.tool_calls[{i}]"));
    let calls: Vec<SdkFunctionCall> = calls.iter().enumerate().map(read).collect::<Result<_>>()?;
    Ok((!calls.is_empty()).then_some(calls))
}

fn read_call(call: &Json, i: usize, place: &str) -> Result<SdkFunctionCall> {
    let function = call.get("function").ok_or_else(|| wrong(place, "expected a function"))?;
    let name = function.get("name").and_then(Json::as_str).ok_or_else(|| wrong(place, "expected a name"))?;
    let arguments = match function.get("arguments") {
        None | Some(Json::Null) => Arguments::new(),
        Some(Json::String(text)) if text.trim().is_empty() => Arguments::new(),
        Some(Json::String(text)) => match read_json(text) {
            Some(Value::Object(arguments)) => arguments,
            _ => return Err(wrong(place, "arguments are no JSON text of an object")),
        },
        Some(Json::Object(entries)) => {
            entries.iter().map(|(key, value)| (key.clone(), Value::from(value.clone()))).collect()
        }
        Some(_) => return Err(wrong(place, "arguments are no object")),
    };
    let id = call.get("id").and_then(Json::as_str);
    let call_id = id.map_or_else(|| format!("call_{i}"), str::to_owned);
    Ok(SdkFunctionCall { name: name.to_owned(), arguments, call_id, ..Default::default() })
}

fn wrong(place: &str, rule: &str) -> SdkError {
    SdkError::new(ErrorKind::Serialization, format!("{place}: {rule}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_exact_in_both_spellings() {
        let text = r#"[{"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "function": {"name": "f", "arguments": "{\"n\": 123456789012345678901234567890}"}},
            {"function": {"name": "g", "arguments": {"x": 1.0}}}]}]"#;
        let message = messages_from_json(text).unwrap().remove(0);
        let calls = message.function_calls.unwrap();
        assert_eq!(calls[0].arguments["n"].to_string(), "123456789012345678901234567890");
        assert_eq!(calls[1].arguments["x"], Value::Number(1.0));
        assert_eq!([calls[0].call_id.as_str(), calls[1].call_id.as_str()], ["a", "call_1"]);
    }

    #[test]
    fn what_is_no_history_is_refused_by_place() {
        for (text, expect) in [
            ("{}", "messages: expected an array"),
            (r#"[{"role": "clown"}]"#, "messages[0]: role is none of system, user, assistant, tool"),
            (r#"[{"role": "user", "content": 3}]"#, "messages[0].content: expected text, a list of parts, or null"),
            (
                r#"[{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[]"}}]}]"#,
                "messages[0].tool_calls[0]: arguments are no JSON text of an object",
            ),
        ] {
            let err = messages_from_json(text).unwrap_err();
            assert_eq!((err.kind(), err.message()), (ErrorKind::Serialization, expect));
        }
    }
}
