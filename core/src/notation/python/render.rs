//! Writes calls.

use crate::function::{SdkFunctionCall, Value};
use crate::notation::python::calls::is_name;

/// Calls as a list.
pub(crate) fn list(calls: &[SdkFunctionCall]) -> String {
    format!("[{}]", joined(calls.iter().map(call)))
}

/// One call.
pub(crate) fn call(call: &SdkFunctionCall) -> String {
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
