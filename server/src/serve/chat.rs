//! `POST /v1/chat/completions`: messages and functions become a conversation, which replies.

use std::sync::Arc;

use causerie::{Arguments, ChatMessage, ChatMessageContent, Role, messages_from_json};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::serve::answer::{Answer, ChoiceForm, ChoiceWriter, SoundDelivery, Usage};
use crate::serve::error::HttpError;
use crate::serve::id;
use crate::serve::request::content::{arguments_of, foreign_image, kind_of, read_image_url, read_sound};
use crate::serve::request::fields::RequestFields;
use crate::serve::request::format::ResponseFormat;
use crate::serve::request::modalities::{ReplyAudio, ReplyModality, read_modalities};
use crate::serve::request::sampling::{
    ChoiceFields, ClientFields, MAX_LOGPROBS, ReasoningEffort, SamplingFields, TemplateVariables, Truncation,
    ignore_verbosity,
};
use crate::serve::request::tool_choice::ToolChoiceForm;
use crate::serve::request::tools::{ChatToolChoice, FunctionTools, read_tools};
use crate::serve::request::types::{Integer, WithoutEffect};
use crate::serve::request::unknown::{self, role_of};
use crate::serve::request::{ChatRequest, Thinking, schema};
use crate::serve::response_store::ResponseStore;
use crate::serve::service::Service;
use crate::serve::spoken_replies::SpokenReplies;

/// The fields of chat completions alone.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ChatFields {
    #[schemars(with = "schema::ChatMessagesSchema")]
    messages: Vec<Json>,
    #[schemars(with = "Option<schema::ChatToolsSchema>")]
    tools: Option<Vec<Json>>,
    #[schemars(with = "Option<schema::ChatChoiceSchema>")]
    tool_choice: Option<ChatToolChoice>,
    #[schemars(extend("default" = true))]
    parallel_tool_calls: Option<bool>,
    /// With any but none and minimal, a model that can reason is asked to.
    reasoning_effort: Option<ReasoningEffort>,
    #[schemars(with = "Option<WithoutEffect>")]
    verbosity: Option<Json>,
    /// auto leaves out the oldest turns if not all fit.
    truncation: Option<Truncation>,
    #[schemars(extend("default" = false))]
    logprobs: Option<bool>,
    top_logprobs: Option<Integer<0, MAX_LOGPROBS>>,
    response_format: Option<ResponseFormat>,
    chat_template_kwargs: Option<TemplateVariables>,
    /// With audio, the reply has sound, if the model speaks.
    modalities: Option<Vec<ReplyModality>>,
    audio: Option<ReplyAudio>,
}

/// Reads a request and prepares its answer. Everything is checked before anything is generated.
pub(super) fn read(
    service: &Arc<Service>,
    mut fields: RequestFields,
    store: ResponseStore,
) -> Result<Answer, HttpError> {
    let store = SpokenReplies::new(&service.stored_speech, store.caller());
    let request = read_request(&mut fields, &store)?;
    let is_stream = request.delivery.is_stream;
    let sound = request.sound.map(|format| SoundDelivery { format, is_stream, store });
    let mut chat = request.prepare(service, fields)?;
    let form = ChoiceForm::Chat { has_functions: chat.has_functions };
    let has_logprobs = chat.options.logprobs.is_some();
    let usage_so_far = chat.delivery.continuous_usage.then(|| chat.count_prompt().map(Usage::of_prompt)).transpose()?;
    if usage_so_far.is_some() {
        chat.options.logprobs.get_or_insert(0); // the events that count tokens
    }
    let include_usage = chat.delivery.include_usage;
    let writer = ChoiceWriter::new(form, &service.model_id, include_usage, usage_so_far, has_logprobs);
    let writer = writer.with_sound(sound);
    Ok(Answer::to_chat(service, chat, writer))
}

fn read_request(fields: &mut RequestFields, store: &SpokenReplies) -> Result<ChatRequest, HttpError> {
    ToolChoiceForm::Chat.translate(fields);
    let (sampling, choices): (SamplingFields, ChoiceFields) = (fields.read()?, fields.read()?);
    let chat: ChatFields = fields.read()?;
    let _: ClientFields = fields.read()?;
    ignore_verbosity(fields, "verbosity", chat.verbosity);
    let (model, is_stream, mut options) = sampling.into_parts();
    let delivery = choices.apply(&mut options, is_stream);
    let tools = FunctionTools {
        functions: read_tools(fields, "tools", chat.tools)?,
        choice: chat.tool_choice.unwrap_or_default().0,
        parallel: chat.parallel_tool_calls,
    };
    let functions = tools.apply(&mut options)?;
    options.logprobs = read_logprobs(chat.logprobs, chat.top_logprobs)?;
    options.context_policy = chat.truncation.unwrap_or_default().policy();
    if let Some(format) = chat.response_format {
        options.json_schema_constraint = format.into_schema("response_format", fields)?;
    }
    let enabled = chat.chat_template_kwargs.unwrap_or_default().enable_thinking()?;
    let thinking = Thinking { enabled, effort: chat.reasoning_effort };
    let sound = read_modalities(chat.modalities, chat.audio, is_stream, fields)?;
    let image_places = fields.images.places("messages");
    let history = read_messages(chat.messages, fields, store)?;
    Ok(ChatRequest { model, history, image_places, functions, options, sound, thinking, delivery })
}

fn read_messages(
    messages: Vec<Json>,
    fields: &RequestFields,
    store: &SpokenReplies,
) -> Result<Vec<ChatMessage>, HttpError> {
    let (mut read, mut spoken) = (Vec::new(), Vec::new());
    for (i, mut message) in messages.into_iter().enumerate() {
        let place = format!("messages[{i}]");
        let content = take_spoken(&place, &mut message, fields, store)?;
        if repair(&place, &mut message, fields)? || content.is_some() {
            spoken.extend(content.map(|content| (read.len(), content)));
            read.push(message);
        }
    }
    let mut history = messages_from_json(&Json::Array(read).to_string())
        .map_err(|err| HttpError::value("messages", err.message()))?;
    if history.iter().any(|message| !message.functions.is_empty()) {
        return Err(HttpError::value("messages", "messages must hold no functions: tools offers them"));
    }
    // The engine keeps unknown fields for those who write a history again. This history is read and forgotten.
    history.iter_mut().for_each(|message| message.extra = Arguments::new());
    for (i, content) in spoken {
        // Each message of the array is one of the history.
        history.get_mut(i).into_iter().for_each(|message| message.content.clone_from(&content));
    }
    Ok(history)
}

/// The words and the sound of a reply that a message of the assistant names by `audio`. If they are not kept any more, the text of
/// the message stands for them.
fn take_spoken(
    place: &str,
    message: &mut Json,
    fields: &RequestFields,
    store: &SpokenReplies,
) -> Result<Option<Vec<ChatMessageContent>>, HttpError> {
    let of_assistant = Some(&mut *message).filter(|message| message["role"] == "assistant");
    let audio = of_assistant.and_then(|message| message.get_mut("audio")).map(Json::take);
    let Some(audio) = audio.filter(|audio| !audio.is_null()) else { return Ok(None) };
    let (place, has_text) = (format!("{place}.audio"), !matches!(&message["content"], Json::Null));
    let id = audio["id"].as_str();
    if let Some(content) = id.and_then(|id| store.find(id, id::now())) {
        message["content"] = json!("");
        return Ok(Some(content));
    }
    match (id, has_text) {
        (None, _) => Err(HttpError::value(&place, format!("{place}.id must be a string"))),
        (Some(_), true) => {
            fields.ignore(place);
            Ok(None)
        }
        (Some(_), false) => {
            let rule =
                "must be that of a recent reply of this server: send its transcript as the content of the message";
            Err(HttpError::value(&place, format!("{place}.id {rule}")))
        }
    }
}

/// Repairs a message as clients send it back: a refusal becomes text, a custom call becomes that of a function, the arguments
/// of a call become an object, and an unknown role becomes a known one. Refuses parts that are neither text, an image nor sound, and
/// the names that tools have replaced. Returns whether anything is left of the message.
fn repair(place: &str, message: &mut Json, fields: &RequestFields) -> Result<bool, HttpError> {
    if message["role"] == "function" {
        let rule = "must be tool, with the tool_call_id of its call: tools replaces functions";
        return Err(HttpError::unsupported(place, format!("{place}.role {rule}")));
    }
    if message.get("function_call").is_some_and(|call| !call.is_null()) {
        let rule = "must be left out: tool_calls replaces it";
        return Err(HttpError::unsupported(place, format!("{place}.function_call {rule}")));
    }
    if let Some(known) = message["role"].as_str().and_then(known_role) {
        fields.ignore(format!("{place}.role"));
        message["role"] = json!(known);
    }
    repair_calls(message);
    let is_shown = ["user", "tool"].iter().any(|role| message["role"] == *role);
    let Some(parts) = message.get_mut("content").and_then(Json::as_array_mut) else { return Ok(true) };
    let n_given = parts.len();
    let mut read = Vec::new();
    for (i, part) in std::mem::take(parts).into_iter().enumerate() {
        read.extend(repair_part(&format!("{place}.content[{i}]"), part, is_shown, fields)?);
    }
    let is_left = n_given == 0 || !read.is_empty();
    *parts = read;
    Ok(is_left || message["role"] == "tool" || message["tool_calls"].is_array())
}

/// The known role that stands for an unknown one.
fn known_role(role: &str) -> Option<&'static str> {
    match (role, role_of(role)) {
        ("system" | "developer" | "user" | "assistant" | "tool", _) => None,
        (_, Role::System) => Some("system"),
        (_, Role::Assistant) => Some("assistant"),
        _ => Some("user"),
    }
}

/// A part as the engine reads it; `None` if it is passed over.
fn repair_part(place: &str, mut part: Json, is_shown: bool, fields: &RequestFields) -> Result<Option<Json>, HttpError> {
    match kind_of(place, &part)? {
        "text" => {}
        // As on the route of responses.
        "input_text" | "output_text" => part["type"] = json!("text"),
        "refusal" => part = json!({ "type": "text", "text": part["refusal"] }),
        "image_url" if is_shown => check_image(place, &mut part)?,
        kind @ ("input_audio" | "audio_url") if is_shown => {
            let kind = kind.to_owned();
            read_sound(place, &kind, &part)?;
            if part[&kind].is_string() {
                let member = if kind == "audio_url" { "url" } else { "data" };
                part[&kind] = json!({ member: part[&kind] });
            }
        }
        kind @ ("image" | "input_image") if is_shown => return Err(foreign_image(place, "image_url", kind)),
        _ => {
            let text = unknown::read_part(place, &part, fields)?;
            return Ok(text.map(|text| json!({ "type": "text", "text": text })));
        }
    }
    Ok(Some(part))
}

fn repair_calls(message: &mut Json) {
    for call in message.get_mut("tool_calls").and_then(Json::as_array_mut).into_iter().flatten() {
        // A call whose input is not JSON, as on the route of responses.
        if call["type"] == "custom" && call["custom"].is_object() {
            let custom = call["custom"].take();
            call["type"] = json!("function");
            call["function"] = json!({ "name": custom["name"], "arguments": { "input": custom["input"] } });
        }
        let Some(arguments) = call.pointer_mut("/function/arguments") else { continue };
        if let Json::String(text) = arguments {
            *text = causerie::Value::Object(arguments_of(text)).to_string();
        }
    }
}

/// Checks the address of an image, which some clients send without an object around it.
fn check_image(place: &str, part: &mut Json) -> Result<(), HttpError> {
    if part["image_url"].is_string() {
        part["image_url"] = json!({ "url": part["image_url"] });
    }
    let place = format!("{place}.image_url.url");
    let url = part["image_url"]["url"].as_str();
    let url = url.ok_or_else(|| HttpError::value(&place, format!("{place} must be a string")))?;
    read_image_url(&place, url).map(drop)
}

/// Alternatives to report per token; `None` if log-probabilities were not requested.
fn read_logprobs(
    logprobs: Option<bool>,
    top_logprobs: Option<Integer<0, MAX_LOGPROBS>>,
) -> Result<Option<usize>, HttpError> {
    let n_alternatives = top_logprobs.map_or(0, Integer::count);
    match logprobs.unwrap_or(false) {
        true => Ok(Some(n_alternatives)),
        false if n_alternatives == 0 => Ok(None),
        false => Err(HttpError::value("top_logprobs", "top_logprobs must be 0 or left out unless logprobs is true")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use causerie::Value;
    use serde_json::Map;

    fn read(message: Json) -> ChatMessage {
        let store = SpokenReplies::new(&Arc::default(), None);
        read_messages(vec![message], &RequestFields::new(Map::new()), &store).unwrap().remove(0)
    }

    #[test]
    fn what_a_model_wrote_can_be_sent_back() {
        let message = |arguments: &str| {
            let function = json!({ "name": "f", "arguments": arguments });
            let refusal = json!({ "type": "refusal", "refusal": "No." });
            let call = json!({ "id": "a", "type": "function", "function": function });
            read(json!({ "role": "assistant", "content": [refusal], "tool_calls": [call] }))
        };
        assert_eq!(message("").text(), "No.");
        let known = read(json!({ "role": "user", "content": "Hi", "x": [0] }));
        assert!(known.extra.is_empty(), "unknown fields take no memory while the request waits");
        for (arguments, expect) in [
            ("", "{}"),
            ("null", "{}"),
            (r#"{"n": 123456789012345678901}"#, r#"{"n": 123456789012345678901}"#),
            ("{bad", r#"{"arguments": "{bad"}"#),
            ("[]", "{}"),
            ("[1]", r#"{"arguments": "[1]"}"#),
        ] {
            let call = message(arguments).function_calls.unwrap().remove(0);
            assert_eq!(Value::Object(call.arguments).to_string(), expect);
        }
    }
}
