//! What a chat request demands of its reply: functions, which of them are called, and the form of its text.

use std::collections::HashSet;

use causerie::{GenerationOptions, SdkFunction, ToolCallConstraint, ToolChoice, functions_from_json};
use serde_json::Value as Json;

use crate::serve::fault::Fault;
use crate::serve::fields::{Fields, expected};

const MOST_FUNCTIONS: usize = 512;
/// What `json_object` asks for.
const ANY_OBJECT: &str = r#"{"type": "object"}"#;

/// Reads `tools`, `tool_choice`, `parallel_tool_calls` and `response_format`. Calls are constrained where that is the only
/// way to keep what is demanded.
pub(super) fn read(fields: &mut Fields, options: &mut GenerationOptions) -> Result<Vec<SdkFunction>, Fault> {
    let functions = read_functions(fields, options)?;
    read_choice(fields, options)?;
    let is_required = !matches!(options.tool_choice, ToolChoice::Auto | ToolChoice::None);
    if functions.is_empty() && (is_required || options.allowed_tools.is_some()) {
        return Err(Fault::value("tool_choice", "tool_choice demands functions, and tools offers none"));
    }
    if fields.flag("parallel_tool_calls")? == Some(false) {
        options.parallel_tool_calls = false;
        options.tool_call_constraint = ToolCallConstraint::Typed;
    }
    options.json_schema_constraint = read_format(fields)?;
    Ok(functions)
}

fn read_functions(fields: &mut Fields, options: &mut GenerationOptions) -> Result<Vec<SdkFunction>, Fault> {
    let Some(tools) = fields.take("tools") else { return Ok(Vec::new()) };
    let entries = tools.as_array().map_or(&[][..], Vec::as_slice);
    if MOST_FUNCTIONS < entries.len() {
        return Err(Fault::value("tools", format!("expected at most {MOST_FUNCTIONS} functions")));
    }
    if entries.iter().any(|tool| tool.pointer("/function/strict") == Some(&true.into())) {
        options.tool_call_constraint = ToolCallConstraint::Typed;
    }
    let functions = functions_from_json(&tools.to_string()).map_err(|err| Fault::value("tools", err.message()))?;
    let mut names = HashSet::new();
    if let Some(twice) = functions.iter().find(|function| !names.insert(&function.name)) {
        return Err(Fault::value("tools", format!("two functions are named {}", twice.name)));
    }
    Ok(functions)
}

/// `auto`, `none`, `required`, a function, or a choice among allowed functions.
fn read_choice(fields: &mut Fields, options: &mut GenerationOptions) -> Result<(), Fault> {
    let Some(choice) = fields.take("tool_choice") else { return Ok(()) };
    let unknown = || expected("tool_choice", "auto, none, required, a function or allowed_tools", &choice);
    let mode = |mode: &Json| match mode.as_str() {
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::None),
        Some("required") => Some(ToolChoice::Required),
        _ => None,
    };
    let name = |tool: &Json| Some(tool.pointer("/function/name")?.as_str()?.to_owned());
    options.tool_choice = match choice.get("type").and_then(Json::as_str) {
        None => mode(&choice).ok_or_else(unknown)?,
        Some("function") => ToolChoice::Function(name(&choice).ok_or_else(unknown)?),
        Some("allowed_tools") => {
            let allowed = &choice["allowed_tools"];
            let tools = allowed["tools"].as_array().ok_or_else(unknown)?;
            options.allowed_tools = Some(tools.iter().map(name).collect::<Option<_>>().ok_or_else(unknown)?);
            options.tool_call_constraint = ToolCallConstraint::Typed;
            mode(&allowed["mode"]).ok_or_else(unknown)?
        }
        Some(_) => return Err(unknown()),
    };
    Ok(())
}

/// The schema that the reply's text must fit, if any.
fn read_format(fields: &mut Fields) -> Result<Option<String>, Fault> {
    let Some(format) = fields.take("response_format") else { return Ok(None) };
    match format["type"].as_str() {
        Some("text") => Ok(None),
        Some("json_object") => Ok(Some(ANY_OBJECT.to_owned())),
        Some("json_schema") => match &format["json_schema"]["schema"] {
            schema @ Json::Object(_) => Ok(Some(schema.to_string())),
            other => Err(expected("response_format.json_schema.schema", "a JSON Schema", other)),
        },
        _ => Err(expected("response_format", "text, json_object or json_schema", &format)),
    }
}
