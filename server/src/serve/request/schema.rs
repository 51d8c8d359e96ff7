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
    DecisionInputSchema => decision_input;
    DecisionQuestionsSchema => decision_questions;
    DecisionTemperatureSchema => decision_temperature;
    CacheOptionsSchema => cache_options;
    SystemOneStateSchema => systemone_state;
    SystemOneQuestionsSchema => systemone_questions;
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

fn decision_part() -> Json {
    let part = |kind: &str, name: &str, value: Json| json!({ "type": "object", "required": ["type", name], "properties": { "type": { "const": kind }, name: value } });
    let data = json!({ "anyOf": [{ "type": "object" }, { "type": "array", "items": { "type": "object" } }] });
    json!({ "anyOf": [
        part("input_text", "text", json!({ "type": "string" })),
        part("input_image", "image_url", json!({ "type": "string", "description": "A data URL." })),
        part("input_json", "data", data),
    ] })
}

fn decision_input() -> Schema {
    let content = |part: Json| json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": part }] });
    let part = |kind: &str, name: &str| json!({ "type": "object", "required": ["type", name], "properties": { "type": { "const": kind }, name: { "type": "string" } } });
    let message = |roles: Json, content: Json| {
        json!({ "type": "object", "required": ["role", "content"], "properties": {
            "type": { "const": "message" }, "role": { "enum": roles }, "content": content,
        } })
    };
    let call = |kind: &str, argument: &str| {
        json!({ "type": "object", "required": ["type", "call_id", "name", argument], "properties": {
            "type": { "const": kind },
            "call_id": { "type": "string" },
            "name": { "type": "string" },
            argument: { "type": "string" },
        } })
    };
    let pictured = json!({ "anyOf": [part("input_text", "text"), part("input_image", "image_url")] });
    let output = json!({ "type": "object", "required": ["type", "call_id", "output"], "properties": {
        "type": { "enum": ["function_call_output", "custom_tool_call_output"] },
        "call_id": { "type": "string", "description": "The id of an earlier call." },
        "output": content(pictured),
    } });
    let said = json!({ "anyOf": [part("output_text", "text"), part("refusal", "refusal")] });
    let items = json!({ "anyOf": [
        message(json!(["user"]), content(decision_part())),
        message(json!(["system", "developer"]), content(part("input_text", "text"))),
        message(json!(["assistant"]), content(said)),
        call("function_call", "arguments"),
        call("custom_tool_call", "input"),
        output,
    ] });
    json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": items }] })
}

fn decision_temperature() -> Schema {
    let one = json!({ "type": "number", "minimum": 0.01, "maximum": 100 });
    let names = ["predicate", "noul", "choice", "score"];
    let kinds: serde_json::Map<String, Json> = names.into_iter().map(|name| (name.to_owned(), one.clone())).collect();
    json_schema!({ "default": 1, "anyOf": [
        one, { "type": "object", "properties": kinds, "additionalProperties": false },
    ] })
}

fn decision_questions() -> Schema {
    let question = |kind: &str, required: Json, more: Json| {
        let mut properties = json!({
            "type": { "const": kind },
            "instructions": { "anyOf": [{ "type": "string" }, { "type": "array", "items": decision_part() }] },
            "name": { "type": ["string", "null"] },
        });
        if let (Some(properties), Json::Object(more)) = (properties.as_object_mut(), more) {
            properties.extend(more);
        }
        json!({ "type": "object", "required": required, "properties": properties })
    };
    let labelled = |name: &str, value: Json| {
        json!({ "type": "object", "required": [name], "properties": {
            name: value, "description": { "type": ["string", "null"] },
        } })
    };
    let choices = json!({
        "type": "array",
        "minItems": 2,
        "maxItems": 255,
        "uniqueItems": true,
        "description": "Values must differ from each other.",
        "items": labelled("value", json!({ "type": ["string", "boolean"] })),
    });
    let levels = json!({
        "type": "array", "minItems": 2, "maxItems": 100, "items": labelled("label", json!({ "type": "string" })),
    });
    json_schema!({ "type": "array", "minItems": 1, "maxItems": 400, "items": { "anyOf": [
        question("predicate", json!(["type", "instructions"]), json!({})),
        question("choice", json!(["type", "instructions", "choices"]), json!({ "choices": choices })),
        question("score", json!(["type", "instructions", "levels"]), json!({ "levels": levels })),
    ] } })
}

fn cache_options() -> Schema {
    json_schema!({ "type": "object" })
}

fn systemone_state() -> Schema {
    json_schema!({ "type": ["string", "object", "array", "null"] })
}

fn systemone_questions() -> Schema {
    let described = json!({ "type": ["string", "object", "array", "null"] });
    let question = |kind: &str, criteria: Json, required: Json| {
        json!({ "type": "object", "required": required, "properties": {
            "type": { "const": kind },
            "instructions": { "type": ["string", "object", "array"] },
            "criteria": criteria,
        } })
    };
    let both = |kinds: Json| {
        json!({
            "type": kinds,
            "properties": { "true": described, "false": described },
            "additionalProperties": false,
        })
    };
    let labels =
        json!({ "type": "object", "minProperties": 1, "maxProperties": 255, "additionalProperties": described });
    let levels = json!({ "type": "array", "minItems": 2, "maxItems": 10, "items": described });
    let all = json!(["type", "criteria"]);
    json_schema!({ "type": "object", "minProperties": 1, "maxProperties": 400, "additionalProperties": { "anyOf": [
        question("noul", both(json!(["object", "null"])), json!(["type", "instructions"])),
        question("noul", both(json!("object")), all.clone()),
        question("choice", labels, all.clone()),
        question("score", levels, all),
    ] } })
}
