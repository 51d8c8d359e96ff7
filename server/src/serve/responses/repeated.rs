//! The fields of a request that its response repeats, with the values for absent ones. Clients check that all are there, and
//! that formats and tools have all their members.

use causerie::{GenerationOptions, SamplingDefaults};
use serde_json::{Map, Value as Json, json};

use crate::serve::answer::decimal;
use crate::serve::request::fields::RequestFields;

/// The repeated fields. Sampling values are the model's, until the reply reports which were used.
pub(super) fn fields(fields: &RequestFields, model_id: &str, model: &SamplingDefaults) -> Map<String, Json> {
    let given = |name: &str, otherwise: Json| fields.peek(name).cloned().unwrap_or(otherwise);
    let sampling = GenerationOptions::default().sampling(model);
    let repeated = [
        ("background", json!(false)),
        ("frequency_penalty", given("frequency_penalty", json!(0))),
        ("instructions", given("instructions", Json::Null)),
        ("max_output_tokens", given("max_output_tokens", Json::Null)),
        ("max_tool_calls", given("max_tool_calls", Json::Null)),
        ("metadata", given("metadata", json!({}))),
        ("model", json!(model_id)),
        ("parallel_tool_calls", given("parallel_tool_calls", json!(true))),
        ("presence_penalty", given("presence_penalty", json!(0))),
        ("previous_response_id", given("previous_response_id", Json::Null)),
        ("prompt_cache_key", given("prompt_cache_key", Json::Null)),
        ("reasoning", reasoning(fields.peek("reasoning"))),
        ("safety_identifier", given("safety_identifier", Json::Null)),
        // There is one tier.
        ("service_tier", json!("default")),
        ("store", given("store", json!(true))),
        ("temperature", given("temperature", decimal(sampling.temperature))),
        ("text", text(fields.peek("text"))),
        ("tool_choice", given("tool_choice", json!("auto"))),
        ("tools", fields.peek("tools").and_then(Json::as_array).into_iter().flatten().map(tool).collect()),
        ("top_logprobs", given("top_logprobs", json!(0))),
        ("top_p", given("top_p", decimal(sampling.top_p))),
        ("truncation", given("truncation", json!("disabled"))),
        ("user", given("user", Json::Null)),
    ];
    repeated.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn reasoning(given: Option<&Json>) -> Json {
    let member = |name: &str| given.map(|reasoning| reasoning[name].clone()).unwrap_or_default();
    json!({ "effort": member("effort"), "summary": member("summary") })
}

fn text(given: Option<&Json>) -> Json {
    let given = given.cloned().unwrap_or_default();
    let mut text = json!({ "format": format(&given["format"]) });
    if !given["verbosity"].is_null() {
        text["verbosity"] = given["verbosity"].clone();
    }
    text
}

/// A format with all its members; the schema may be within `json_schema`, as in chat completions.
fn format(given: &Json) -> Json {
    let member = |name: &str| match &given[name] {
        Json::Null => given["json_schema"][name].clone(),
        value => value.clone(),
    };
    match given["type"].as_str() {
        Some("json_schema") => json!({
            "type": "json_schema",
            "name": member("name"),
            "description": member("description"),
            "schema": member("schema"),
            "strict": member("strict").as_bool().unwrap_or(false),
        }),
        Some(kind) => json!({ "type": kind }),
        None => json!({ "type": "text" }),
    }
}

/// A tool; a function with all its members.
fn tool(given: &Json) -> Json {
    let function = given.get("function").unwrap_or(given);
    match given["type"].as_str() {
        None | Some("function") => json!({
            "type": "function",
            "name": function["name"],
            "description": function["description"],
            "parameters": function["parameters"],
            "strict": function["strict"],
        }),
        Some(_) => given.clone(),
    }
}
