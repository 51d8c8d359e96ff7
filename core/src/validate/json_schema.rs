//! Values compared with a JSON Schema that no parameter type expresses: types, values, limits, and what combines them.
//!
//! Patterns, formats, references and what else has no check here pass: the app's own checks come behind these.

use crate::function::{DiagnosticCode, Value};

/// What does not fit, and where below the value.
pub(super) struct Fault {
    pub(super) path: String,
    pub(super) code: DiagnosticCode,
    pub(super) message: String,
}

/// The type of a schema that names exactly one.
pub(super) fn single_type(schema: &Value) -> Option<&str> {
    schema.get("type")?.as_str()
}

/// All that a value breaks of a schema.
pub(super) fn faults(value: &Value, schema: &Value) -> Vec<Fault> {
    let mut faults = Vec::new();
    compare(value, schema, "", &mut faults);
    faults
}

fn compare(value: &Value, schema: &Value, path: &str, faults: &mut Vec<Fault>) {
    let mut fault = |code, message: String| faults.push(Fault { path: path.to_owned(), code, message });
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        Some(single) => single.as_str().into_iter().collect(),
        None => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| is_of_type(value, name)) {
        return fault(DiagnosticCode::WrongType, format!("is not of type {}", types.join(" or ")));
    }
    let listed = schema.get("enum").cloned().or_else(|| Some(Value::Array(vec![schema.get("const")?.clone()])));
    if let Some(Value::Array(allowed)) = listed
        && !allowed.iter().any(|candidate| is_equal(candidate, value))
    {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        fault(DiagnosticCode::NotInEnum, format!("is none of {}", allowed.join(", ")));
    }
    for rule in broken_limits(value, schema) {
        fault(DiagnosticCode::WrongType, rule);
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(schemas)) = schema.get(key) else { continue };
        if !schemas.is_empty() && schemas.iter().all(|schema| !self::faults(value, schema).is_empty()) {
            fault(DiagnosticCode::WrongType, "fits none of the forms that it may have".to_owned());
        }
    }
    if let Some(Value::Array(schemas)) = schema.get("allOf") {
        schemas.iter().for_each(|schema| compare(value, schema, path, faults));
    }
    match value {
        Value::Array(items) => {
            let Some(schema @ Value::Object(_)) = schema.get("items") else { return };
            for (i, item) in items.iter().enumerate() {
                compare(item, schema, &format!("{path}[{i}]"), faults);
            }
        }
        Value::Object(entries) => {
            if let Some(Value::Array(required)) = schema.get("required") {
                for name in required.iter().filter_map(Value::as_str).filter(|name| !entries.contains_key(*name)) {
                    let path = format!("{path}.{name}");
                    faults.push(Fault {
                        path,
                        code: DiagnosticCode::MissingRequired,
                        message: "is missing".to_owned(),
                    });
                }
            }
            let others = schema.get("additionalProperties").filter(|_| schema.get("patternProperties").is_none());
            for (name, value) in entries {
                let path = format!("{path}.{name}");
                let declared = schema.get("properties").and_then(|properties| properties.get(name));
                match declared.or(others) {
                    Some(Value::Bool(false)) => {
                        let message = "is not declared".to_owned();
                        faults.push(Fault { path, code: DiagnosticCode::UndeclaredArgument, message });
                    }
                    Some(schema) => compare(value, schema, &path, faults),
                    None => {}
                }
            }
        }
        _ => {}
    }
}

/// The limits of a number, or of a text's or list's length, that a value breaks.
fn broken_limits(value: &Value, schema: &Value) -> impl Iterator<Item = String> {
    let (measured, limits) = match value {
        Value::Integer(_) | Value::BigInteger(_) | Value::Number(_) => {
            (value.as_f64(), [("minimum", "maximum"), ("exclusiveMinimum", "exclusiveMaximum")])
        }
        Value::String(text) => (Some(text.chars().count() as f64), [("minLength", "maxLength"); 2]),
        Value::Array(items) => (Some(items.len() as f64), [("minItems", "maxItems"); 2]),
        _ => (None, [("", ""); 2]),
    };
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let [(least, most), (above, below)] = limits;
    let is_number = least != above;
    let broken = [
        (least, number(least).filter(|limit| measured.is_some_and(|measured| measured < *limit))),
        (most, number(most).filter(|limit| measured.is_some_and(|measured| *limit < measured))),
        (above, number(above).filter(|limit| is_number && measured.is_some_and(|measured| measured <= *limit))),
        (below, number(below).filter(|limit| is_number && measured.is_some_and(|measured| *limit <= measured))),
    ];
    let broken = broken.into_iter().filter_map(|(key, limit)| Some(format!("breaks its {key} of {}", limit?)));
    broken.collect::<Vec<_>>().into_iter()
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => *value == Value::Null,
        "boolean" => matches!(value, Value::Bool(_)),
        "integer" => match value {
            Value::Integer(_) | Value::BigInteger(_) => true,
            Value::Number(number) => number.fract() == 0.0, // as JSON Schema has it
            _ => false,
        },
        "number" => matches!(value, Value::Integer(_) | Value::BigInteger(_) | Value::Number(_)),
        "string" => matches!(value, Value::String(_)),
        "array" => matches!(value, Value::Array(_)),
        "object" => matches!(value, Value::Object(_)),
        _ => true, // no type of JSON Schema
    }
}

/// Numbers are equal by value, as JSON Schema has it.
fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Integer(_) | Value::Number(_), Value::Integer(_) | Value::Number(_)) => a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}
