//! The types of parameters that all languages share, with the JSON Schema of their values.

use serde_json::Value as Json;

use crate::function::Value;

/// Numbers are exact limits of the types. A duration has hours, minutes and seconds, but neither days nor months: not all
/// platforms read these.
const TYPES: &[(&str, &str)] = &[
    ("any", "{}"),
    ("null", r#"{"type": "null"}"#),
    ("bool", r#"{"type": "boolean"}"#),
    ("string", r#"{"type": "string"}"#),
    ("char", r#"{"type": "string", "minLength": 1, "maxLength": 1}"#),
    ("char16", r#"{"type": "string", "pattern": "^[\\u0000-\\uD7FF\\uE000-\\uFFFF]$"}"#),
    ("i8", r#"{"type": "integer", "minimum": -128, "maximum": 127}"#),
    ("i16", r#"{"type": "integer", "minimum": -32768, "maximum": 32767}"#),
    ("i32", r#"{"type": "integer", "minimum": -2147483648, "maximum": 2147483647}"#),
    ("i64", r#"{"type": "integer", "minimum": -9223372036854775808, "maximum": 9223372036854775807}"#),
    ("i128", r#"{"type": "integer"}"#),
    ("u8", r#"{"type": "integer", "minimum": 0, "maximum": 255}"#),
    ("u16", r#"{"type": "integer", "minimum": 0, "maximum": 65535}"#),
    ("u32", r#"{"type": "integer", "minimum": 0, "maximum": 4294967295}"#),
    ("u64", r#"{"type": "integer", "minimum": 0, "maximum": 18446744073709551615}"#),
    ("u128", r#"{"type": "integer", "minimum": 0}"#),
    ("f32", r#"{"type": "number"}"#),
    ("f64", r#"{"type": "number"}"#),
    ("uuid", r#"{"type": "string", "format": "uuid"}"#),
    ("date", r#"{"type": "string", "format": "date"}"#),
    ("date-time", r#"{"type": "string", "format": "date-time"}"#),
    (
        "local-date-time",
        r#"{"type": "string", "pattern": "^[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$"}"#,
    ),
    (
        "duration",
        r#"{"type": "string", "pattern": "^-?PT([0-9]{1,8}H([0-9]{1,6}M)?([0-9]{1,6}(\\.[0-9]{1,9})?S)?|[0-9]{1,6}M([0-9]{1,6}(\\.[0-9]{1,9})?S)?|[0-9]{1,6}(\\.[0-9]{1,9})?S)$"}"#,
    ),
    ("ipv4", r#"{"type": "string", "format": "ipv4"}"#),
    ("ipv6", r#"{"type": "string", "format": "ipv6"}"#),
];

/// The JSON Schema of a type that all languages share; `None` for another name. The names are the names of Rust's integers and
/// floats (`u8`, `f64`, …), `bool`, `char`, `char16` (one UTF-16 unit), `string`, `any`, `null`, `uuid`, `date`, `date-time`,
/// `local-date-time`, `duration`, `ipv4` and `ipv6`.
///
/// ```
/// let schema = causerie::typed::named_type("u8").unwrap();
/// assert_eq!(schema.to_string(), r#"{"type": "integer", "minimum": 0, "maximum": 255}"#);
/// ```
pub fn named_type(name: &str) -> Option<Value> {
    let pointer_sized = [("usize", "u64"), ("isize", "i64")].into_iter().find(|(alias, _)| *alias == name);
    let name = pointer_sized.map_or(name, |(_, name)| name);
    TYPES
        .iter()
        .find(|(known, _)| *known == name)
        .and_then(|(_, schema)| serde_json::from_str::<Json>(schema).ok())
        .map(Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_schemas_are_json() {
        for (name, _) in TYPES {
            assert!(matches!(named_type(name), Some(Value::Object(_))), "{name}");
        }
        assert_eq!(named_type("usize"), named_type("u64"));
        assert_eq!(named_type("none"), None);
    }
}
