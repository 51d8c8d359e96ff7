//! Functions as JSON Schema: what the model reads in its prompt, and what function files hold.
//!
//! The one translation of parameter types; prompt, validation and constrained decoding all use it.

mod read;

use crate::function::{Arguments, SdkFunction, SdkFunctionParameter, SdkFunctionParameterType, Value};

pub use read::functions_from_json;
pub(crate) use read::read_functions;

/// The entry of a function in the tool list: its name, description and parameters.
///
/// Keys stand in the order `type, description, enum, items, properties, required`; parameters in the order given;
/// properties of objects with the required ones first, as listed, and the others sorted by name. A type that stands directly under a parameter takes the parameter's
/// description, even an empty one.
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

/// The schema of a parameter: of its type, or the one that it was imported with.
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
/// let functions = [causerie::SdkFunction::new("now", "Tell the time.", vec![])];
/// let text = causerie::functions_to_json(&functions);
/// assert_eq!(causerie::functions_from_json(&text)?, functions);
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub fn functions_to_json(functions: &[SdkFunction]) -> String {
    functions.iter().map(tool_schema).collect::<Value>().to_string()
}

/// A schema with a parameter's description, where there is one to say.
fn described(mut schema: Value, description: &str) -> Value {
    if let Value::Object(entries) = &mut schema
        && (entries.contains_key("description") || !description.is_empty())
    {
        entries.insert("description".to_owned(), description.into());
    }
    schema
}

/// The schema of a type. `description` comes from where the type stands, and overrides the type's own.
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
    if let Some(text) = description.or(own_description.as_deref()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(parameter_type: SdkFunctionParameterType, expect: &str) {
        let function = SdkFunction::new("f", "", vec![SdkFunctionParameter::new("a", parameter_type, "p").optional()]);
        let expect = format!(
            r#"{{"name": "f", "description": "", "parameters": {{"type": "object", "properties": {{"a": {expect}}}}}}}"#
        );
        assert_eq!(function_schema(&function).to_string(), expect);
    }

    fn described(description: &str) -> SdkFunctionParameterType {
        SdkFunctionParameterType::SdkStr { enum_values: None, description: Some(description.into()) }
    }

    #[test]
    fn the_parameters_description_overrides_the_types() {
        check(described("own"), r#"{"type": "string", "description": "p"}"#);
    }

    #[test]
    fn only_one_level_is_overridden() {
        let array =
            SdkFunctionParameterType::SdkArr { item_type: Box::new(described("x")), description: Some("y".into()) };
        check(array, r#"{"type": "array", "description": "p", "items": {"type": "string", "description": "x"}}"#);
    }

    #[test]
    fn enum_values_keep_order_and_type() {
        let numbers = SdkFunctionParameterType::SdkNum { enum_values: Some(vec![2.0, 0.5]), description: None };
        check(numbers, r#"{"type": "number", "description": "p", "enum": [2.0, 0.5]}"#);
        let integers = SdkFunctionParameterType::SdkInt { enum_values: Some(vec![3, -1]), description: None };
        check(integers, r#"{"type": "integer", "description": "p", "enum": [3, -1]}"#);
    }

    #[test]
    fn required_properties_come_first_as_they_are_listed() {
        let object = SdkFunctionParameterType::SdkObj {
            properties: ["b", "y", "c", "z"].map(|name| (name.into(), described(name))).into(),
            required: vec!["z".into(), "c".into()],
            description: None,
        };
        check(
            object,
            r#"{"type": "object", "description": "p", "properties": {"z": {"type": "string", "description": "z"}, "c": {"type": "string", "description": "c"}, "b": {"type": "string", "description": "b"}, "y": {"type": "string", "description": "y"}}, "required": ["z", "c"]}"#,
        );
    }

    #[test]
    fn a_function_without_parameters_has_empty_properties() {
        assert_eq!(
            function_schema(&SdkFunction::new("f", "Does.", vec![])).to_string(),
            r#"{"name": "f", "description": "Does.", "parameters": {"type": "object", "properties": {}}}"#
        );
    }
}
