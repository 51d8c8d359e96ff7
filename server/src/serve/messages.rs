//! `POST /v1/messages` and `/v1/messages/count_tokens`: Anthropic's form of a request, told as one of chat completions.

use std::sync::Arc;

use causerie::ErrorKind;
use serde_json::{Map, Value as Json, json};

use crate::serve::Service;
use crate::serve::answer::{Answer, MessageWriter};
use crate::serve::chat::{self, Chat};
use crate::serve::demands::translate_tools;
use crate::serve::fault::Fault;
use crate::serve::fields::{Fields, expected};
use crate::serve::responses::instruct;

/// Fields that mean the same in both forms.
const ALIKE: [&str; 14] = [
    "model",
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "seed",
    "stream",
    "ignore_eos",
    "chat_template_kwargs",
];
/// What fields are called here that chat completions have as well.
pub(super) const NAMES: [(&str, &str); 2] = [("stop", "stop_sequences"), ("response_format", "output_config.format")];
/// What a function's fields are called here, and there.
const FUNCTION: [(&str, &str); 4] =
    [("name", "name"), ("description", "description"), ("input_schema", "parameters"), ("strict", "strict")];
/// Fields without effect here: what a request has in common with those before it is always found again.
const WITHOUT_EFFECT: [&str; 5] = ["metadata", "service_tier", "cache_control", "inference_geo", "speed"];
/// Fields that would change a reply, and cannot be honoured.
const REFUSED: [&str; 2] = ["container", "mcp_servers"];

pub(super) fn read(service: &Arc<Service>, mut fields: Fields) -> Result<Answer, Fault> {
    let max_tokens = fields.require("max_tokens")?;
    fields.put("max_tokens", max_tokens);
    let chat = read_chat(service, fields)?;
    // Known to clients from the first event of a stream.
    let prompt_tokens = if chat.delivery.is_stream { count_prompt(&chat)? } else { 0 };
    let writer = MessageWriter::new(&service.model_id, chat.has_functions, prompt_tokens);
    Ok(chat.answer(service, writer))
}

/// Tokens that a request would have the model read.
pub(super) fn count(service: &Arc<Service>, fields: Fields) -> Result<Json, Fault> {
    Ok(json!({ "input_tokens": count_prompt(&read_chat(service, fields)?)? }))
}

fn count_prompt(chat: &Chat) -> Result<usize, Fault> {
    match chat.conversation.plan_context(&chat.options) {
        Ok(plan) => Ok(plan.tokens_before),
        Err(err) => match err.kind() {
            ErrorKind::PromptExceedsContext { needed, .. } => Ok(needed),
            _ => Err(Fault::of(&err)),
        },
    }
}

fn read_chat(service: &Arc<Service>, mut fields: Fields) -> Result<Chat, Fault> {
    let told = translate(&mut fields)?;
    chat::read_told(service, told, fields, &NAMES)
}

/// The fields as chat completions have them.
pub(super) fn translate(fields: &mut Fields) -> Result<Fields, Fault> {
    let mut told = Fields::of(Map::new());
    for name in ALIKE {
        told.put(name, fields.take(name));
    }
    for name in WITHOUT_EFFECT {
        fields.take(name);
    }
    for name in REFUSED {
        fields.refuse(name, is_empty)?;
    }
    fields.refuse("context_management", only_clears)?;
    told.put("messages", read_messages(fields)?);
    told.put("stop", fields.take("stop_sequences"));
    told.put("tools", translate_tools(fields, |kind| matches!(kind, None | Some("custom")), FUNCTION)?);
    read_choice(fields, &mut told)?;
    read_thinking(fields, &mut told)?;
    read_output(fields, &mut told)?;
    Ok(told)
}

fn is_empty(value: &Json) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}

/// Whether old results and thoughts are to be taken out of a prompt that grows long, and nothing else. They may stay in it.
fn only_clears(value: &Json) -> bool {
    let clears = |edit: &Json| edit["type"].as_str().is_some_and(|kind| kind.starts_with("clear_"));
    value.is_object() && value["edits"].as_array().is_none_or(|edits| edits.iter().all(clears))
}

fn read_messages(fields: &mut Fields) -> Result<Json, Fault> {
    let messages = fields.require("messages")?;
    let messages = messages.as_array().ok_or_else(|| expected("messages", "an array", &messages))?;
    if messages.is_empty() {
        return Err(Fault::value("messages", "expected at least one message"));
    }
    if messages.last().is_some_and(|message| message["role"] == "assistant") {
        let message = "the last message is the assistant's: this server does not go on with a reply that was begun";
        return Err(Fault::unsupported("messages", message));
    }
    let mut told = Vec::new();
    if let Some(system) = fields.take("system") {
        told.push(json!({ "role": "system", "content": texts("system", &system)? }));
    }
    for (i, message) in messages.iter().enumerate() {
        let place = format!("messages[{i}]");
        let content = blocks(&place, message.get("content").unwrap_or(&Json::Null))?;
        match message.get("role").and_then(Json::as_str) {
            Some("user") => read_user(&place, &content, &mut told)?,
            Some("system") => instruct(&mut told, &texts(&format!("{place}.content"), &Json::Array(content))?),
            Some("assistant") => told.extend(read_assistant(&place, &content, fields)?),
            _ => return Err(wrong(&place, "role is none of user, assistant and system")),
        }
    }
    Ok(Json::Array(told))
}

/// A text, as the one block that it stands for, or blocks.
fn blocks(place: &str, content: &Json) -> Result<Vec<Json>, Fault> {
    match content {
        Json::String(text) => Ok(vec![json!({ "type": "text", "text": text })]),
        Json::Array(blocks) => Ok(blocks.clone()),
        _ => Err(wrong(place, "content is no text and no list of blocks")),
    }
}

/// Blocks that may only be texts.
fn texts(place: &str, content: &Json) -> Result<Json, Fault> {
    blocks(place, content)?.iter().enumerate().map(|(i, block)| read_text(&format!("{place}[{i}]"), block)).collect()
}

fn read_text(place: &str, block: &Json) -> Result<Json, Fault> {
    match (block.get("type").and_then(Json::as_str), block.get("text")) {
        (Some("text"), Some(Json::String(text))) => Ok(json!({ "type": "text", "text": text })),
        (Some(kind), _) => Err(unsupported(place, kind)),
        _ => Err(wrong(place, "expected a block with a type")),
    }
}

/// What a person said, and results of tools, which are messages of their own here.
fn read_user(place: &str, content: &[Json], told: &mut Vec<Json>) -> Result<(), Fault> {
    let mut said = Vec::new();
    for (i, block) in content.iter().enumerate() {
        let place = format!("{place}.content[{i}]");
        match block.get("type").and_then(Json::as_str) {
            Some("tool_result") => {
                flush(&mut said, told);
                told.push(read_result(&place, block)?);
            }
            Some("image") => said.push(read_image(&place, block)?),
            _ => said.push(read_shown(&place, block)?),
        }
    }
    if content.is_empty() {
        told.push(json!({ "role": "user", "content": "" }));
    }
    flush(&mut said, told);
    Ok(())
}

fn flush(said: &mut Vec<Json>, told: &mut Vec<Json>) {
    if !said.is_empty() {
        told.push(json!({ "role": "user", "content": std::mem::take(said) }));
    }
}

fn read_result(place: &str, block: &Json) -> Result<Json, Fault> {
    let id = text(place, block, "tool_use_id")?;
    let content = match block.get("content") {
        None | Some(Json::Null) => json!(""),
        Some(content) => {
            let shown = |(i, block): (usize, &Json)| read_shown(&format!("{place}[{i}]"), block);
            blocks(place, content)?.iter().enumerate().map(shown).collect::<Result<_, _>>()?
        }
    };
    Ok(json!({ "role": "tool", "tool_call_id": id, "content": content }))
}

/// Text, also as a document or as the result of a search, which begin with what they are called.
fn read_shown(place: &str, block: &Json) -> Result<Json, Fault> {
    let source = &block["source"];
    let (heads, content) = match (block["type"].as_str(), source["type"].as_str()) {
        (Some("document"), Some("text")) => (["title", "context"], json!(text(place, source, "data")?)),
        (Some("document"), Some("content")) => (["title", "context"], source["content"].clone()),
        (Some("search_result"), _) => (["title", "source"], block["content"].clone()),
        _ => return read_text(place, block),
    };
    let content = texts(place, &content)?;
    let heads = heads.into_iter().filter_map(|name| block[name].as_str());
    let said = content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    Ok(json!({ "type": "text", "text": heads.chain(said).collect::<Vec<_>>().join("\n") + "\n\n" }))
}

fn read_image(place: &str, block: &Json) -> Result<Json, Fault> {
    let source = block.get("source").unwrap_or(&Json::Null);
    if source.get("type").is_none_or(|kind| kind != "base64") {
        return Err(Fault::unsupported("messages", format!("{place}: images come as base64; nothing is fetched")));
    }
    let (kind, data) = (text(place, source, "media_type")?, text(place, source, "data")?);
    Ok(json!({ "type": "image_url", "image_url": { "url": format!("data:{kind};base64,{data}") } }))
}

/// What the model said; none where all of it is passed over.
fn read_assistant(place: &str, content: &[Json], fields: &mut Fields) -> Result<Option<Json>, Fault> {
    let (mut said, mut calls, mut thought) = (Vec::new(), Vec::new(), String::new());
    for (i, block) in content.iter().enumerate() {
        let place = format!("{place}.content[{i}]");
        match block.get("type").and_then(Json::as_str) {
            Some("tool_use") => {
                let arguments = block.get("input").cloned().unwrap_or_else(|| json!({}));
                let function = json!({ "name": text(&place, block, "name")?, "arguments": arguments });
                calls.push(json!({ "id": text(&place, block, "id")?, "type": "function", "function": function }));
            }
            Some("thinking") => thought.push_str(text(&place, block, "thinking")?),
            // Thinking that only its provider can read.
            Some("redacted_thinking") => {}
            // What a provider's own tools were asked, and found.
            Some(kind) if kind.ends_with("_tool_use") || kind.ends_with("_tool_result") => fields.ignore(place),
            _ => said.push(read_text(&place, block)?),
        }
    }
    if !content.is_empty() && said.is_empty() && calls.is_empty() && thought.is_empty() {
        return Ok(None);
    }
    let mut message = json!({ "role": "assistant", "content": said });
    if !calls.is_empty() {
        message["tool_calls"] = Json::Array(calls);
    }
    if !thought.is_empty() {
        message["reasoning_content"] = json!(thought);
    }
    Ok(Some(message))
}

fn read_choice(fields: &mut Fields, told: &mut Fields) -> Result<(), Fault> {
    let mut choice = fields.object("tool_choice")?;
    let Some(kind) = choice.take("type") else { return Ok(()) };
    told.put(
        "tool_choice",
        match kind.as_str() {
            Some("auto") => json!("auto"),
            Some("none") => json!("none"),
            Some("any") => json!("required"),
            Some("tool") => json!({ "type": "function", "function": { "name": choice.require("name")? } }),
            _ => return Err(expected("tool_choice", "of type auto, any, tool or none", &kind)),
        },
    );
    if choice.flag("disable_parallel_tool_use").map_err(|fault| fault.at("tool_choice"))? == Some(true) {
        told.put("parallel_tool_calls", json!(false));
    }
    Ok(())
}

/// Whether to think aloud. How long is up to the model: a budget is no limit.
fn read_thinking(fields: &mut Fields, told: &mut Fields) -> Result<(), Fault> {
    let mut thinking = fields.object("thinking")?;
    let Some(kind) = thinking.take("type") else { return Ok(()) };
    let enable = match kind.as_str() {
        Some("enabled" | "adaptive") => true,
        Some("disabled") => false,
        _ => return Err(expected("thinking", "of type enabled, adaptive or disabled", &kind)),
    };
    told.put("chat_template_kwargs", json!({ "enable_thinking": enable }));
    Ok(())
}

fn read_output(fields: &mut Fields, told: &mut Fields) -> Result<(), Fault> {
    let mut output = fields.object("output_config")?;
    // A hint at how much to think and to write, which is up to the model.
    output.take("effort");
    let format = output.take("format").or_else(|| fields.take("output_format"));
    fields.ignore_rest("output_config", output);
    let Some(format) = format else { return Ok(()) };
    match format.get("type").and_then(Json::as_str) {
        Some("json_schema") => {
            let schema = json!({ "name": "output", "schema": format.get("schema"), "strict": true });
            told.put("response_format", json!({ "type": "json_schema", "json_schema": schema }));
            Ok(())
        }
        _ => Err(expected("output_config", "a format of type json_schema", &format)),
    }
}

fn text<'a>(place: &str, object: &'a Json, name: &str) -> Result<&'a str, Fault> {
    object.get(name).and_then(Json::as_str).ok_or_else(|| wrong(place, &format!("{name} is no text")))
}

fn wrong(place: &str, rule: &str) -> Fault {
    Fault::value("messages", format!("{place}: {rule}"))
}

fn unsupported(place: &str, kind: &str) -> Fault {
    Fault::unsupported("messages", format!("{place}: this server does not support blocks of type {kind} here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: Json, expect: Json) {
        let mut fields = Fields::of(fields.as_object().unwrap().clone());
        let mut told = translate(&mut fields).unwrap();
        for (name, value) in expect.as_object().unwrap() {
            assert_eq!(told.take(name).as_ref(), Some(value), "{name}");
        }
        assert_eq!((told.rest(), fields.rest()), (vec![], vec![]));
    }

    #[test]
    fn results_of_tools_are_messages_of_their_own() {
        let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "f", "input": { "a": 1 } });
        let thinking = json!({ "type": "thinking", "thinking": "Hm.", "signature": "" });
        let result = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "is_error": false, "content": "42" });
        let said = |text: &str| json!({ "type": "text", "text": text });
        check(
            json!({ "system": "Be brief.", "messages": [
                { "role": "user", "content": "Hi" },
                { "role": "assistant", "content": [thinking, said("So."), call] },
                { "role": "user", "content": [result, said("And?")] },
            ] }),
            json!({ "messages": [
                { "role": "system", "content": [said("Be brief.")] },
                { "role": "user", "content": [said("Hi")] },
                { "role": "assistant", "content": [said("So.")], "reasoning_content": "Hm.", "tool_calls": [
                    { "id": "toolu_1", "type": "function", "function": { "name": "f", "arguments": { "a": 1 } } },
                ] },
                { "role": "tool", "tool_call_id": "toolu_1", "content": [said("42")] },
                { "role": "user", "content": [said("And?")] },
            ] }),
        );
    }

    #[test]
    fn choices_tools_and_formats_have_other_names() {
        let messages = json!([{ "role": "user", "content": "Hi" }]);
        let schema = json!({ "type": "object" });
        check(
            json!({
                "messages": messages,
                "stop_sequences": ["a"],
                "tools": [{ "name": "f", "description": "F.", "input_schema": schema, "cache_control": {} }],
                "tool_choice": { "type": "tool", "name": "f", "disable_parallel_tool_use": true },
                "thinking": { "type": "enabled", "budget_tokens": 1024 },
                "output_config": { "format": { "type": "json_schema", "schema": schema }, "effort": "low" },
            }),
            json!({
                "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Hi" }] }],
                "stop": ["a"],
                "tools": [{ "type": "function", "function": { "name": "f", "description": "F.", "parameters": schema } }],
                "tool_choice": { "type": "function", "function": { "name": "f" } },
                "parallel_tool_calls": false,
                "chat_template_kwargs": { "enable_thinking": true },
                "response_format": {
                    "type": "json_schema",
                    "json_schema": { "name": "output", "schema": schema, "strict": true },
                },
            }),
        );
    }
}
