//! Values of options as Rust's types.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use causerie::{Arguments, ContextPolicy, ErrorKind, FunctionCallParser, Result, SdkError, ToolChoice, Value};

/// A type that an option can have.
pub(crate) trait OptionType: Sized {
    /// What a value must be, for the error.
    fn expected() -> String;

    fn read(value: &Value) -> Option<Self>;
}

/// Reads an option's value.
pub(crate) fn read<T: OptionType>(name: &'static str, value: &Value) -> Result<T> {
    T::read(value).ok_or_else(|| {
        let found = match value {
            Value::Array(_) => "an array".to_owned(),
            Value::Object(_) => "an object".to_owned(),
            other => other.to_string(),
        };
        SdkError::new(ErrorKind::InvalidOption(name), format!("{name} must be {}, found {found}", T::expected()))
    })
}

/// Null is the default.
impl<T: OptionType> OptionType for Option<T> {
    fn expected() -> String {
        T::expected()
    }

    fn read(value: &Value) -> Option<Self> {
        if *value == Value::Null { Some(None) } else { T::read(value).map(Some) }
    }
}

impl OptionType for f32 {
    fn expected() -> String {
        "a number".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_f64().map(|number| number as f32) // every option has the precision of f32
    }
}

impl OptionType for u64 {
    fn expected() -> String {
        "an integer from 0 on".to_owned()
    }

    /// A number without a fraction counts as an integer: languages such as JavaScript have no others.
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Integer(integer) => Self::try_from(*integer).ok(),
            Value::BigInteger(integer) => integer.digits().parse().ok(),
            // Exact: integers up to 2^53 have all their digits.
            Value::Number(number) if number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(number) => {
                Some(*number as Self)
            }
            _ => None,
        }
    }
}

impl OptionType for usize {
    fn expected() -> String {
        u64::expected()
    }

    fn read(value: &Value) -> Option<Self> {
        u64::read(value)?.try_into().ok()
    }
}

impl OptionType for bool {
    fn expected() -> String {
        "true or false".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

impl OptionType for String {
    fn expected() -> String {
        "a string".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl OptionType for Vec<String> {
    fn expected() -> String {
        "a string or an array of strings".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(vec![text.clone()]),
            Value::Array(texts) => texts.iter().map(String::read).collect(),
            _ => None,
        }
    }
}

impl OptionType for Duration {
    fn expected() -> String {
        "a number of seconds from 0 on".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        Self::try_from_secs_f64(value.as_f64()?).ok()
    }
}

impl OptionType for BTreeMap<u32, f32> {
    fn expected() -> String {
        "an object of numbers by the ids of tokens".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        let Value::Object(members) = value else { return None };
        members.iter().map(|(id, bias)| Some((id.parse().ok()?, f32::read(bias)?))).collect()
    }
}

impl OptionType for Arguments {
    fn expected() -> String {
        "an object".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Object(members) => Some(members.clone()),
            _ => None,
        }
    }
}

/// Choices are read by their names.
macro_rules! choices {
    ($($(#[doc = $doc:literal])* $type:ident { $($(#[$meta:meta])* $variant:ident = $word:literal,)* })*) => {$(
        impl OptionType for causerie::$type {
            fn expected() -> String {
                any_of(&[$($word),*])
            }

            fn read(value: &Value) -> Option<Self> {
                Self::named(value.as_str()?)
            }
        }
    )*};
}

causerie::__choices!(choices);
causerie::__function_names!(choices);

/// Words in a sentence: `"error", "queue" or "replace"`.
fn any_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}

impl OptionType for ContextPolicy {
    fn expected() -> String {
        any_of(&["error", "slide", "shrink"])
    }

    fn read(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "error" => Some(Self::Error),
            "slide" => Some(Self::Slide { shrink_tool_results: false }),
            "shrink" => Some(Self::Slide { shrink_tool_results: true }),
            _ => None,
        }
    }
}

impl OptionType for PathBuf {
    fn expected() -> String {
        String::expected()
    }

    fn read(value: &Value) -> Option<Self> {
        String::read(value).map(Into::into)
    }
}

impl OptionType for FunctionCallParser {
    fn expected() -> String {
        "the name of a notation, such as \"default\" or \"json\", or null".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        Self::named(value.as_str()?)
    }
}

impl OptionType for ToolChoice {
    fn expected() -> String {
        "\"auto\", \"none\", \"required\", or {\"function\": the name of one}".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Object(members) if members.len() == 1 => String::read(members.get("function")?).map(Self::Function),
            Value::String(word) => match word.as_str() {
                "auto" => Some(Self::Auto),
                "none" => Some(Self::None),
                "required" => Some(Self::Required),
                _ => None,
            },
            _ => None,
        }
    }
}
