//! Parts of messages, as the dialects that do not write them as chat completions have them in common.

use causerie::{Arguments, ChatMessage, ChatMessageContent, Role, SdkFunctionCall, Value, read_json};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::serve::error::HttpError;
use crate::serve::request::fields::{RequestFields, read_value};
use crate::serve::request::reader::must_be;
use crate::serve::request::unknown;

/// The `type` of a part, a block, an item or a tool.
pub(in crate::serve) fn kind_of<'a>(place: &str, value: &'a Json) -> Result<&'a str, HttpError> {
    let wrong = |place: &str, rule: &str| HttpError::value(place, format!("{place} {rule}"));
    if !value.is_object() {
        return Err(wrong(place, &must_be("an object", value)));
    }
    let place = format!("{place}.type");
    match value.get("type") {
        None | Some(Json::Null) => Err(wrong(&place, "is required")),
        Some(kind) => kind.as_str().ok_or_else(|| wrong(&place, &must_be("a string", kind))),
    }
}

/// The parts of a content: a string stands for one part of text.
pub(in crate::serve) fn parts_of(place: &str, content: Option<Json>) -> Result<Vec<Json>, HttpError> {
    match content.unwrap_or_default() {
        Json::String(text) => Ok(vec![json!({ "type": "text", "text": text })]),
        Json::Array(parts) => Ok(parts),
        content => {
            let rule = must_be("a string or an array of parts", &content);
            Err(HttpError::value(place, format!("{place} {rule}")))
        }
    }
}

/// Reads each part of a content, with its place. `read` returns `None` for a part that is passed over.
pub(in crate::serve) fn read_parts<T>(
    place: &str,
    content: Option<Json>,
    read: impl Fn(&str, Json) -> Result<Option<T>, HttpError>,
) -> Result<Vec<T>, HttpError> {
    let parts = parts_of(place, content)?.into_iter().enumerate();
    parts.filter_map(|(i, part)| read(&format!("{place}[{i}]"), part).transpose()).collect()
}

#[derive(Debug, Deserialize)]
struct TextPart {
    text: String,
}

#[derive(Debug, Deserialize)]
struct RefusalPart {
    refusal: String,
}

/// The text of a part of type text, or of an unknown type.
pub(in crate::serve) fn read_text(
    place: &str,
    part: Json,
    fields: &RequestFields,
) -> Result<Option<ChatMessageContent>, HttpError> {
    let text = match kind_of(place, &part)? {
        "text" | "input_text" | "output_text" => Some(read_value::<TextPart>(place, part)?.text),
        "refusal" => Some(read_value::<RefusalPart>(place, part)?.refusal),
        _ => unknown::read_part(place, &part, fields)?,
    };
    Ok(text.map(ChatMessageContent::Text))
}

/// The image of a data URL. Nothing is fetched: a request contains what it shows.
pub(in crate::serve) fn read_image_url(place: &str, url: &str) -> Result<ChatMessageContent, HttpError> {
    if let Some((scheme, _)) = url.split_once(':').filter(|(scheme, _)| !scheme.eq_ignore_ascii_case("data")) {
        let scheme: String = scheme.chars().take(16).collect();
        let rule = format!("must be a data URL: this server fetches no such address, found {scheme:?}");
        return Err(HttpError::unsupported(place, format!("{place} {rule}")));
    }
    let image = ChatMessageContent::image_from_data_url(url);
    image.map_err(|err| HttpError::value(place, format!("{place} {}", err.message())))
}

/// The sound of a part `input_audio`, of which the bytes say the format, or of a part `audio_url`; or of the `source` of a block.
pub(in crate::serve) fn read_sound(place: &str, kind: &str, part: &Json) -> Result<ChatMessageContent, HttpError> {
    let member = if kind == "audio_url" { "url" } else { "data" };
    let (place, inner) = (format!("{place}.{kind}.{member}"), &part[kind]);
    // Some clients send the address without an object around it.
    let data = if inner.is_string() { inner.as_str() } else { inner[member].as_str() };
    let data = data.ok_or_else(|| HttpError::value(&place, format!("{place} must be a string")))?;
    let is_data_url = data.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    if kind == "audio_url" && !is_data_url {
        let rule = "must be a data URL: this server fetches no sound";
        return Err(HttpError::unsupported(&place, format!("{place} {rule}")));
    }
    let sound = ChatMessageContent::audio_from_base64(data);
    sound.map_err(|err| HttpError::value(&place, format!("{place} {}", err.message())))
}

/// The error for an image in a part of another dialect.
pub(in crate::serve) fn foreign_image(place: &str, expected: &str, kind: &str) -> HttpError {
    HttpError::unsupported(place, format!("{place}.type must be {expected:?} for an image, found {kind:?}"))
}

pub(in crate::serve) fn message(role: Role, content: Vec<ChatMessageContent>) -> ChatMessage {
    ChatMessage { content, ..ChatMessage::new(role, "") }
}

pub(in crate::serve) fn tool_result(call_id: String, content: Vec<ChatMessageContent>) -> ChatMessage {
    ChatMessage { tool_call_id: Some(call_id), ..message(Role::Tool, content) }
}

/// Adds instructions. Models know one system message, at the beginning: instructions right after it extend it.
pub(in crate::serve) fn add_instructions(history: &mut Vec<ChatMessage>, parts: Vec<ChatMessageContent>) {
    match &mut history[..] {
        [system] if system.role == Role::System => {
            system.content.push(ChatMessageContent::Text("\n\n".to_owned()));
            system.content.extend(parts);
        }
        _ => history.push(message(Role::System, parts)),
    }
}

/// The beginning of a line that a client puts before its system prompt. It differs in each request, so that no prompt would
/// begin as an earlier one, and it says nothing to the model.
const CLIENT_LINE: &str = "x-anthropic-billing-header:";

/// Removes lines that a client writes for its own server from the system messages.
pub(in crate::serve) fn leave_out_client_lines(history: &mut Vec<ChatMessage>) {
    let starts =
        |part: &ChatMessageContent| matches!(part, ChatMessageContent::Text(text) if text.starts_with(CLIENT_LINE));
    for system in history.iter_mut().filter(|message| message.role == Role::System) {
        while let Some(at) = system.content.iter().position(starts) {
            let ChatMessageContent::Text(text) = &mut system.content[at] else { break };
            text.drain(..text.find('\n').map_or(text.len(), |end| end + 1));
            if text.is_empty() {
                system.content.remove(at);
            }
        }
    }
    history.retain(|message| message.role != Role::System || !message.content.is_empty());
}

pub(in crate::serve) fn function_call(call_id: String, name: String, arguments: Arguments) -> SdkFunctionCall {
    SdkFunctionCall { name, arguments, call_id, ..Default::default() }
}

/// The arguments of a call in a history: an object, JSON text as a model wrote it, or nothing. An empty array is nothing, too:
/// PHP writes an empty object so.
pub(in crate::serve) fn read_arguments(place: &str, given: Json) -> Result<Arguments, HttpError> {
    match given {
        Json::Null => Ok(Arguments::new()),
        Json::Array(items) if items.is_empty() => Ok(Arguments::new()),
        Json::Object(entries) => Ok(entries.into_iter().map(|(name, value)| (name, Value::from(value))).collect()),
        Json::String(text) => Ok(arguments_of(&text)),
        other => Err(HttpError::value(place, format!("{place} {}", must_be("an object, or JSON text of one", &other)))),
    }
}

/// The arguments of a call from JSON text. Clients send back what a model wrote: text that is not an object becomes the
/// one argument, so that the conversation can continue.
pub(in crate::serve) fn arguments_of(text: &str) -> Arguments {
    match read_json(text) {
        Some(Value::Object(arguments)) => arguments,
        Some(Value::Null) => Arguments::new(),
        Some(Value::Array(items)) if items.is_empty() => Arguments::new(),
        _ if text.trim().is_empty() => Arguments::new(),
        _ => Arguments::from_iter([("arguments".to_owned(), Value::from(text.to_owned()))]),
    }
}
