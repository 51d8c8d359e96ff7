//! The bodies of requests.

use serde_json::{Map, Value as Json, json};

/// An object of these fields, of which some must be there. Null is the same as absent, and unknown names are allowed.
fn object(required: &[&str], groups: impl IntoIterator<Item = Json>) -> Json {
    let mut properties = Map::new();
    for group in groups {
        if let Json::Object(group) = group {
            properties.extend(group);
        }
    }
    json!({ "type": "object", "required": required, "properties": properties })
}

/// Fields of all routes.
fn sampling() -> Json {
    json!({
        "model": { "type": "string", "description": "The id of the model served." },
        "temperature": { "type": "number", "minimum": 0, "maximum": 2, "description": "0 takes the most probable token." },
        "top_p": { "type": "number", "minimum": 0, "maximum": 1 },
        "top_k": { "type": "integer", "minimum": -1, "maximum": i32::MAX, "description": "0 and -1 keep all tokens." },
        "min_p": { "type": "number", "minimum": 0, "maximum": 1 },
        "repetition_penalty": { "type": "number", "exclusiveMinimum": 0, "maximum": 1e30 },
        "presence_penalty": { "type": "number", "minimum": -2, "maximum": 2 },
        "frequency_penalty": { "type": "number", "minimum": -2, "maximum": 2 },
        "logit_bias": {
            "type": "object",
            "propertyNames": { "pattern": "^[0-9]+$" },
            "additionalProperties": { "type": "number", "minimum": -100, "maximum": 100 },
            "description": "Added to the logits of tokens, which are named by id.",
        },
        "seed": { "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX },
        "stream": { "type": "boolean", "default": false },
    })
}

/// Fields of the routes that OpenAI began with.
fn choices() -> Json {
    let stop = json!({ "type": "string", "minLength": 1, "maxLength": 256 });
    let tokens = json!({ "type": "integer", "minimum": 1, "maximum": i32::MAX });
    json!({
        "max_tokens": tokens,
        "max_completion_tokens": tokens,
        "ignore_eos": { "type": "boolean", "default": false },
        "stop": { "anyOf": [stop, { "type": "array", "items": stop, "maxItems": 16 }] },
        "n": { "type": "integer", "minimum": 1, "maximum": 8, "default": 1 },
        "stream_options": stream_options(),
        "user": { "description": "Without effect." },
        "metadata": { "description": "Without effect." },
        "store": { "description": "Without effect." },
        "service_tier": { "description": "Without effect." },
        "safety_identifier": { "description": "Without effect." },
        "prompt_cache_key": { "description": "Without effect." },
    })
}

fn stream_options() -> Json {
    json!({ "type": "object", "properties": {
        "include_usage": { "type": "boolean", "default": false },
        "include_obfuscation": { "description": "Without effect." },
    } })
}

fn template() -> Json {
    json!({ "chat_template_kwargs": {
        "type": "object",
        "properties": { "enable_thinking": { "type": "boolean", "default": false } },
        "additionalProperties": false,
    } })
}

fn effort() -> Json {
    json!({
        "enum": ["none", "minimal", "low", "medium", "high", "xhigh", "max", "default", null],
        "description": "With any but none and minimal, a model that can reason is asked to.",
    })
}

fn truncation() -> Json {
    json!({ "enum": ["auto", "disabled", null], "description": "auto leaves out the oldest turns if not all fit." })
}

/// A JSON Schema, as far as this document looks into it.
fn schema() -> Json {
    json!({ "type": "object" })
}

/// A function's name.
fn name() -> Json {
    json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$" })
}

fn described(kind: &str, schema_name: &str) -> Json {
    json!({ "type": "object", "required": ["name"], "properties": {
        "type": { "const": kind },
        "name": name(),
        "description": { "type": "string" },
        schema_name: schema(),
        "strict": { "type": "boolean" },
    } })
}

pub(super) fn chat() -> Json {
    let mut function = described("function", "parameters");
    function["properties"].as_object_mut().map(|properties| properties.remove("type"));
    let tool = json!({ "type": "object", "required": ["type", "function"], "properties": {
        "type": { "const": "function" }, "function": function,
    } });
    let named = json!({ "type": "object", "required": ["type", "function"], "properties": {
        "type": { "const": "function" },
        "function": { "type": "object", "required": ["name"], "properties": { "name": name() } },
    } });
    let part = |kind: &str| {
        let properties = json!({ "type": { "const": kind }, kind: { "type": "string" } });
        json!({ "type": "object", "required": ["type", kind], "properties": properties })
    };
    let parts = json!({ "type": "array", "items": { "anyOf": [part("text"), part("refusal")] } });
    let content = json!({ "anyOf": [{ "type": "string" }, parts] });
    let call = json!({ "type": "object", "required": ["id", "type", "function"], "properties": {
        "id": { "type": "string" },
        "type": { "const": "function" },
        "function": { "type": "object", "required": ["name", "arguments"], "properties": {
            "name": name(), "arguments": { "type": "string", "description": "JSON text of an object." },
        } },
    } });
    let message = json!({ "type": "object", "required": ["role"], "properties": {
        "role": { "enum": ["system", "developer", "user", "assistant", "tool"] },
        "content": content,
        "reasoning_content": { "type": "string" },
        "tool_calls": { "type": "array", "items": call },
        "tool_call_id": { "type": "string" },
        "name": { "type": "string" },
    } });
    let chat = json!({
        "messages": { "type": "array", "items": message, "minItems": 1, "maxItems": 10_000 },
        "tools": { "type": "array", "items": tool, "maxItems": 512 },
        "tool_choice": { "anyOf": [{ "enum": ["auto", "none", "required"] }, named, { "type": "object", "properties": {
            "type": { "const": "allowed_tools" }, "allowed_tools": { "type": "object" },
        } }] },
        "parallel_tool_calls": { "type": "boolean", "default": true },
        "reasoning_effort": effort(),
        "verbosity": { "description": "Without effect." },
        "truncation": truncation(),
        "logprobs": { "type": "boolean", "default": false },
        "top_logprobs": { "type": "integer", "minimum": 0, "maximum": 20 },
        "response_format": { "type": "object", "required": ["type"], "properties": {
            "type": { "enum": ["text", "json_object", "json_schema"] },
            "json_schema": { "type": "object", "properties": { "schema": schema() } },
            "schema": schema(),
            "value": { "type": "object", "description": "Another name of schema." },
        } },
    });
    object(&["model", "messages"], [sampling(), choices(), template(), chat])
}

pub(super) fn completion() -> Json {
    let ids = json!({ "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 1 });
    let texts = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 64 });
    let fields = json!({
        "prompt": { "anyOf": [{ "type": "string" }, texts, ids, { "type": "array", "items": ids, "minItems": 1 }] },
        "echo": { "type": "boolean", "default": false, "description": "Not together with logprobs." },
        "logprobs": { "type": "integer", "minimum": 0, "maximum": 20, "description": "Alternatives of each token." },
    });
    object(&["model", "prompt"], [sampling(), choices(), fields])
}

/// Fields that mean the same in Anthropic's form and in ours.
fn message_fields() -> Json {
    let blocks = json!({ "type": "array", "items": { "type": "object", "required": ["type"], "properties": {
        "type": { "enum": [
            "text", "image", "document", "search_result", "tool_use", "tool_result", "thinking", "redacted_thinking",
        ] },
    } } });
    let content = json!({ "anyOf": [{ "type": "string" }, blocks] });
    let message = json!({ "type": "object", "required": ["role", "content"], "properties": {
        "role": { "enum": ["user", "assistant", "system"] }, "content": content,
    } });
    json!({
        "messages": { "type": "array", "items": message, "minItems": 1, "maxItems": 10_000 },
        "system": content,
        "max_tokens": { "type": "integer", "minimum": 1, "maximum": i32::MAX },
        "stop_sequences": { "type": "array", "items": { "type": "string", "minLength": 1, "maxLength": 256 }, "maxItems": 16 },
        "tools": { "type": "array", "items": described("custom", "input_schema"), "maxItems": 512 },
        "tool_choice": { "type": "object", "required": ["type"], "properties": {
            "type": { "enum": ["auto", "any", "tool", "none"] },
            "name": name(),
            "disable_parallel_tool_use": { "type": "boolean", "default": false },
        } },
        "thinking": { "type": "object", "required": ["type"], "properties": {
            "type": { "enum": ["enabled", "adaptive", "disabled"] },
        } },
        "output_config": { "type": "object", "properties": {
            "format": { "type": "object", "required": ["type", "schema"], "properties": {
                "type": { "const": "json_schema" }, "schema": schema(),
            } },
            "effort": { "description": "Without effect." },
        } },
        "output_format": { "type": "object", "description": "An older place of output_config.format." },
        "ignore_eos": { "type": "boolean", "default": false },
        "metadata": { "description": "Without effect." },
        "service_tier": { "description": "Without effect." },
        "cache_control": { "description": "Without effect: what was read before is always found again." },
        "inference_geo": { "description": "Without effect." },
        "speed": { "description": "Without effect." },
    })
}

pub(super) fn message() -> Json {
    object(&["model", "messages", "max_tokens"], [sampling(), template(), message_fields()])
}

pub(super) fn count() -> Json {
    object(&["model", "messages"], [sampling(), template(), message_fields()])
}

pub(super) fn response() -> Json {
    let item = json!({ "type": "object", "properties": {
        "type": { "enum": [
            "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning",
            "item_reference",
        ] },
    } });
    let fields = json!({
        "input": { "anyOf": [{ "type": "string" }, { "type": "array", "items": item, "minItems": 1, "maxItems": 10_000 }] },
        "instructions": { "type": "string" },
        "max_output_tokens": { "type": "integer", "minimum": 1, "maximum": i32::MAX },
        "stream_options": stream_options(),
        "tools": { "type": "array", "items": described("function", "parameters"), "maxItems": 512 },
        "tool_choice": { "anyOf": [{ "enum": ["auto", "none", "required"] }, { "type": "object", "required": ["type"] }] },
        "parallel_tool_calls": { "type": "boolean", "default": true },
        "text": { "type": "object", "properties": {
            "format": { "type": "object", "required": ["type"], "properties": {
                "type": { "enum": ["text", "json_object", "json_schema"] }, "schema": schema(),
            } },
            "verbosity": { "description": "Without effect." },
        } },
        "reasoning": { "type": "object", "properties": {
            "effort": effort(),
            "summary": { "description": "Without effect: reasoning is shown whole." },
            "generate_summary": { "description": "Without effect." },
        } },
        "truncation": truncation(),
        "store": { "type": "boolean", "default": true, "description": "Whether a request may go on from the response." },
        "previous_response_id": { "type": "string", "description": "The response that this request goes on from." },
        "top_logprobs": { "type": "integer", "minimum": 0, "maximum": 20 },
        "metadata": { "type": "object", "description": "Told again in the response." },
        "user": { "description": "Without effect." },
        "service_tier": { "description": "Without effect." },
        "safety_identifier": { "description": "Without effect." },
        "prompt_cache_key": { "description": "Without effect." },
        "prompt_cache_retention": { "description": "Without effect." },
    });
    object(&["model", "input"], [sampling(), template(), fields])
}
