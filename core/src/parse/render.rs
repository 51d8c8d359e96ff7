//! Writes calls the way models write them, for a prompt. Parsing the text gives the same calls if their names are
//! identifiers and no argument nests deeper than 64.

use crate::function::{Arguments, SdkFunctionCall, Value};
use crate::parse::marker::{JSON_END, JSON_START};
use crate::parse::python::is_name;

/// Calls in Python style, without the markers around them: `[get_weather(city="Oslo", days=3)]`.
///
/// ```
/// use causerie::{SdkFunctionCall, Value, render_calls};
///
/// let arguments = [("city".to_owned(), "Oslo".into()), ("days".to_owned(), Value::Integer(3))];
/// let call = SdkFunctionCall {
///     name: "get_weather".into(),
///     arguments: arguments.into_iter().collect(),
///     ..Default::default()
/// };
/// assert_eq!(render_calls(&[call]), r#"[get_weather(city="Oslo", days=3)]"#);
/// ```
pub fn render_calls(calls: &[SdkFunctionCall]) -> String {
    format!("[{}]", joined(calls.iter().map(python_call)))
}

/// Calls in JSON style, each between its own tags.
///
/// ```
/// use causerie::{SdkFunctionCall, render_json_calls};
///
/// let call = SdkFunctionCall { name: "ping".into(), ..Default::default() };
/// assert_eq!(render_json_calls(&[call]), "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>");
/// ```
pub fn render_json_calls(calls: &[SdkFunctionCall]) -> String {
    let blocks: Vec<_> = calls.iter().map(json_block).collect();
    blocks.join("\n")
}

fn json_block(call: &SdkFunctionCall) -> String {
    let parts = [
        ("name".to_owned(), Value::String(call.name.clone())),
        ("arguments".to_owned(), Value::Object(call.arguments.clone())),
    ];
    format!("{}\n{}\n{}", JSON_START.0, Value::Object(Arguments::from_iter(parts)), JSON_END.0)
}

fn python_call(call: &SdkFunctionCall) -> String {
    let arguments = call.arguments.iter().map(|(name, value)| {
        let value = python(value);
        // A name that is not an identifier can still be a key.
        if is_name(name) { format!("{name}={value}") } else { format!("**{{{}: {value}}}", Value::from(name.as_str())) }
    });
    format!("{}({})", call.name, joined(arguments))
}

/// Writes a value as Python, but objects and everything in them as JSON. Every JSON string is also a Python string.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(python))),
        other => other.to_string(),
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}
