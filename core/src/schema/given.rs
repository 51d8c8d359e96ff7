//! Functions as they were given: the JSON that they were read from, which prompts show unchanged.

use serde_json::Value as Json;

use crate::function::{Arguments, SdkFunction, Value};
use crate::schema::derived::wrapped;
use crate::schema::read::read_members;

/// The function as it was given, without the object around it.
pub(super) fn function(function: &SdkFunction) -> Option<Value> {
    let mut given = members(function)?;
    Some(given.shift_remove("function").unwrap_or(Value::Object(given)))
}

/// The function as it was given, as an entry of chat-completions `tools`.
pub(super) fn tool(function: &SdkFunction) -> Option<Value> {
    let mut given = members(function)?;
    if given.contains_key("function") {
        return Some(Value::Object(given));
    }
    // Some interfaces have the type beside the name.
    if given.get("type").and_then(Value::as_str) == Some("function") {
        given.shift_remove("type");
    }
    Some(wrapped(Value::Object(given)))
}

/// The members of a function's definition, with the function's own name, if the definition describes the function. An app may
/// have changed the function since it was read.
fn members(function: &SdkFunction) -> Option<Arguments> {
    let definition = function.definition.as_ref()?;
    let json: Json = serde_json::from_str(&definition.to_string()).ok()?;
    let read = read_members(&json, "definition").ok()?;
    if (&read.description, &read.parameters) != (&function.description, &function.parameters) {
        return None;
    }
    let Value::Object(mut given) = definition.clone() else { return None };
    let name = Value::from(function.name.as_str());
    match given.get_mut("function") {
        Some(Value::Object(wrapped)) => wrapped.insert("name".to_owned(), name),
        _ => given.insert("name".to_owned(), name),
    };
    Some(given)
}
