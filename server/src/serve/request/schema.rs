//! Schemas of fields that the engine or a handler reads as JSON. Each stands for the field's type in the OpenAPI document.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value as Json, json};

use crate::serve::request::types::described;

macro_rules! schemas {
    ($($name:ident => $function:ident;)*) => {$(
        pub(in crate::serve) enum $name {}
        described!([] $name, $function());
    )*};
}

schemas! {
    ChatMessagesSchema => chat_messages;
    ChatToolsSchema => chat_tools;
    ChatChoiceSchema => chat_tool_choice;
    PromptsSchema => prompts;
    ContentBlocksSchema => content_blocks;
    BlockMessagesSchema => block_messages;
    CustomToolsSchema => custom_tools;
    ResponseToolsSchema => response_tools;
    ResponseToolChoiceSchema => response_tool_choice;
    ResponseInputSchema => response_input;
}

/// A function's name.
fn name() -> Json {
    json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$" })
}

fn function(extra: Json, schema_name: &str) -> Json {
    let mut function = json!({ "type": "object", "required": ["name"], "properties": {
        "name": name(),
        "description": { "type": "string" },
        schema_name: { "type": "object" },
        "strict": { "type": "boolean" },
    } });
    if let (Some(properties), Json::Object(extra)) = (function["properties"].as_object_mut(), extra) {
        properties.extend(extra);
    }
    function
}

fn chat_messages() -> Schema {
    let part = |kind: &str| {
        let properties = json!({ "type": { "const": kind }, kind: { "type": "string" } });
        json!({ "type": "object", "required": ["type", kind], "properties": properties })
    };
    let parts = json!({ "type": "array", "items": { "anyOf": [part("text"), part("refusal")] } });
    let call = json!({ "type": "object", "required": ["id", "type", "function"], "properties": {
        "id": { "type": "string" },
        "type": { "const": "function" },
        "function": { "type": "object", "required": ["name", "arguments"], "properties": {
            "name": name(), "arguments": { "type": "string", "description": "JSON text of an object." },
        } },
    } });
    let message = json!({ "type": "object", "required": ["role"], "properties": {
        "role": { "enum": ["system", "developer", "user", "assistant", "tool"] },
        "content": { "anyOf": [{ "type": "string" }, parts] },
        "reasoning_content": { "type": "string" },
        "audio": {
            "type": "object",
            "required": ["id"],
            "description": "A spoken reply of this server, in a message of the assistant.",
            "properties": { "id": { "type": "string" } },
        },
        "tool_calls": { "type": "array", "items": call },
        "tool_call_id": { "type": "string" },
        "name": { "type": "string" },
    } });
    json_schema!({ "type": "array", "items": message, "minItems": 1, "maxItems": 10_000 })
}

fn chat_tools() -> Schema {
    let tool = json!({ "type": "object", "required": ["type", "function"], "properties": {
        "type": { "const": "function" }, "function": function(json!({}), "parameters"),
    } });
    json_schema!({ "type": "array", "items": tool, "maxItems": 512 })
}

fn chat_tool_choice() -> Schema {
    let named = json!({ "type": "object", "required": ["type", "function"], "properties": {
        "type": { "const": "function" },
        "function": { "type": "object", "required": ["name"], "properties": { "name": name() } },
    } });
    json_schema!({ "anyOf": [{ "enum": ["auto", "none", "required"] }, named, { "type": "object", "properties": {
        "type": { "const": "allowed_tools" }, "allowed_tools": { "type": "object" },
    } }] })
}

fn prompts() -> Schema {
    let ids = json!({ "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 1 });
    let texts = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 64 });
    json_schema!({ "anyOf": [{ "type": "string" }, texts, ids, { "type": "array", "items": ids, "minItems": 1 }] })
}

fn blocks() -> Json {
    let blocks = json!({ "type": "array", "items": { "type": "object", "required": ["type"], "properties": {
        "type": { "enum": [
            "text", "image", "audio", "input_audio", "document", "search_result", "tool_use", "tool_result", "thinking", "redacted_thinking",
        ] },
    } } });
    json!({ "anyOf": [{ "type": "string" }, blocks] })
}

fn content_blocks() -> Schema {
    json_schema!({ "anyOf": blocks()["anyOf"] })
}

fn block_messages() -> Schema {
    let message = json!({ "type": "object", "required": ["role", "content"], "properties": {
        "role": { "enum": ["user", "assistant", "system"] }, "content": blocks(),
    } });
    json_schema!({ "type": "array", "items": message, "minItems": 1, "maxItems": 10_000 })
}

fn custom_tools() -> Schema {
    let tool = function(json!({ "type": { "const": "custom" } }), "input_schema");
    json_schema!({ "type": "array", "items": tool, "maxItems": 512 })
}

fn response_tools() -> Schema {
    let tool = function(json!({ "type": { "const": "function" } }), "parameters");
    json_schema!({ "type": "array", "items": tool, "maxItems": 512 })
}

fn response_tool_choice() -> Schema {
    json_schema!({ "anyOf": [{ "enum": ["auto", "none", "required"] }, { "type": "object", "required": ["type"] }] })
}

fn response_input() -> Schema {
    let item = json!({ "type": "object", "properties": {
        "type": { "enum": [
            "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning",
            "item_reference",
        ] },
    } });
    let items = json!({ "type": "array", "items": item, "minItems": 1, "maxItems": 10_000 });
    json_schema!({ "anyOf": [{ "type": "string" }, items] })
}
