//! Writes calls the way models write them, for a prompt. Parsing the text gives the same calls if their names are
//! identifiers and no argument nests deeper than 64.

use crate::function::SdkFunctionCall;
use crate::notation::definition::BlockSpelling;
use crate::notation::marker::{TAG, TAG_END};
use crate::notation::written::Written;
use crate::notation::{Notation, json, python};

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
    python::render::list(calls)
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
    notation: &Notation,
    calls: &[SdkFunctionCall],
    has_control: impl Fn(&str) -> bool,
) -> Option<Vec<Written>> {
    let blocks = notation.blocks;
    let (start, end) = *blocks.iter().find(|(start, _)| has_control(start)).unwrap_or(&blocks[0]);
    (notation.render)(calls, &BlockSpelling { start, end, has_control: &has_control })
}

fn json_block(call: &SdkFunctionCall) -> String {
    format!("{}\n{}\n{}", TAG.0, json::render::object(call, "arguments"), TAG_END.0)
}
