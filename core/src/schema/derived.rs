//! The JSON Schema of functions that the app declared, made from their names, descriptions and types.

use crate::function::{Arguments, SdkFunction, SdkFunctionParameter, SdkFunctionParameterType, Value};
use crate::schema::definitions;

/// The entry of a function in the tool list, without an empty description.
pub(super) fn function(function: &SdkFunction) -> Value {
    let is_described = !function.description.is_empty();
    Value::Object(members(function).filter(|(key, _)| is_described || key != "description").collect())
}

/// The name, the description, even if it is empty, and the parameters of a function, for templates that refuse a function as
/// it was given.
pub(crate) fn completed_schema(function: &SdkFunction) -> Value {
    Value::Object(members(function).collect())
}

fn members(function: &SdkFunction) -> impl Iterator<Item = (String, Value)> {
    let mut definitions = Arguments::new();
    let properties = function.parameters.iter().map(|parameter| {
        (parameter.name.clone(), definitions::moved_out(parameter_schema(parameter), &mut definitions))
    });
    let required = function.parameters.iter().filter(|parameter| !parameter.optional);
    let mut parameters = object(properties.collect(), required.map(|parameter| parameter.name.clone()).collect());
    if !definitions.is_empty() {
        parameters.insert("$defs".to_owned(), Value::Object(definitions));
    }
    let parameters = [("type".to_owned(), Value::from("object"))].into_iter().chain(parameters).collect();
    let members = [
        ("name", Value::from(function.name.as_str())),
        ("description", Value::from(function.description.as_str())),
        ("parameters", Value::Object(parameters)),
    ];
    members.into_iter().map(|(key, value)| (key.to_owned(), value))
}

/// The schema of a parameter: the one that it was imported with, or that of its type.
pub(crate) fn parameter_schema(parameter: &SdkFunctionParameter) -> Value {
    match &parameter.schema {
        Some(schema) => described(schema.clone(), &parameter.description),
        None => type_schema(&parameter.parameter_type, Some(&parameter.description)),
    }
}

/// An entry of chat-completions `tools` with this function.
pub(crate) fn wrapped(function: Value) -> Value {
    Value::Object(Arguments::from([("type".to_owned(), Value::from("function")), ("function".to_owned(), function)]))
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
