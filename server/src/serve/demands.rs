//! What a chat request demands of its reply: functions, which of them are called, and the form of its text.

use std::collections::HashSet;

use causerie::{GenerationOptions, SdkFunction, ToolCallConstraint, ToolChoice, functions_from_json};
use serde_json::{Map, Value as Json, json};

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

/// `tools` of another form, as chat completions have them: `names` are pairs of what a function's fields are called in it, and
/// in chat completions. Tools that a provider would run are left out, and told.
pub(super) fn translate_tools(
    fields: &mut Fields,
    is_function: fn(Option<&str>) -> bool,
    names: [(&str, &str); 4],
) -> Result<Option<Json>, Fault> {
    let Some(tools) = fields.take("tools") else { return Ok(None) };
    let tools = tools.as_array().ok_or_else(|| expected("tools", "an array", &tools))?;
    let mut functions = Vec::new();
    for (i, tool) in tools.iter().enumerate() {
        match tool.get("type").and_then(Json::as_str) {
            kind if is_function(kind) => {
                let field = |(name, told): (&str, &str)| Some((told.to_owned(), tool.get(name)?.clone()));
                let function: Map<_, _> =
                    names.into_iter().filter_map(field).filter(|(_, value)| !value.is_null()).collect();
                functions.push(json!({ "type": "function", "function": function }));
            }
            Some(_) => fields.ignore(format!("tools[{i}]")),
            None => return Err(Fault::value("tools", format!("tools[{i}] has no type"))),
        }
    }
    Ok(Some(Json::Array(functions)))
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

/// The schema that the reply's text must fit, if any. Which field has it differs from client to client.
fn read_format(fields: &mut Fields) -> Result<Option<String>, Fault> {
    let mut format = match fields.take("response_format") {
        None => return Ok(None),
        Some(Json::Object(format)) => Fields::of(format),
        Some(value) => return Err(expected("response_format", "an object", &value)),
    };
    let kind = format.take("type").unwrap_or_default();
    let schema = match kind.as_str() {
        Some("text") => None,
        Some("json_object") => Some(take_schema(&mut format)?.unwrap_or_else(|| ANY_OBJECT.to_owned())),
        Some("json_schema") => {
            let mut named = format.object("json_schema").map_err(|fault| fault.at("response_format"))?;
            let schema = match take_schema(&mut named)? {
                None => take_schema(&mut format)?,
                schema => schema,
            };
            format.ignore_rest("json_schema", named);
            Some(schema.ok_or_else(|| Fault::value("response_format", "response_format has no schema"))?)
        }
        _ => {
            let fault = expected("response_format.type", "text, json_object or json_schema", &kind);
            return Err(fault.at("response_format"));
        }
    };
    fields.ignore_rest("response_format", format);
    Ok(schema)
}

/// A schema, whose name and description say nothing to the model.
fn take_schema(format: &mut Fields) -> Result<Option<String>, Fault> {
    for name in ["name", "description", "strict"] {
        format.take(name);
    }
    match format.take("schema").or_else(|| format.take("value")) {
        None => Ok(None),
        Some(schema @ Json::Object(_)) => Ok(Some(schema.to_string())),
        Some(value) => Err(expected("response_format.schema", "a JSON Schema", &value).at("response_format")),
    }
}
