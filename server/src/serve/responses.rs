//! `POST /v1/responses`: OpenAI's newer form of a request, told as one of chat completions. Recent responses are kept, and a
//! request may go on from one; most bring their whole input.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use crate::serve::Service;
use crate::serve::answer::{Answer, ResponseWriter};
use crate::serve::chat;
use crate::serve::demands::translate_tools;
use crate::serve::fault::Fault;
use crate::serve::fields::{Fields, expected};
use crate::serve::recent::{LONGEST, Memory};

/// Fields that mean the same in both forms.
const ALIKE: [&str; 16] = [
    "model",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "top_logprobs",
    "seed",
    "stream",
    "stream_options",
    "parallel_tool_calls",
    "truncation",
    "chat_template_kwargs",
];
/// What fields are called here that chat completions have as well.
pub(super) const NAMES: [(&str, &str); 4] = [
    ("messages", "input"),
    ("max_completion_tokens", "max_output_tokens"),
    ("response_format", "text.format"),
    ("reasoning_effort", "reasoning.effort"),
];
/// What a function's fields are called here, and there.
const FUNCTION: [(&str, &str); 4] =
    [("name", "name"), ("description", "description"), ("parameters", "parameters"), ("strict", "strict")];
/// Fields without effect here.
const WITHOUT_EFFECT: [&str; 6] =
    ["metadata", "user", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"];
/// Fields that would change a reply, and cannot be honoured.
const REFUSED: [&str; 3] = ["conversation", "prompt", "max_tool_calls"];
/// What `include` can ask for. Reasoning comes as it is: there is nothing in it to encrypt.
const INCLUDED: [&str; 2] = ["reasoning.encrypted_content", LOGPROBS];
const LOGPROBS: &str = "message.output_text.logprobs";
/// What a response tells of its request, and what it says where the request says nothing.
fn told_again() -> [(&'static str, Json); 15] {
    [
        ("model", Json::Null),
        ("instructions", Json::Null),
        ("max_output_tokens", Json::Null),
        ("metadata", json!({})),
        ("parallel_tool_calls", json!(true)),
        ("previous_response_id", Json::Null),
        ("reasoning", json!({ "effort": null, "summary": null })),
        ("store", json!(true)),
        ("temperature", Json::Null),
        ("text", json!({ "format": { "type": "text" } })),
        ("tool_choice", json!("auto")),
        ("tools", json!([])),
        ("top_logprobs", json!(0)),
        ("top_p", Json::Null),
        ("truncation", json!("disabled")),
    ]
}

pub(super) fn read(service: &Arc<Service>, mut fields: Fields, caller: Option<String>) -> Result<Answer, Fault> {
    let memory = Memory::new(&service.recent, caller);
    let request = told_again()
        .map(|(name, otherwise)| (name.to_owned(), fields.peek(name).cloned().unwrap_or(otherwise)))
        .into_iter()
        .collect();
    let (told, kept) = translate(&mut fields, &memory)?;
    let chat = chat::read_told(service, told, fields, &NAMES)?;
    let keeping = kept.map(|input| (memory, input));
    let writer = ResponseWriter::new(request, chat.has_functions, chat.options.logprobs.is_some(), keeping);
    Ok(chat.answer(service, writer))
}

/// The fields as chat completions have them, and the items of the whole conversation, if the response is to be kept.
pub(super) fn translate(fields: &mut Fields, memory: &Memory) -> Result<(Fields, Option<String>), Fault> {
    let mut told = Fields::of(Map::new());
    for name in ALIKE {
        told.put(name, fields.take(name));
    }
    for name in WITHOUT_EFFECT {
        fields.take(name);
    }
    for name in REFUSED {
        fields.refuse(name, |value| value.as_u64() == Some(0))?;
    }
    fields.refuse("background", |value| value == false)?;
    let included = fields.peek("include").and_then(Json::as_array);
    // Either of the two asks for them.
    if included.is_some_and(|names| names.contains(&LOGPROBS.into()))
        || told.peek("top_logprobs").is_some_and(|n| n != 0)
    {
        told.put("logprobs", true);
    }
    fields.refuse("include", |value| {
        let is_known = |name: &Json| name.as_str().is_some_and(|name| INCLUDED.contains(&name));
        value.as_array().is_some_and(|names| names.iter().all(is_known))
    })?;
    told.put("max_completion_tokens", fields.take("max_output_tokens"));
    let is_kept = fields.flag("store")?.unwrap_or(true);
    let conversation = read_conversation(fields, memory)?;
    told.put("messages", read_items(&conversation, fields)?);
    told.put("tools", translate_tools(fields, |kind| kind == Some("function"), FUNCTION)?);
    told.put("tool_choice", fields.take("tool_choice").map(read_choice).transpose()?);
    let mut text = fields.object("text")?;
    // How much is written is up to the model. Any other value is told to be ignored.
    text.pass("verbosity", |value| value == "medium");
    told.put("response_format", text.take("format"));
    fields.ignore_rest("text", text);
    let mut reasoning = fields.object("reasoning")?;
    // A summary is what a model's maker shows in place of its reasoning. Here all of it is shown.
    reasoning.take("summary");
    reasoning.take("generate_summary");
    told.put("reasoning_effort", reasoning.take("effort"));
    fields.ignore_rest("reasoning", reasoning);
    let kept = is_kept.then(|| Json::Array(conversation.earlier.into_iter().chain(conversation.input).collect()));
    let kept = kept.map(|items| items.to_string()).filter(|items| items.len() <= LONGEST);
    Ok((told, kept))
}

/// Items of a conversation.
struct Conversation {
    /// Up to the response that the request goes on from.
    earlier: Vec<Json>,
    input: Vec<Json>,
}

fn read_conversation(fields: &mut Fields, memory: &Memory) -> Result<Conversation, Fault> {
    let earlier = match fields.take("previous_response_id") {
        None => Vec::new(),
        Some(Json::String(id)) => memory.conversation(&id)?,
        Some(value) => return Err(expected("previous_response_id", "a text", &value)),
    };
    let mut input = match fields.require("input")? {
        Json::String(text) => vec![json!({ "role": "user", "content": text })],
        Json::Array(items) if items.is_empty() => return Err(Fault::value("input", "expected at least one item")),
        Json::Array(items) => items,
        value => return Err(expected("input", "a text or an array of items", &value)),
    };
    let mut n_searched = 0;
    for (i, item) in input.iter_mut().enumerate().filter(|(_, item)| item["type"] == "item_reference") {
        let place = format!("input[{i}]");
        *item = memory.item(text(&place, item, "id")?, &mut n_searched).ok_or_else(|| {
            let message =
                format!("{place}: no item of this id is found: recent responses are looked through, 16 MiB at most");
            Fault::not_found(message).at("input")
        })?;
    }
    Ok(Conversation { earlier, input })
}

fn read_items(conversation: &Conversation, fields: &mut Fields) -> Result<Json, Fault> {
    let mut told = Vec::new();
    match fields.take("instructions") {
        Some(Json::String(text)) => told.push(json!({ "role": "system", "content": [text_part(&text)] })),
        Some(value) => return Err(expected("instructions", "a text", &value)),
        None => {}
    }
    for item in &conversation.earlier {
        // What is passed over of these was told before.
        read_item("previous_response_id".to_owned(), item, &mut told, &mut Fields::of(Map::new()))?;
    }
    for (i, item) in conversation.input.iter().enumerate() {
        read_item(format!("input[{i}]"), item, &mut told, fields)?;
    }
    Ok(Json::Array(told))
}

fn read_item(place: String, item: &Json, told: &mut Vec<Json>, fields: &mut Fields) -> Result<(), Fault> {
    match (item.get("type").and_then(Json::as_str), item.get("role").and_then(Json::as_str)) {
        (None | Some("message"), Some(role)) => read_message(&place, role, item, told),
        (Some("function_call"), _) => {
            let arguments = text(&place, item, "arguments")?;
            read_call(&place, item, arguments, told)
        }
        // A call whose input is no JSON.
        (Some("custom_tool_call"), _) => {
            let arguments = json!({ "input": text(&place, item, "input")? });
            read_call(&place, item, &arguments.to_string(), told)
        }
        (Some("function_call_output" | "custom_tool_call_output"), _) => {
            let id = text(&place, item, "call_id")?;
            let output = parts(&place, item.get("output").unwrap_or(&Json::Null))?;
            told.push(json!({ "role": "tool", "tool_call_id": id, "content": output }));
            Ok(())
        }
        (Some("reasoning"), _) => {
            let texts = item.get("content").and_then(Json::as_array).into_iter().flatten();
            let thought: String = texts.filter_map(|part| part.get("text")?.as_str()).collect();
            if !thought.is_empty() {
                told.push(json!({ "role": "assistant", "content": [], "reasoning_content": thought }));
            }
            Ok(())
        }
        // What a provider's own tools were asked, and found.
        (Some(kind), _) if kind.ends_with("_call") || kind.ends_with("_output") || kind.starts_with("mcp_") => {
            fields.ignore(place);
            Ok(())
        }
        (Some(kind), _) => {
            Err(Fault::unsupported("input", format!("{place}: this server does not support items of type {kind}")))
        }
        _ => Err(wrong(&place, "expected a message or an item with a type")),
    }
}

fn read_call(place: &str, item: &Json, arguments: &str, told: &mut Vec<Json>) -> Result<(), Fault> {
    let function = json!({ "name": text(place, item, "name")?, "arguments": arguments });
    let call = json!({ "id": text(place, item, "call_id")?, "type": "function", "function": function });
    match reply(told).get_mut("tool_calls").and_then(Json::as_array_mut) {
        Some(calls) => calls.push(call),
        None => reply(told)["tool_calls"] = json!([call]),
    }
    Ok(())
}

fn read_message(place: &str, role: &str, item: &Json, told: &mut Vec<Json>) -> Result<(), Fault> {
    let content = parts(place, item.get("content").unwrap_or(&Json::Null))?;
    match role {
        "assistant" if told.last().is_some_and(goes_on) => {
            let more = content.as_array().cloned().unwrap_or_default();
            reply(told)["content"].as_array_mut().into_iter().for_each(|parts| parts.extend(more.clone()));
        }
        "system" | "developer" => instruct(told, &content),
        "user" | "assistant" => told.push(json!({ "role": role, "content": content })),
        _ => return Err(wrong(place, "role is none of system, developer, user and assistant")),
    }
    Ok(())
}

/// Adds parts of a system message. One, first or absent, is what models know.
pub(super) fn instruct(told: &mut Vec<Json>, parts: &Json) {
    if told.len() != 1 || told[0]["role"] != "system" {
        told.push(json!({ "role": "system", "content": parts }));
        return;
    }
    let more = parts.as_array().cloned().unwrap_or_default();
    let said = told[0]["content"].as_array_mut().into_iter();
    said.for_each(|parts| parts.extend([text_part("\n\n")].into_iter().chain(more.clone())));
}

/// Whether text is part of this message: of a reply whose reasoning, or whose calls, came before it as items of their own.
fn goes_on(last: &Json) -> bool {
    last["role"] == "assistant" && (last["content"] == json!([]) || last.get("tool_calls").is_some())
}

/// The reply that an item is part of: the last message, if it is the model's, else a new one.
fn reply(told: &mut Vec<Json>) -> &mut Json {
    if told.last().is_none_or(|last| last["role"] != "assistant") {
        told.push(json!({ "role": "assistant", "content": [] }));
    }
    let last = told.len() - 1;
    &mut told[last]
}

/// A text, or parts, as the parts of a chat message.
fn parts(place: &str, content: &Json) -> Result<Json, Fault> {
    let parts = match content {
        Json::String(text) => return Ok(json!([text_part(text)])),
        Json::Array(parts) => parts,
        _ => return Err(wrong(place, "expected a text or parts")),
    };
    parts.iter().enumerate().map(|(i, part)| read_part(&format!("{place}[{i}]"), part)).collect()
}

fn read_part(place: &str, part: &Json) -> Result<Json, Fault> {
    match part.get("type").and_then(Json::as_str) {
        Some("input_text" | "output_text" | "text") => Ok(text_part(text(place, part, "text")?)),
        Some("refusal") => Ok(text_part(text(place, part, "refusal")?)),
        Some("input_image") => {
            Ok(json!({ "type": "image_url", "image_url": { "url": text(place, part, "image_url")? } }))
        }
        Some(kind) => {
            Err(Fault::unsupported("input", format!("{place}: this server does not support parts of type {kind}")))
        }
        None => Err(wrong(place, "expected a part with a type")),
    }
}

fn text_part(text: &str) -> Json {
    json!({ "type": "text", "text": text })
}

fn read_choice(choice: Json) -> Result<Json, Fault> {
    let function = |choice: &Json| json!({ "type": "function", "function": { "name": choice.get("name") } });
    match choice.get("type").and_then(Json::as_str) {
        Some("function") => Ok(function(&choice)),
        Some("allowed_tools") => {
            let tools: Option<Json> = choice["tools"].as_array().map(|tools| tools.iter().map(function).collect());
            Ok(json!({ "type": "allowed_tools", "allowed_tools": { "mode": choice["mode"], "tools": tools } }))
        }
        Some(kind) => Err(Fault::unsupported("tool_choice", format!("this server has no choice of type {kind}"))),
        None => Ok(choice),
    }
}

fn text<'a>(place: &str, object: &'a Json, name: &str) -> Result<&'a str, Fault> {
    object.get(name).and_then(Json::as_str).ok_or_else(|| wrong(place, &format!("{name} is no text")))
}

fn wrong(place: &str, rule: &str) -> Fault {
    Fault::value("input", format!("{place}: {rule}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: Json, expect: Json) {
        let mut fields = Fields::of(fields.as_object().unwrap().clone());
        let mut told = translate(&mut fields, &Memory::new(&Arc::default(), None)).unwrap().0;
        for (name, value) in expect.as_object().unwrap() {
            assert_eq!(told.take(name).as_ref(), Some(value), "{name}");
        }
        assert_eq!((told.rest(), fields.rest()), (vec![], vec![]));
    }

    fn said(text: &str) -> Json {
        json!([{ "type": "text", "text": text }])
    }

    #[test]
    fn items_of_one_reply_are_one_message() {
        let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": "{}" });
        let result = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": id });
        let told_call =
            |id: &str| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } });
        check(
            json!({ "instructions": "Be brief.", "input": [
                { "role": "developer", "content": "And kind." },
                { "role": "user", "content": [{ "type": "input_text", "text": "Hi" }] },
                { "type": "reasoning", "id": "rs_1", "summary": [], "content": [{ "type": "reasoning_text", "text": "Hm." }] },
                { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "So.", "annotations": [] }] },
                call("a"), call("b"), result("a"), result("b"), call("c"), result("c"),
                { "type": "message", "role": "assistant", "content": "One. " }, call("d"),
                { "type": "message", "role": "assistant", "content": "Two." }, call("e"), result("d"), result("e"),
            ] }),
            json!({ "messages": [
                { "role": "system", "content": [
                    { "type": "text", "text": "Be brief." }, { "type": "text", "text": "\n\n" }, { "type": "text", "text": "And kind." },
                ] },
                { "role": "user", "content": said("Hi") },
                { "role": "assistant", "content": said("So."), "reasoning_content": "Hm.", "tool_calls": [told_call("a"), told_call("b")] },
                { "role": "tool", "tool_call_id": "a", "content": said("a") },
                { "role": "tool", "tool_call_id": "b", "content": said("b") },
                { "role": "assistant", "content": [], "tool_calls": [told_call("c")] },
                { "role": "tool", "tool_call_id": "c", "content": said("c") },
                { "role": "assistant", "content": [said("One. ")[0], said("Two.")[0]], "tool_calls": [told_call("d"), told_call("e")] },
                { "role": "tool", "tool_call_id": "d", "content": said("d") },
                { "role": "tool", "tool_call_id": "e", "content": said("e") },
            ] }),
        );
    }

    #[test]
    fn tools_formats_and_limits_have_other_names() {
        let schema = json!({ "type": "object" });
        let format = json!({ "type": "json_schema", "name": "s", "schema": schema, "strict": true });
        check(
            json!({
                "input": "Hi",
                "max_output_tokens": 5,
                "store": false,
                "tools": [{ "type": "function", "name": "f", "parameters": schema, "strict": null }],
                "tool_choice": { "type": "function", "name": "f" },
                "text": { "format": format },
                "reasoning": { "effort": "none", "summary": "auto" },
                "include": ["reasoning.encrypted_content", "message.output_text.logprobs"],
                "top_logprobs": 2,
            }),
            json!({
                "messages": [{ "role": "user", "content": said("Hi") }],
                "logprobs": true,
                "top_logprobs": 2,
                "reasoning_effort": "none",
                "max_completion_tokens": 5,
                "tools": [{ "type": "function", "function": { "name": "f", "parameters": schema } }],
                "tool_choice": { "type": "function", "function": { "name": "f" } },
                "response_format": format,
            }),
        );
    }
}
