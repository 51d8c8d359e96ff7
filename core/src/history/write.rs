//! Writes messages as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::function::{Arguments, Diagnostic, RejectedCall, SdkFunctionCall, Value};
use crate::history::fields::FIELDS;
use crate::message::{ChatMessage, ChatMessageContent};
use crate::schema::tool_schema;

/// Writes a history as JSON text: an array of chat-completions messages. [`messages_from_json`](crate::messages_from_json)
/// reads the same history back.
///
/// The functions that the system message carries are its field `tools`. If a parameter's description overrides that of its
/// type, as it does in every prompt, only the parameter's is written.
///
/// ```
/// let text = causerie::messages_to_json(&[causerie::ChatMessage::user("Hi")]);
/// assert_eq!(text, r#"[{"role": "user", "content": "Hi"}]"#);
/// ```
pub fn messages_to_json(messages: &[ChatMessage]) -> String {
    Value::Array(messages.iter().map(message).collect()).to_string()
}

fn message(message: &ChatMessage) -> Value {
    let mut fields = WrittenObject::default();
    fields.set("role", message.role.as_str());
    fields.set("content", content(&message.content));
    fields.set_some("name", message.name.as_deref());
    fields.set_some("tool_call_id", message.tool_call_id.as_deref());
    fields.set_some("reasoning_content", message.reasoning_content.as_deref());
    fields.set_some("tool_calls", message.function_calls.as_ref().map(|calls| array(calls, call)));
    fields.set_some("rejected_calls", list(&message.rejected_calls, rejected));
    fields.set_some("tools", list(&message.functions, tool_schema));
    fields.set_some("incomplete", message.incomplete.then_some(true));
    let extra = message.extra.iter().filter(|(key, _)| !FIELDS.contains(&key.as_str()));
    fields.0.extend(extra.map(|(key, value)| (key.clone(), value.clone())));
    Value::Object(fields.0)
}

fn content(parts: &[ChatMessageContent]) -> Value {
    match parts {
        [] => Value::Null,
        [ChatMessageContent::Text(text)] => Value::from(text.as_str()),
        parts => array(parts, part),
    }
}

fn part(part: &ChatMessageContent) -> Value {
    let mut fields = WrittenObject::default();
    match part {
        ChatMessageContent::Text(text) => {
            fields.set("type", "text");
            fields.set("text", text.as_str());
        }
        ChatMessageContent::Image(bytes) if bytes.is_empty() => fields.set("type", "image"),
        ChatMessageContent::Image(bytes) => {
            let kind = match bytes.as_slice() {
                [0x89, b'P', b'N', b'G', ..] => "png",
                [b'G', b'I', b'F', ..] => "gif",
                [b'R', b'I', b'F', b'F', ..] => "webp",
                _ => "jpeg",
            };
            let mut url = WrittenObject::default();
            url.set("url", format!("data:image/{kind};base64,{}", STANDARD.encode(bytes)));
            fields.set("type", "image_url");
            fields.set("image_url", Value::Object(url.0));
        }
        ChatMessageContent::Audio(bytes) => {
            let mut audio = WrittenObject::default();
            audio.set("data", STANDARD.encode(bytes));
            audio.set("format", format_of_sound(bytes));
            fields.set("type", "input_audio");
            fields.set("input_audio", Value::Object(audio.0));
        }
    }
    Value::Object(fields.0)
}

/// The name of a file's format.
fn format_of_sound(file: &[u8]) -> &'static str {
    match file {
        [b'f', b'L', b'a', b'C', ..] => "flac",
        [b'O', b'g', b'g', b'S', ..] => "ogg",
        [b'I', b'D', b'3', ..] | [0xFF, 0xE0..=0xFF, ..] => "mp3",
        _ => "wav",
    }
}

fn call(call: &SdkFunctionCall) -> Value {
    let mut function = WrittenObject::default();
    function.set("name", call.name.as_str());
    function.set("arguments", Value::Object(call.arguments.clone()).to_string());
    let mut fields = WrittenObject::default();
    fields.set("id", call.call_id.as_str());
    fields.set("type", "function");
    fields.set("function", Value::Object(function.0));
    fields.set_some("raw_text", Some(call.raw_text.as_str()).filter(|text| !text.is_empty()));
    fields.set_some("repairs", list(&call.repairs, |repair| Value::from(repair.code())));
    fields.set_some("diagnostics", list(&call.diagnostics, diagnostic));
    Value::Object(fields.0)
}

fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let mut fields = WrittenObject::default();
    fields.set("code", diagnostic.code.code());
    fields.set("path", diagnostic.path.as_str());
    fields.set("message", diagnostic.message.as_str());
    Value::Object(fields.0)
}

fn rejected(rejected: &RejectedCall) -> Value {
    let mut fields = WrittenObject::default();
    fields.set("reason", rejected.reason.code());
    fields.set_some("name", rejected.name.as_deref());
    fields.set("raw_text", rejected.raw_text.as_str());
    fields.set("byte_offset", i64::try_from(rejected.byte_offset).unwrap_or(i64::MAX));
    fields.set_some("candidate", rejected.candidate.as_ref().map(call));
    fields.set("message", rejected.message.as_str());
    Value::Object(fields.0)
}

fn array<T>(items: &[T], write: impl Fn(&T) -> Value) -> Value {
    Value::Array(items.iter().map(write).collect())
}

/// An array; `None` if there are no items.
fn list<T>(items: &[T], write: impl Fn(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| array(items, write))
}

/// The fields of an object, in order.
#[derive(Default)]
struct WrittenObject(Arguments);

impl WrittenObject {
    fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    fn set_some(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }
}
