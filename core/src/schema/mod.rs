//! Functions as JSON Schema, as the model reads them in its prompt and as function files contain them.
//!
//! This is the only translation of parameter types; prompt, validation and constrained decoding use it.

mod definitions;
mod derived;
mod given;
mod read;
mod references;
mod table;
#[cfg(test)]
mod tests;
mod types;

use crate::function::{SdkFunction, Value};

pub(crate) use definitions::{DefinitionScope, definition};
pub(crate) use derived::{completed_schema, parameter_schema, wrapped};
pub use read::functions_from_json;
pub(crate) use read::{parameters_of, read_functions};
pub use table::named_type;
pub(crate) use types::SchemaTypes;

/// The entry of a function in the tool list: its name, description and parameters.
///
/// A function that was read from JSON has its [`definition`](SdkFunction::definition) as entry. For others, keys have the order
/// `type, description, enum, items, properties, required`, and parameters the order given. Properties
/// of objects start with the required ones, as listed; the others follow sorted by name. A type directly under a parameter
/// takes the parameter's description. An empty description is left out, since a model would pay tokens for it. The definitions
/// of the parameters' schemas stand together in `$defs`.
///
/// ```
/// use causerie::{SdkFunction, SdkFunctionParameter, SdkFunctionParameterType, function_schema};
///
/// let city = SdkFunctionParameter::new("city", SdkFunctionParameterType::string(), "The city.");
/// let weather = SdkFunction::new("get_weather", "Get the weather.", vec![city]);
/// assert_eq!(
///     function_schema(&weather).to_string(),
///     r#"{"name": "get_weather", "description": "Get the weather.", "parameters": {"type": "object", "#.to_owned()
///         + r#""properties": {"city": {"type": "string", "description": "The city."}}, "required": ["city"]}}"#,
/// );
/// ```
pub fn function_schema(function: &SdkFunction) -> Value {
    given::function(function).unwrap_or_else(|| derived::function(function))
}

/// A function as an entry of chat-completions `tools`: `{"type": "function", "function": …}`.
pub(crate) fn tool_schema(function: &SdkFunction) -> Value {
    given::tool(function).unwrap_or_else(|| wrapped(function_schema(function)))
}

/// Functions as JSON text: chat-completions `tools`, which [`functions_from_json`] reads.
///
/// ```
/// let functions = [causerie::SdkFunction::new("now", "Get the time.", vec![])];
/// let text = causerie::functions_to_json(&functions);
/// assert_eq!(causerie::functions_from_json(&text)?, functions);
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub fn functions_to_json(functions: &[SdkFunction]) -> String {
    functions.iter().map(tool_schema).collect::<Value>().to_string()
}
