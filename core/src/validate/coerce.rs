//! Coerces values to a type, if there is one obvious way.

use crate::function::{DiagnosticCode, SdkFunctionParameterType, Value};
use crate::notation::{number_of, read_json};

/// The float below which every integer is exact.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0; // 2^53

/// A type in words, with its article, for a message.
pub(super) fn name(wanted: &SdkFunctionParameterType) -> &'static str {
    match wanted {
        SdkFunctionParameterType::SdkStr { .. } => "a string",
        SdkFunctionParameterType::SdkNum { .. } => "a number",
        SdkFunctionParameterType::SdkInt { .. } => "an integer",
        SdkFunctionParameterType::SdkBool { .. } => "a boolean",
        SdkFunctionParameterType::SdkArr { .. } => "an array",
        SdkFunctionParameterType::SdkObj { .. } => "an object",
        SdkFunctionParameterType::SdkNull => "null",
    }
}

/// Whether a value has a type, apart from its elements, members and enum values. An integer is also a number.
pub(super) fn is_of_type(value: &Value, wanted: &SdkFunctionParameterType) -> bool {
    use SdkFunctionParameterType::{SdkArr, SdkBool, SdkInt, SdkNull, SdkNum, SdkObj, SdkStr};
    match value {
        Value::Null => *wanted == SdkNull,
        Value::Bool(_) => matches!(wanted, SdkBool { .. }),
        Value::Integer(_) | Value::BigInteger(_) => matches!(wanted, SdkInt { .. } | SdkNum { .. }),
        Value::Number(_) => matches!(wanted, SdkNum { .. }),
        Value::String(_) => matches!(wanted, SdkStr { .. }),
        Value::Array(_) => matches!(wanted, SdkArr { .. }),
        Value::Object(_) => matches!(wanted, SdkObj { .. }),
    }
}

/// The value, changed if that makes it fit, and how it was changed. `written` is the same value with numbers as strings,
/// exactly as the model wrote them, if that is known.
pub(super) fn to_type(
    value: Value,
    wanted: &SdkFunctionParameterType,
    written: Option<&Value>,
) -> (Value, Option<DiagnosticCode>) {
    use SdkFunctionParameterType::{SdkArr, SdkBool, SdkInt, SdkNum, SdkObj, SdkStr};
    if is_of_type(&value, wanted) {
        return (value, None);
    }
    let coerced = match (&value, wanted) {
        (Value::Number(number), SdkInt { .. }) => whole(*number).map(|value| (value, DiagnosticCode::FloatToInt)),
        (Value::Integer(_) | Value::BigInteger(_) | Value::Number(_), SdkStr { .. }) => {
            // An app may have changed the arguments since they were written.
            let lexeme = written.and_then(Value::as_str).filter(|lexeme| number_of(lexeme).as_ref() == Some(&value));
            let text = lexeme.map_or_else(|| value.to_string(), str::to_owned);
            Some((Value::String(text), DiagnosticCode::NumberToString))
        }
        (Value::String(text), SdkNum { .. } | SdkInt { .. }) => {
            let read = read_json(text.trim()).map(|read| match (read, wanted) {
                (Value::Number(number), SdkInt { .. }) => whole(number).unwrap_or(Value::Number(number)),
                (read, _) => read,
            });
            read.filter(|read| is_of_type(read, wanted)).map(|read| (read, DiagnosticCode::StringToNumber))
        }
        (Value::String(text), SdkBool { .. }) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some((Value::Bool(true), DiagnosticCode::StringToBool)),
            "false" => Some((Value::Bool(false), DiagnosticCode::StringToBool)),
            _ => None,
        },
        (Value::String(text), SdkArr { .. } | SdkObj { .. }) => {
            let read = read_json(text.trim()).filter(|read| is_of_type(read, wanted));
            read.map(|read| (read, DiagnosticCode::StringToJson))
        }
        _ => None,
    };
    match coerced {
        Some((fitting, code)) => (fitting, Some(code)),
        None => (value, None),
    }
}

fn whole(number: f64) -> Option<Value> {
    // Exact: whole, and below 2^53.
    (number.fract() == 0.0 && number.abs() < MAX_EXACT).then_some(Value::Integer(number as i64))
}

/// The values that an enum allows; `None` if all are allowed.
pub(super) fn allowed(wanted: &SdkFunctionParameterType) -> Option<Vec<Value>> {
    match wanted {
        SdkFunctionParameterType::SdkStr { enum_values, .. } => {
            enum_values.as_ref().map(|values| values.iter().map(|value| value.as_str().into()).collect())
        }
        SdkFunctionParameterType::SdkNum { enum_values, .. } => {
            enum_values.as_ref().map(|values| values.iter().copied().map(Value::Number).collect())
        }
        SdkFunctionParameterType::SdkInt { enum_values, .. } => {
            enum_values.as_ref().map(|values| values.iter().copied().map(Value::Integer).collect())
        }
        _ => None,
    }
}

/// The only allowed string that differs from a value in nothing but case; `None` if the value itself is allowed.
pub(super) fn alike<'a>(allowed: &'a [Value], value: &Value) -> Option<&'a Value> {
    let lower = value.as_str()?.to_lowercase();
    let is_alike = |candidate: &&Value| candidate.as_str().is_some_and(|text| text.to_lowercase() == lower);
    let mut alike = allowed.iter().filter(is_alike);
    let only = alike.next().filter(|only| *only != value)?;
    alike.next().is_none().then_some(only)
}

/// Whether two values are equal; 3 and 3.0 are.
pub(super) fn is_equal(a: &Value, b: &Value) -> bool {
    a == b || (a.as_f64().is_some() && a.as_f64() == b.as_f64())
}

/// The type that JSON Schema calls by this name.
pub(super) fn type_of(name: &str) -> Option<SdkFunctionParameterType> {
    use SdkFunctionParameterType::{SdkBool, SdkNull, SdkObj};
    Some(match name {
        "string" => SdkFunctionParameterType::string(),
        "integer" => SdkFunctionParameterType::integer(),
        "number" => SdkFunctionParameterType::number(),
        "boolean" => SdkBool { description: None },
        "array" => SdkFunctionParameterType::array(SdkNull),
        "object" => SdkObj { properties: Default::default(), required: Vec::new(), description: None },
        _ => return None,
    })
}
