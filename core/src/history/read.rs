//! Messages from JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{
    Arguments, Diagnostic, DiagnosticCode, RejectedCall, RejectionReason, Repair, SdkFunctionCall, Value,
};
use crate::history::FIELDS;
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::parse::read_json;
use crate::schema::read_functions;

/// Reads a history from JSON text: a chat-completions array, as [`messages_to_json`](crate::messages_to_json) and others
/// write it.
///
/// `content` is text, null, or a list of parts: `text`, `image_url` with a `data:` URL, `input_audio` of format `wav`.
/// A call's `arguments` are an object, or JSON text of one; whole numbers stay exact at any size. The system message may carry functions as `tools`. Fields that are not known are
/// kept in [`extra`](crate::ChatMessage::extra).
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
    let messages = entries.iter().enumerate().map(|(i, entry)| read_message(entry, &format!("messages[{i}]")));
    let mut messages = messages.collect::<Result<Vec<_>>>()?;
    // serde_json rounds what exceeds 64 bits; where numbers can be so long, the text is read again.
    if has_long_number(text)
        && let Some(Value::Array(exact)) = read_json(text)
    {
        messages.iter_mut().zip(&exact).for_each(|(message, exact)| take_exact(message, exact));
    }
    Ok(messages)
}

/// Whether a number may exceed 64 bits.
fn has_long_number(text: &str) -> bool {
    const LONGEST: usize = 18; // decimal digits that always fit
    let digits = |stretch: &[u8]| stretch[0].is_ascii_digit() && LONGEST < stretch.len();
    text.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()).any(digits)
}

/// Takes values as they were written into a message that was read from the same JSON.
fn take_exact(message: &mut ChatMessage, exact: &Value) {
    for (key, value) in &mut message.extra {
        if let Some(exact) = exact.get(key) {
            value.clone_from(exact);
        }
    }
    let Some(Value::Array(exact)) = exact.get("tool_calls") else { return };
    for (call, exact) in message.function_calls.iter_mut().flatten().zip(exact) {
        let arguments = exact.get("function").and_then(|function| function.get("arguments"));
        if let Some(Value::Object(arguments)) = arguments {
            call.arguments.clone_from(arguments);
        }
    }
}

fn read_message(entry: &Json, place: &str) -> Result<ChatMessage> {
    let entry = entry.as_object().ok_or_else(|| wrong(place, "expected an object"))?;
    let role = match entry.get("role").and_then(Json::as_str) {
        // The newer word for it.
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        _ => return Err(wrong(place, "role is none of system, developer, user, assistant, tool")),
    };
    let mut message = ChatMessage::new(role, "");
    message.content = read_content(entry.get("content").unwrap_or(&Json::Null), &format!("{place}.content"))?;
    message.name = text(entry, "name", place)?;
    message.tool_call_id = text(entry, "tool_call_id", place)?;
    message.reasoning_content = text(entry, "reasoning_content", place)?;
    message.function_calls = read_list(entry, "tool_calls", place, read_call)?;
    message.rejected_calls = read_list(entry, "rejected_calls", place, read_rejected)?.unwrap_or_default();
    if let Some(tools) = entry.get("tools").filter(|tools| !tools.is_null()) {
        if role != Role::System {
            return Err(wrong(place, "only the system message carries tools"));
        }
        message.functions = read_functions(tools, &format!("{place}.tools"))?;
    }
    message.incomplete = entry.get("incomplete").is_some_and(|flag| flag == true);
    let extra = entry.iter().filter(|(key, _)| !FIELDS.contains(&key.as_str()));
    message.extra = extra.map(|(key, value)| (key.clone(), Value::from(value.clone()))).collect();
    Ok(message)
}

fn text(entry: &Map<String, Json>, key: &str, place: &str) -> Result<Option<String>> {
    match entry.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(place, &format!("{key} is no text"))),
    }
}

fn read_content(content: &Json, place: &str) -> Result<Vec<ChatMessageContent>> {
    match content {
        Json::Null => Ok(Vec::new()),
        Json::String(content) => Ok(vec![ChatMessageContent::Text(content.clone())]),
        Json::Array(parts) => {
            parts.iter().enumerate().map(|(i, part)| read_part(part, &format!("{place}[{i}]"))).collect()
        }
        _ => Err(wrong(place, "expected text, a list of parts, or null")),
    }
}

fn read_part(part: &Json, place: &str) -> Result<ChatMessageContent> {
    let field = |path: &str| part.pointer(path).and_then(Json::as_str);
    match field("/type") {
        Some("text") => {
            let text = field("/text").ok_or_else(|| wrong(place, "expected a text"))?;
            Ok(ChatMessageContent::Text(text.to_owned()))
        }
        Some("image_url") => {
            let url = field("/image_url/url").ok_or_else(|| wrong(place, "expected image_url.url"))?;
            // Nothing is fetched: a message holds what it shows.
            let data = url.strip_prefix("data:image/").and_then(|url| url.split_once(";base64,"));
            let (_, data) = data.ok_or_else(|| wrong(place, "expected a data URL of an image in base64"))?;
            Ok(ChatMessageContent::Image(decode(data, place)?))
        }
        Some("input_audio") => {
            let data = field("/input_audio/data").ok_or_else(|| wrong(place, "expected input_audio.data"))?;
            if field("/input_audio/format") != Some("wav") {
                return Err(wrong(place, "expected audio of format wav"));
            }
            Ok(ChatMessageContent::Audio(decode(data, place)?))
        }
        _ => Err(wrong(place, "expected a part of type text, image_url or input_audio")),
    }
}

fn decode(data: &str, place: &str) -> Result<Vec<u8>> {
    STANDARD.decode(data).map_err(|err| wrong(place, "its data is no base64").caused_by(err))
}

/// The items of a list; `None` where there is none, or no item in it.
fn read_list<T>(
    entry: &Map<String, Json>,
    key: &str,
    place: &str,
    read: impl Fn(&Json, usize, &str) -> Result<T>,
) -> Result<Option<Vec<T>>> {
    let items = match entry.get(key) {
        None | Some(Json::Null) => return Ok(None),
        Some(items) => items.as_array().ok_or_else(|| wrong(place, &format!("{key} is no array")))?,
    };
    let read = |(i, item): (usize, &Json)| read(item, i, &format!("{place}.{key}[{i}]"));
    let items: Vec<T> = items.iter().enumerate().map(read).collect::<Result<_>>()?;
    Ok((!items.is_empty()).then_some(items))
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
    let repairs = call.get("repairs").and_then(Json::as_array).into_iter().flatten();
    let repairs = repairs.filter_map(|code| Repair::ALL.into_iter().find(|repair| code == repair.code()));
    let text = |key: &str| call.get(key).and_then(Json::as_str);
    Ok(SdkFunctionCall {
        name: name.to_owned(),
        arguments,
        call_id: text("id").map_or_else(|| format!("call_{i}"), str::to_owned),
        raw_text: text("raw_text").unwrap_or_default().to_owned(),
        repairs: repairs.collect(),
        diagnostics: call
            .get("diagnostics")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(diagnostic)
            .collect(),
    })
}

fn diagnostic(diagnostic: &Json) -> Option<Diagnostic> {
    let text = |key: &str| diagnostic.get(key).and_then(Json::as_str);
    let code = DiagnosticCode::ALL.into_iter().find(|code| text("code") == Some(code.code()))?;
    let (path, message) = (text("path").unwrap_or_default(), text("message").unwrap_or_default());
    Some(Diagnostic { code, path: path.to_owned(), message: message.to_owned() })
}

fn read_rejected(rejected: &Json, _: usize, place: &str) -> Result<RejectedCall> {
    let text = |key: &str| rejected.get(key).and_then(Json::as_str);
    let reason = RejectionReason::ALL.into_iter().find(|reason| text("reason") == Some(reason.code()));
    let candidate = rejected.get("candidate").filter(|candidate| !candidate.is_null());
    let byte_offset = rejected.get("byte_offset").and_then(Json::as_u64).unwrap_or_default();
    Ok(RejectedCall {
        reason: reason.ok_or_else(|| wrong(place, "expected a known reason"))?,
        name: text("name").map(str::to_owned),
        raw_text: text("raw_text").unwrap_or_default().to_owned(),
        byte_offset: usize::try_from(byte_offset).unwrap_or(usize::MAX),
        candidate: candidate.map(|call| read_call(call, 0, &format!("{place}.candidate"))).transpose()?,
        message: text("message").unwrap_or_default().to_owned(),
    })
}

fn wrong(place: &str, rule: &str) -> SdkError {
    SdkError::new(ErrorKind::Serialization, format!("{place}: {rule}"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::history) fn value(json: &str) -> Value {
        read_json(json).unwrap()
    }

    #[test]
    fn arguments_are_exact_in_both_spellings() {
        let text = r#"[{"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "function": {"name": "f", "arguments": "{\"n\": 123456789012345678901234567890}"}},
            {"function": {"name": "g", "arguments": {"x": 1.0, "n": [-99999999999999999999]}}}],
            "id": 123456789012345678901}]"#;
        let message = messages_from_json(text).unwrap().remove(0);
        let calls = message.function_calls.unwrap();
        assert_eq!(calls[0].arguments["n"].to_string(), "123456789012345678901234567890");
        assert_eq!(calls[1].arguments["x"], Value::Number(1.0));
        assert_eq!(calls[1].arguments["n"].to_string(), "[-99999999999999999999]");
        assert_eq!(message.extra["id"].to_string(), "123456789012345678901");
        assert_eq!([calls[0].call_id.as_str(), calls[1].call_id.as_str()], ["a", "call_1"]);
    }

    #[test]
    fn what_is_no_history_is_refused_by_place() {
        for (text, expect) in [
            ("{}", "messages: expected an array"),
            (r#"[{"role": "clown"}]"#, "messages[0]: role is none of system, developer, user, assistant, tool"),
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
