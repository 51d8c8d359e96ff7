//! Functions as JSON Schema, as the model reads them in its prompt and as function files contain them.
//!
//! This is the only translation of parameter types; prompt, validation and constrained decoding use it.

mod read;
#[cfg(test)]
mod tests;
mod types;

use crate::function::{Arguments, SdkFunction, SdkFunctionParameter, SdkFunctionParameterType, Value};

pub use read::functions_from_json;
pub(crate) use read::read_functions;
pub(crate) use types::SchemaTypes;

/// The entry of a function in the tool list: its name, description and parameters.
///
/// Keys have the order `type, description, enum, items, properties, required`, and parameters the order given. Properties
/// of objects start with the required ones, as listed; the others follow sorted by name. A type directly under a parameter
/// takes the parameter's description. An empty description of a parameter is left out, since a model would pay tokens for it.
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
    let properties = function.parameters.iter().map(|parameter| (parameter.name.clone(), parameter_schema(parameter)));
    let required = function.parameters.iter().filter(|parameter| !parameter.optional);
    let parameters = object(properties.collect(), required.map(|parameter| parameter.name.clone()).collect());
    Value::Object(Arguments::from([
        ("name".to_owned(), Value::String(function.name.clone())),
        ("description".to_owned(), Value::String(function.description.clone())),
        (
            "parameters".to_owned(),
            Value::Object([("type".to_owned(), Value::from("object"))].into_iter().chain(parameters).collect()),
        ),
    ]))
}

/// The schema of a parameter: the one that it was imported with, or that of its type.
pub(crate) fn parameter_schema(parameter: &SdkFunctionParameter) -> Value {
    match &parameter.schema {
        Some(schema) => described(schema.clone(), &parameter.description),
        None => type_schema(&parameter.parameter_type, Some(&parameter.description)),
    }
}

/// A function as an entry of chat-completions `tools`: `{"type": "function", "function": …}`.
pub(crate) fn tool_schema(function: &SdkFunction) -> Value {
    Value::Object(Arguments::from([
        ("type".to_owned(), Value::from("function")),
        ("function".to_owned(), function_schema(function)),
    ]))
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

/// A schema with a parameter's description in place of its own one.
fn described(mut schema: Value, description: &str) -> Value {
    if let Value::Object(entries) = &mut schema {
        if description.is_empty() {
            entries.shift_remove("description");
        } else {
            entries.insert("description".to_owned(), description.into());
        }
    }
    schema
}

/// The schema of a type. `description` comes from the parameter of this type, and overrides the type's own one.
fn type_schema(parameter_type: &SdkFunctionParameterType, description: Option<&str>) -> Value {
    use SdkFunctionParameterType::{SdkArr, SdkBool, SdkInt, SdkNull, SdkNum, SdkObj, SdkStr};
    let (name, own_description, rest) = match parameter_type {
        SdkStr { enum_values, description } => {
            ("string", description, enumeration(enum_values, |text| Value::String(text.clone())))
        }
        SdkNum { enum_values, description } => {
            ("number", description, enumeration(enum_values, |number| Value::Number(*number)))
        }
        SdkInt { enum_values, description } => {
            ("integer", description, enumeration(enum_values, |integer| Value::Integer(*integer)))
        }
        SdkBool { description } => ("boolean", description, Arguments::new()),
        SdkArr { item_type, description } => {
            ("array", description, Arguments::from([("items".to_owned(), type_schema(item_type, None))]))
        }
        SdkObj { properties, required, description } => {
            let needed = required.iter().filter_map(|name| properties.get_key_value(name));
            let schemas = needed.chain(properties).map(|(name, property)| (name.clone(), type_schema(property, None)));
            ("object", description, object(schemas.collect(), required.clone()))
        }
        SdkNull => ("null", &None, Arguments::new()),
    };
    let mut schema = Arguments::from([("type".to_owned(), Value::from(name))]);
    if let Some(text) = description.or(own_description.as_deref()).filter(|text| !text.is_empty()) {
        schema.insert("description".to_owned(), Value::from(text));
    }
    schema.extend(rest);
    Value::Object(schema)
}

fn enumeration<T>(values: &Option<Vec<T>>, to_value: impl Fn(&T) -> Value) -> Arguments {
    let values = values.iter().map(|values| ("enum".to_owned(), Value::Array(values.iter().map(&to_value).collect())));
    values.collect()
}

fn object(properties: Arguments, required: Vec<String>) -> Arguments {
    let mut schema = Arguments::from([("properties".to_owned(), Value::Object(properties))]);
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required.into_iter().map(Value::String).collect()));
    }
    schema
}
