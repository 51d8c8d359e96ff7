//! Writes calls the way models write them, for a prompt. Parsing the text gives the same calls if their names are
//! identifiers and no argument nests deeper than 64.

use crate::function::{Arguments, SdkFunctionCall, Value};
use crate::options::FunctionCallParser;
use crate::parse::notation::{Notation, TAG, TAG_END};
use crate::parse::python::is_name;
use crate::parse::written::Written;
use crate::parse::{gemma, mistral, xml};

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

/// Calls in a notation, with the markers around them that the model's vocabulary has. `None` if a name or a string cannot be
/// written in it.
pub(crate) fn render(
    parser: FunctionCallParser,
    calls: &[SdkFunctionCall],
    has_control: impl Fn(&str) -> bool,
) -> Option<Vec<Written>> {
    let blocks = Notation::of(parser).blocks;
    let (start, end) = *blocks.iter().find(|(start, _)| has_control(start)).unwrap_or(&blocks[0]);
    let marked = |text: String| vec![Written::Marker(start), Written::Text(text), Written::Marker(end)];
    let objects = |arguments: &str| calls.iter().map(|call| json_call(call, arguments)).collect::<Vec<_>>();
    match parser {
        FunctionCallParser::ModelFunctionCallParser | FunctionCallParser::DefaultFunctionCallParser => {
            Some(marked(render_calls(calls)))
        }
        FunctionCallParser::JsonStyleFunctionCallParser => {
            let bodies = objects("arguments").into_iter().map(|object| format!("\n{object}\n"));
            Some(in_blocks(bodies, start, end))
        }
        FunctionCallParser::XmlFunctionCallParser => {
            let bodies: Option<Vec<String>> = calls.iter().map(xml::render).collect();
            Some(in_blocks(bodies?.into_iter(), start, end))
        }
        FunctionCallParser::GemmaFunctionCallParser => gemma::render(calls, (start, end)),
        FunctionCallParser::MistralFunctionCallParser => mistral::render(calls, start, has_control(mistral::ARGUMENTS)),
        FunctionCallParser::LlamaFunctionCallParser => Some(vec![Written::Text(objects("parameters").join("; "))]),
        FunctionCallParser::PhiFunctionCallParser => Some(marked(format!("[{}]", objects("arguments").join(", ")))),
    }
}

/// Bodies of blocks, each between its own markers, a line end between blocks.
fn in_blocks(bodies: impl Iterator<Item = String>, start: &'static str, end: &'static str) -> Vec<Written> {
    let mut written = Vec::new();
    for body in bodies {
        if !written.is_empty() {
            written.push(Written::Text("\n".to_owned()));
        }
        written.extend([Written::Marker(start), Written::Text(body), Written::Marker(end)]);
    }
    written
}

fn json_block(call: &SdkFunctionCall) -> String {
    format!("{}\n{}\n{}", TAG.0, json_call(call, "arguments"), TAG_END.0)
}

fn json_call(call: &SdkFunctionCall, arguments: &str) -> String {
    let parts = [
        ("name".to_owned(), Value::String(call.name.clone())),
        (arguments.to_owned(), Value::Object(call.arguments.clone())),
    ];
    Value::Object(Arguments::from_iter(parts)).to_string()
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
