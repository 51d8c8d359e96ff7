//! Writes calls.

use crate::function::{SdkFunctionCall, Value};
use crate::notation::xml::tags::{BLOCK_END, FUNCTION, FUNCTION_END, PARAMETER, PARAMETER_END, Parameters, scan_value};

/// The body of a block with a call, as the models' templates write it; `None` if a name or a string cannot be written, because
/// it would end a tag or a value.
pub(super) fn render(call: &SdkFunctionCall) -> Option<String> {
    let mut text = format!("\n{FUNCTION}{}>\n", tag_name(&call.name)?);
    for (name, value) in &call.arguments {
        text += &format!("{PARAMETER}{}>\n{}\n{PARAMETER_END}\n", tag_name(name)?, raw(value)?);
    }
    Some(text + FUNCTION_END + "\n")
}

fn tag_name(name: &str) -> Option<&str> {
    let is_plain = !name.is_empty() && name.trim() == name && !name.contains(['<', '>', '\n']);
    is_plain.then_some(name)
}

/// The text of a value: a string as it is, other scalars as Python prints them, the rest as JSON.
fn raw(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("None".to_owned()),
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        Value::String(text) => ends_where_it_should(text).then(|| text.clone()),
        other => Some(other.to_string()).filter(|text| ends_where_it_should(text)),
    }
}

/// Whether a parser finds the end of a value where it is, and not before.
fn ends_where_it_should(text: &str) -> bool {
    let written = format!("\n{text}\n{PARAMETER_END}{FUNCTION_END}");
    let scan = scan_value((&written, 1), PARAMETER, 0, Parameters(None), true);
    scan.end == Some(1 + text.len() + 1) && !is_cut_by_block_end(text)
}

/// Whether a closing tag is followed by the beginning of a tag and then by the end of a block. A parser takes this for the end of a
/// call that was cut.
fn is_cut_by_block_end(text: &str) -> bool {
    text.match_indices(PARAMETER_END).any(|(at, tag)| {
        let after = text[at + tag.len()..].trim_start();
        let next = after.strip_prefix('<').and_then(|rest| rest.find('<'));
        next.is_some_and(|next| after[1 + next..].starts_with(BLOCK_END))
    })
}
