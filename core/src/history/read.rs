//! Reads messages from JSON.

use serde_json::Value as Json;

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{
    Arguments, Diagnostic, DiagnosticCode, RejectedCall, RejectionReason, Repair, SdkFunctionCall, Value,
};
use crate::history::fields::FIELDS;
use crate::json_fields::{JsonFields, must_be};
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::notation::read_json;
use crate::schema::read_functions;

/// Reads a history from JSON text: a chat-completions array, as [`messages_to_json`](crate::messages_to_json) and other
/// programs write it.
///
/// `content` is a string, null, or an array of parts: `text`, `image_url` or `audio_url` with a `data:` URL, or `input_audio`
/// with base64, whose `format` is ignored. A part `image` is a placeholder: an image without data. A call's `arguments` are an object or a string of JSON with
/// one; integers stay exact at any size. The system message may carry functions as `tools`. `reasoning` is another name of
/// `reasoning_content`. Unknown fields are kept in [`extra`](crate::ChatMessage::extra).
///
/// # Errors
/// [`ErrorKind::Serialization`], naming the place; [`ErrorKind::UnsupportedContent`] for a part `image` with further fields.
///
/// ```
/// let history = causerie::messages_from_json(r#"[{"role": "user", "content": "What time is it?"}]"#)?;
/// assert_eq!(history, [causerie::ChatMessage::user("What time is it?")]);
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub fn messages_from_json(text: &str) -> Result<Vec<ChatMessage>> {
    let json: Json = serde_json::from_str(text)
        .map_err(|err| SdkError::new(ErrorKind::Serialization, "messages must be valid JSON").caused_by(err))?;
    let wrong = || SdkError::new(ErrorKind::Serialization, must_be("messages", "an array of messages", &json));
    let entries = json.as_array().ok_or_else(wrong)?;
    let messages = entries.iter().enumerate().map(|(i, entry)| read_message(entry, &format!("messages[{i}]")));
    let mut messages = messages.collect::<Result<Vec<_>>>()?;
    // serde_json rounds integers that exceed 64 bits. If there may be some, the text is read again, exactly.
    if has_long_number(text)
        && let Some(Value::Array(exact)) = read_json(text)
    {
        messages.iter_mut().zip(&exact).for_each(|(message, exact)| take_exact(message, exact));
    }
    Ok(messages)
}

/// Whether a number may exceed 64 bits.
fn has_long_number(text: &str) -> bool {
    const MAX_DIGITS: usize = 18; // decimal digits that always fit
    let digits = |chunk: &[u8]| chunk[0].is_ascii_digit() && MAX_DIGITS < chunk.len();
    text.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()).any(digits)
}

/// Replaces the values of a message by the exact ones from the same JSON.
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
    let entry = fields(entry, place)?;
    let role = entry.value("role", "system, developer, user, assistant or tool", |role| match role.as_str()? {
        "system" | "developer" => Some(Role::System), // "developer" is the newer word
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        "tool" => Some(Role::Tool),
        _ => None,
    });
    let mut message = ChatMessage::new(entry.required("role", role?)?, "");
    message.content = read_content(entry.get("content").unwrap_or(&Json::Null), &entry.place_of("content"))?;
    message.name = string(&entry, "name")?;
    message.tool_call_id = string(&entry, "tool_call_id")?;
    message.reasoning_content = string(&entry, "reasoning_content")?;
    // vLLM and others have the shorter name.
    let other_name = entry.get("reasoning").and_then(Json::as_str).filter(|_| message.reasoning_content.is_none());
    message.reasoning_content = message.reasoning_content.or(other_name.map(str::to_owned));
    message.function_calls = read_list(&entry, "tool_calls", read_call)?;
    message.rejected_calls = read_list(&entry, "rejected_calls", read_rejected)?.unwrap_or_default();
    if let Some(tools) = entry.get("tools") {
        if message.role != Role::System {
            return Err(entry.error("must not have tools, which only the system message may have"));
        }
        message.functions = read_functions(tools, &entry.place_of("tools"))?;
    }
    message.incomplete = entry.get("incomplete").is_some_and(|flag| flag == true);
    let is_known = |key: &str| FIELDS.contains(&key) || key == "reasoning" && other_name.is_some();
    let extra = entry.entries().iter().filter(|(key, _)| !is_known(key));
    message.extra = extra.map(|(key, value)| (key.clone(), Value::from(value.clone()))).collect();
    Ok(message)
}

fn fields<'a>(json: &'a Json, place: &str) -> Result<JsonFields<'a>> {
    JsonFields::new(json, place, ErrorKind::Serialization)
}

fn string(fields: &JsonFields<'_>, key: &str) -> Result<Option<String>> {
    Ok(fields.string(key)?.map(str::to_owned))
}

fn read_content(content: &Json, place: &str) -> Result<Vec<ChatMessageContent>> {
    match content {
        Json::Null => Ok(Vec::new()),
        Json::String(content) => Ok(vec![ChatMessageContent::Text(content.clone())]),
        Json::Array(parts) => {
            parts.iter().enumerate().map(|(i, part)| read_part(part, &format!("{place}[{i}]"))).collect()
        }
        other => {
            let message = must_be(place, "a string, an array of parts, or null", other);
            Err(SdkError::new(ErrorKind::Serialization, message))
        }
    }
}

fn read_part(json: &Json, place: &str) -> Result<ChatMessageContent> {
    let part = fields(json, place)?;
    let inner = |key: &str| part.required(key, part.object(key)?);
    let needed = |fields: &JsonFields<'_>, key: &str| fields.required(key, string(fields, key)?);
    match part.get("type").and_then(Json::as_str) {
        Some("text") => Ok(ChatMessageContent::Text(needed(&part, "text")?)),
        Some("image_url") => {
            let image = inner("image_url")?;
            let url = needed(&image, "url")?;
            // Nothing is fetched: a message contains what it shows.
            let shown = ChatMessageContent::image_from_data_url(&url);
            shown.map_err(|err| wrong(format!("{} {}", image.place_of("url"), err.message())))
        }
        Some("input_audio") => {
            let audio = inner("input_audio")?;
            let heard = ChatMessageContent::audio_from_base64(&needed(&audio, "data")?);
            heard.map_err(|err| wrong(format!("{} {}", audio.place_of("data"), err.message())))
        }
        Some("audio_url") => {
            let audio = inner("audio_url")?;
            let heard = audio_from_url(&needed(&audio, "url")?);
            heard.map_err(|err| wrong(format!("{} {}", audio.place_of("url"), err.message())))
        }
        Some("image") => match json.as_object().and_then(|part| part.keys().find(|key| *key != "type")) {
            None => Ok(ChatMessageContent::Image(Vec::new())),
            Some(key) => {
                let message =
                    format!("{place} must be an image_url with a data URL, found an image with the field {key}");
                Err(SdkError::new(ErrorKind::UnsupportedContent, message))
            }
        },
        _ => {
            let unknown = |_: &Json| None::<ChatMessageContent>;
            part.required("type", part.value("type", "\"text\", \"image_url\" or \"input_audio\"", unknown)?)
        }
    }
}

/// The sound of a data URL. Nothing is fetched: a message contains what it plays.
fn audio_from_url(url: &str) -> Result<ChatMessageContent> {
    match url.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("data:") => ChatMessageContent::audio_from_base64(url),
        _ => Err(wrong("must be a data URL of a sound file in base64, such as data:audio/wav;base64,…".to_owned())),
    }
}

/// The items of an array; `None` if it is absent or empty.
fn read_list<T>(
    entry: &JsonFields<'_>,
    key: &str,
    read: impl Fn(&Json, usize, &str) -> Result<T>,
) -> Result<Option<Vec<T>>> {
    let Some(items) = entry.array(key)? else { return Ok(None) };
    let place = entry.place_of(key);
    let read = |(i, item): (usize, &Json)| read(item, i, &format!("{place}[{i}]"));
    let items: Vec<T> = items.iter().enumerate().map(read).collect::<Result<_>>()?;
    Ok((!items.is_empty()).then_some(items))
}

fn read_call(call: &Json, i: usize, place: &str) -> Result<SdkFunctionCall> {
    let outer = fields(call, place)?;
    let function = outer.required("function", outer.object("function")?)?;
    let name = function.required("name", string(&function, "name")?)?;
    let arguments =
        function.value("arguments", "an object, or a string of JSON with an object", |json| match json {
            Json::String(text) if text.trim().is_empty() => Some(Arguments::new()),
            Json::String(text) => match read_json(text)? {
                Value::Object(arguments) => Some(arguments),
                Value::Null => Some(Arguments::new()),
                Value::Array(items) if items.is_empty() => Some(Arguments::new()),
                _ => None,
            },
            Json::Array(items) if items.is_empty() => Some(Arguments::new()),
            Json::Object(entries) => {
                Some(entries.iter().map(|(key, value)| (key.clone(), Value::from(value.clone()))).collect())
            }
            _ => None,
        })?;
    let repairs = call.get("repairs").and_then(Json::as_array).into_iter().flatten();
    let repairs = repairs.filter_map(|code| Repair::ALL.into_iter().find(|repair| code == repair.code()));
    let diagnostics = call.get("diagnostics").and_then(Json::as_array).into_iter().flatten();
    let text = |key: &str| call.get(key).and_then(Json::as_str);
    Ok(SdkFunctionCall {
        name,
        arguments: arguments.unwrap_or_default(),
        call_id: text("id").map_or_else(|| format!("call_{i}"), str::to_owned),
        raw_text: text("raw_text").unwrap_or_default().to_owned(),
        repairs: repairs.collect(),
        diagnostics: diagnostics.filter_map(diagnostic).collect(),
    })
}

fn diagnostic(diagnostic: &Json) -> Option<Diagnostic> {
    let text = |key: &str| diagnostic.get(key).and_then(Json::as_str);
    let code = DiagnosticCode::ALL.into_iter().find(|code| text("code") == Some(code.code()))?;
    let (path, message) = (text("path").unwrap_or_default(), text("message").unwrap_or_default());
    Some(Diagnostic { code, path: path.to_owned(), message: message.to_owned() })
}

fn read_rejected(rejected: &Json, _: usize, place: &str) -> Result<RejectedCall> {
    let fields = fields(rejected, place)?;
    let reason = fields.value("reason", "a known reason of rejection", |reason| {
        RejectionReason::ALL.into_iter().find(|known| reason == known.code())
    })?;
    let text = |key: &str| rejected.get(key).and_then(Json::as_str);
    let candidate = fields.get("candidate").map(|call| read_call(call, 0, &fields.place_of("candidate")));
    let byte_offset = rejected.get("byte_offset").and_then(Json::as_u64).unwrap_or_default();
    Ok(RejectedCall {
        reason: fields.required("reason", reason)?,
        name: text("name").map(str::to_owned),
        raw_text: text("raw_text").unwrap_or_default().to_owned(),
        byte_offset: usize::try_from(byte_offset).unwrap_or(usize::MAX),
        candidate: candidate.transpose()?,
        message: text("message").unwrap_or_default().to_owned(),
    })
}

fn wrong(message: String) -> SdkError {
    SdkError::new(ErrorKind::Serialization, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_arguments_may_be_written_in_many_ways() {
        for arguments in [r#""""#, r#"" ""#, r#""null""#, r#""[]""#, r#""{}""#, "null", "[]", "{}"] {
            let call = format!(r#"{{"function": {{"name": "f", "arguments": {arguments}}}}}"#);
            let read = messages_from_json(&format!(r#"[{{"role": "assistant", "tool_calls": [{call}]}}]"#)).unwrap();
            assert!(read[0].function_calls.as_ref().unwrap()[0].arguments.is_empty(), "{arguments}");
        }
    }

    #[test]
    fn arguments_are_exact_in_both_forms() {
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
    fn a_wrong_history_is_refused_with_its_place() {
        for (text, expect) in [
            ("{}", "messages must be an array of messages, found an object"),
            (
                r#"[{"role": "clown"}]"#,
                "messages[0].role must be system, developer, user, assistant or tool, found \"clown\"",
            ),
            (
                r#"[{"role": "user", "content": 3}]"#,
                "messages[0].content must be a string, an array of parts, or null, found 3",
            ),
            (
                r#"[{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[1]"}}]}]"#,
                "messages[0].tool_calls[0].function.arguments must be an object, or a string of JSON with an object, found \"[1]\"",
            ),
        ] {
            let err = messages_from_json(text).unwrap_err();
            assert_eq!((err.kind(), err.message()), (ErrorKind::Serialization, expect));
        }
    }
}
