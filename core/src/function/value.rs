//! Values of arguments: the types of JSON, with integers that are exact at any size.

use std::fmt::{self, Write};

use causerie_jinja::{python_float, write_json_string};
use indexmap::IndexMap;

use crate::error::{ErrorKind, Result, SdkError};

/// The arguments of a call, in the order in which the model wrote them.
///
/// ```
/// use causerie::{Arguments, Value};
/// let arguments = Arguments::from([("city".to_owned(), "Oslo".into()), ("days".to_owned(), Value::Integer(3))]);
/// assert_eq!(Value::Object(arguments).to_string(), r#"{"city": "Oslo", "days": 3}"#);
/// ```
pub type Arguments = IndexMap<String, Value>;

/// A value inside a call's arguments. Its `Display` is JSON text, spaced as Python's `json.dumps` spaces it.
///
/// ```
/// use causerie::Value;
/// let tags = Value::Array(vec!["a".into(), Value::Integer(3), Value::Number(2.0)]);
/// assert_eq!(tags.to_string(), r#"["a", 3, 2.0]"#);
///
/// // From and into values of serde_json.
/// let place = Value::from(serde_json::json!({"city": "Oslo"}));
/// assert_eq!(serde_json::Value::try_from(place)?["city"], "Oslo");
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Null, or Python's None.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer that fits 64 bits.
    Integer(i64),
    /// A larger integer, exact.
    BigInteger(BigInteger),
    /// Any other number; always finite.
    Number(f64),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object, its members in the order written.
    Object(Arguments),
}

/// An integer beyond 64 bits, as its decimal digits with an optional leading minus.
///
/// ```
/// let causerie::Value::BigInteger(number) = causerie::read_json("123456789012345678901").unwrap() else { panic!("the integer is large") };
/// assert_eq!(number.digits(), "123456789012345678901");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BigInteger(String);

impl BigInteger {
    /// Reads decimal digits with an optional leading `-` and no leading zeros. Returns `None` for anything else, and for
    /// integers that fit an `i64`.
    ///
    /// ```
    /// use causerie::BigInteger;
    /// assert!(BigInteger::from_digits("9223372036854775808").is_some());
    /// assert!(BigInteger::from_digits("12").is_none()); // this is a `Value::Integer`
    /// ```
    pub fn from_digits(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_number = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && !digits.is_empty() && text.parse::<i64>().is_err()).then(|| Self(text.to_owned()))
    }

    /// The decimal digits, with a leading `-` if the integer is negative.
    ///
    /// ```
    /// let number = causerie::BigInteger::from_digits("-9223372036854775809").unwrap();
    /// assert_eq!(number.digits(), "-9223372036854775809");
    /// ```
    pub fn digits(&self) -> &str {
        &self.0
    }
}

impl Value {
    /// The text, if this is a string.
    ///
    /// ```
    /// use causerie::Value;
    /// assert_eq!(Value::from("Oslo").as_str(), Some("Oslo"));
    /// assert_eq!(Value::Integer(3).as_str(), None);
    /// ```
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if this is an integer or another number. Integers beyond 2^53 may be rounded.
    ///
    /// ```
    /// use causerie::Value;
    /// assert_eq!(Value::Integer(3).as_f64(), Some(3.0));
    /// assert_eq!(Value::from("3").as_f64(), None);
    /// ```
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Integer(integer) => Some(*integer as f64), // rounding is documented
            Self::BigInteger(integer) => integer.digits().parse().ok(),
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The member of this name, if this is an object that has one.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(entries) => entries.get(name),
            _ => None,
        }
    }

    /// The value in words, for a message about what was found: a short scalar itself, else the type.
    pub(crate) fn described(&self) -> String {
        const MAX_BYTES: usize = 40; // bytes
        let type_name = match self {
            Self::Null | Self::Bool(_) => return self.to_string(),
            Self::Array(_) => return "an array".to_owned(),
            Self::Object(_) => return "an object".to_owned(),
            Self::Integer(_) | Self::BigInteger(_) => "an integer",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
        };
        Some(self.to_string()).filter(|text| text.len() <= MAX_BYTES).unwrap_or_else(|| type_name.to_owned())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}

impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Self>>(items: I) -> Self {
        Self::Array(items.into_iter().collect())
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(flag) => Self::Bool(flag),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(integer), _) => Self::Integer(integer),
                (None, Some(large)) => Self::BigInteger(BigInteger(large.to_string())),
                (None, None) => Self::Number(number.as_f64().unwrap_or_default()),
            },
            serde_json::Value::String(text) => Self::String(text),
            serde_json::Value::Array(items) => Self::Array(items.into_iter().map(Self::from).collect()),
            serde_json::Value::Object(entries) => {
                Self::Object(entries.into_iter().map(|(key, value)| (key, Self::from(value))).collect())
            }
        }
    }
}

/// serde_json has integers of 64 bits only: a larger one is [`ErrorKind::Serialization`].
impl TryFrom<Value> for serde_json::Value {
    type Error = SdkError;

    fn try_from(value: Value) -> Result<Self> {
        Ok(match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => flag.into(),
            Value::Integer(integer) => integer.into(),
            Value::BigInteger(integer) => match integer.digits().parse::<u64>() {
                Ok(integer) => integer.into(),
                Err(_) => {
                    let message = format!("integers must fit 64 bits, found {}", integer.digits());
                    return Err(SdkError::new(ErrorKind::Serialization, message));
                }
            },
            Value::Number(number) => number.into(),
            Value::String(text) => text.into(),
            Value::Array(items) => Self::Array(items.into_iter().map(Self::try_from).collect::<Result<_>>()?),
            Value::Object(entries) => {
                let entries = entries.into_iter().map(|(name, value)| Ok((name, Self::try_from(value)?)));
                Self::Object(entries.collect::<Result<_>>()?)
            }
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(flag) => write!(f, "{flag}"),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::BigInteger(integer) => f.write_str(integer.digits()),
            Self::Number(number) => f.write_str(&python_float(*number)),
            Self::String(text) => write_json_string(f, text),
            Self::Array(items) => {
                f.write_char('[')?;
                for (i, item) in items.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    item.fmt(f)?;
                }
                f.write_char(']')
            }
            Self::Object(entries) => {
                f.write_char('{')?;
                for (i, (key, value)) in entries.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    write_json_string(f, key)?;
                    f.write_str(": ")?;
                    value.fmt(f)?;
                }
                f.write_char('}')
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_python() {
        for (number, expect) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
        ] {
            assert_eq!(python_float(number), expect);
        }
    }

    #[test]
    fn json_text_is_spaced_and_escaped_as_in_python() {
        let json: serde_json::Value = serde_json::from_str(r#"{"b": [1, null, true], "a": "é\"\u0007/</"}"#).unwrap();
        assert_eq!(Value::from(json).to_string(), r#"{"b": [1, null, true], "a": "é\"\u0007/</"}"#);
    }

    /// Recorded from Python by `scripts/golden`.
    #[derive(serde::Deserialize)]
    struct Golden {
        floats: Vec<Float>,
        strings: Vec<Text>,
    }

    #[derive(serde::Deserialize)]
    struct Float {
        bits: String,
        repr: String,
        dumps: String,
    }

    #[derive(serde::Deserialize)]
    struct Text {
        text: String,
        dumps: String,
    }

    fn golden() -> Golden {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/python_repr.json");
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    #[test]
    fn recorded_floats_print_as_python_printed_them() {
        for float in golden().floats {
            let number = f64::from_bits(u64::from_str_radix(&float.bits, 16).unwrap());
            let expect = if number.is_finite() { float.repr } else { float.dumps };
            assert_eq!(python_float(number), expect);
        }
    }

    #[test]
    fn recorded_strings_print_as_python_printed_them() {
        for text in golden().strings {
            assert_eq!(Value::String(text.text).to_string(), text.dumps);
        }
    }

    #[test]
    fn only_numbers_beyond_64_bits_are_big() {
        assert!(BigInteger::from_digits("9223372036854775807").is_none());
        assert!(BigInteger::from_digits("9223372036854775808").is_some());
        assert!(BigInteger::from_digits("-9223372036854775809").is_some());
        for bad in ["", "-", "09223372036854775808", "92233720368547758080x", "+92233720368547758080"] {
            assert!(BigInteger::from_digits(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn values_of_serde_json_come_back_as_they_were() {
        let json: serde_json::Value =
            serde_json::from_str(r#"{"z": [null, true, -3, 18446744073709551615, 0.5, "a"], "a": {}}"#).unwrap();
        assert_eq!(serde_json::Value::try_from(Value::from(json.clone())).unwrap().to_string(), json.to_string());
        let large = Value::BigInteger(BigInteger::from_digits("18446744073709551616").unwrap());
        let err = serde_json::Value::try_from(Value::Array(vec![large])).unwrap_err();
        assert_eq!(err.to_string(), "integers must fit 64 bits, found 18446744073709551616");
    }
}
