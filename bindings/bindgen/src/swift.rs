//! How names, types and documentation read in Swift, and what the public Swift types have beside the façade's metadata.

use heck::ToLowerCamelCase;
use uniffi_bindgen::interface::{AsType, DefaultValue, Field, Literal, Type};

use crate::tables::{in_camel_case, is_on};

/// Values for which there is a hand-written type.
pub(crate) const OWN_TYPES: [&str; 4] = ["FunctionOutcome", "LogRecord", "MessageResponse", "RoundOptions"];

/// Interfaces that only the hand-written sources implement.
pub(crate) const OWN_INTERFACES: [&str; 2] = ["LoadProgress", "LogSink"];

/// Defaults that the metadata cannot express.
const DEFAULTS: [(&str, &str); 1] = [("function_call_parser", ".model")];

/// Fields around which properties are written by hand, or whose names are taken: `description` is the text of any value.
/// `uniffi.toml` has the same names.
const FIELDS: [(&str, &str, &str); 4] = [
    ("SdkFunction", "description", "functionDescription"),
    ("SdkFunctionParameter", "description", "parameterDescription"),
    ("SdkFunctionCall", "arguments", "argumentsObject"),
    ("Validation", "arguments", "argumentsObject"),
];

const KEYWORDS: [&str; 6] = ["default", "internal", "in", "is", "repeat", "where"];

pub(crate) const HEADER: &str = "// Written by scripts/bindgen from the façade in bindings/src.\n\nimport Foundation\n";

pub(crate) fn member(name: &str) -> String {
    let name = name.to_lower_camel_case();
    if KEYWORDS.contains(&name.as_str()) { format!("`{name}`") } else { name }
}

pub(crate) fn field_name(record: &str, field: &str) -> String {
    let own = FIELDS.iter().find(|(of, name, _)| *of == record && *name == field);
    own.map_or_else(|| member(field), |(.., own)| (*own).to_owned())
}

pub(crate) fn type_name(kind: &Type) -> String {
    match kind {
        Type::UInt8 => "UInt8".into(),
        Type::Int8 => "Int8".into(),
        Type::UInt16 => "UInt16".into(),
        Type::Int16 => "Int16".into(),
        Type::UInt32 => "UInt32".into(),
        Type::Int32 => "Int32".into(),
        Type::UInt64 => "UInt64".into(),
        Type::Int64 => "Int64".into(),
        Type::Float32 => "Float".into(),
        Type::Float64 => "Double".into(),
        Type::Boolean => "Bool".into(),
        Type::String => "String".into(),
        Type::Bytes => "Data".into(),
        Type::Timestamp => "Date".into(),
        Type::Duration => "TimeInterval".into(),
        Type::Box { inner_type } => type_name(inner_type),
        Type::Optional { inner_type } => match &**inner_type {
            Type::CallbackInterface { name, .. } => format!("(any {name})?"),
            Type::Object { name, imp, .. } if imp.has_callback_interface() => format!("(any {name})?"),
            other => format!("{}?", type_name(other)),
        },
        Type::Sequence { inner_type } => format!("[{}]", type_name(inner_type)),
        Type::Set { inner_type } => format!("Set<{}>", type_name(inner_type)),
        Type::Map { key_type, value_type } => format!("[{}: {}]", type_name(key_type), type_name(value_type)),
        Type::Custom { name, .. } => match name.as_str() {
            "OptionText" => "String".into(),
            "SdkCount" => "Int".into(),
            "SdkLong" => "UInt64".into(),
            "JsonObject" => "SdkJsonObject".into(),
            _ => name.clone(),
        },
        Type::Object { name, imp, .. } if imp.has_callback_interface() => format!("any {name}"),
        Type::Object { name, .. }
        | Type::Record { name, .. }
        | Type::Enum { name, .. }
        | Type::CallbackInterface { name, .. } => name.clone(),
    }
}

/// The default of a field, with an equals sign; empty if it has none.
pub(crate) fn default(field: &Field) -> String {
    let own = DEFAULTS.iter().find(|(name, _)| *name == field.name()).map(|(_, value)| (*value).to_owned());
    let value = own.or_else(|| match field.default_value()? {
        DefaultValue::Default if is_on(field.name()) => Some("true".into()),
        DefaultValue::Default => Some(natural_default(&field.as_type())),
        DefaultValue::Literal(literal) => Some(match literal {
            Literal::Boolean(value) => value.to_string(),
            Literal::String(text) => format!("{text:?}"),
            Literal::UInt(value, ..) => value.to_string(),
            Literal::Int(value, ..) => value.to_string(),
            Literal::Float(text, _) => text.clone(),
            Literal::Enum(variant, _) => format!(".{}", member(variant)),
            Literal::Some { .. } | Literal::None => "nil".into(),
            Literal::EmptySequence | Literal::EmptySet => "[]".into(),
            Literal::EmptyMap => "[:]".into(),
        }),
    });
    value.map(|value| format!(" = {value}")).unwrap_or_default()
}

fn natural_default(kind: &Type) -> String {
    match kind {
        Type::Optional { .. } => "nil",
        Type::Sequence { .. } => "[]",
        Type::Map { .. } => "[:]",
        Type::Boolean => "false",
        Type::String => "\"\"",
        _ => "0",
    }
    .into()
}

/// Documentation, indented; empty if there is none.
pub(crate) fn documentation(text: Option<&str>, indent: &str) -> String {
    let Some(text) = text else { return String::new() };
    // The examples of the core are in Rust.
    let text = in_camel_case(&text.split("```").step_by(2).collect::<Vec<_>>().concat());
    text.trim().lines().map(|line| format!("{indent}/// {}", line.trim()).trim_end().to_owned() + "\n").collect()
}
