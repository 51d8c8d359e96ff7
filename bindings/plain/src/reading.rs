//! Values of options as Rust's types.

use std::collections::BTreeMap;
use std::time::Duration;

use causerie::{
    Arguments, CacheType, ContextPolicy, Device, ErrorKind, FunctionCallParser, FunctionNames, OnBusy, OnCancel,
    Result, SdkError, SpeechMode, Strictness, ToolCallConstraint, ToolChoice, Value, WeightMemory,
};

/// A type that an option can have.
pub(crate) trait OptionType: Sized {
    /// What a value must be, for the error.
    const EXPECTED: &str;

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
        SdkError::new(ErrorKind::InvalidOption(name), format!("{name} must be {}, found {found}", T::EXPECTED))
    })
}

/// Null is the default.
impl<T: OptionType> OptionType for Option<T> {
    const EXPECTED: &str = T::EXPECTED;

    fn read(value: &Value) -> Option<Self> {
        if *value == Value::Null { Some(None) } else { T::read(value).map(Some) }
    }
}

impl OptionType for f32 {
    const EXPECTED: &str = "a number";

    fn read(value: &Value) -> Option<Self> {
        value.as_f64().map(|number| number as f32) // every option has the precision of f32
    }
}

impl OptionType for u64 {
    const EXPECTED: &str = "an integer from 0 on";

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
    const EXPECTED: &str = u64::EXPECTED;

    fn read(value: &Value) -> Option<Self> {
        u64::read(value)?.try_into().ok()
    }
}

impl OptionType for bool {
    const EXPECTED: &str = "true or false";

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

impl OptionType for String {
    const EXPECTED: &str = "a string";

    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl OptionType for Vec<String> {
    const EXPECTED: &str = "a string or an array of strings";

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(vec![text.clone()]),
            Value::Array(texts) => texts.iter().map(String::read).collect(),
            _ => None,
        }
    }
}

impl OptionType for Duration {
    const EXPECTED: &str = "a number of seconds from 0 on";

    fn read(value: &Value) -> Option<Self> {
        Self::try_from_secs_f64(value.as_f64()?).ok()
    }
}

impl OptionType for BTreeMap<u32, f32> {
    const EXPECTED: &str = "an object of numbers by the ids of tokens";

    fn read(value: &Value) -> Option<Self> {
        let Value::Object(members) = value else { return None };
        members.iter().map(|(id, bias)| Some((id.parse().ok()?, f32::read(bias)?))).collect()
    }
}

impl OptionType for Arguments {
    const EXPECTED: &str = "an object";

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Object(members) => Some(members.clone()),
            _ => None,
        }
    }
}

/// A type whose values have names.
macro_rules! words {
    ($type:ty, $expected:literal, $($word:literal => $value:expr),*) => {
        impl OptionType for $type {
            const EXPECTED: &str = $expected;

            fn read(value: &Value) -> Option<Self> {
                match value.as_str()? {
                    $($word => Some($value),)*
                    _ => None,
                }
            }
        }
    };
}

words!(Strictness, "\"recover\" or \"strict\"", "recover" => Self::Recover, "strict" => Self::Strict);
words!(ToolCallConstraint, "\"off\" or \"typed\"", "off" => Self::Off, "typed" => Self::Typed);
words!(OnCancel, "\"keep_partial\", \"drop_partial\" or \"drop_turn\"",
    "keep_partial" => Self::KeepPartial, "drop_partial" => Self::DropPartial, "drop_turn" => Self::DropTurn);
words!(OnBusy, "\"error\", \"queue\" or \"replace\"",
    "error" => Self::Error, "queue" => Self::Queue, "replace" => Self::Replace);
words!(ContextPolicy, "\"error\", \"slide\" or \"shrink\"", "error" => Self::Error,
    "slide" => Self::Slide { shrink_tool_results: false }, "shrink" => Self::Slide { shrink_tool_results: true });
words!(SpeechMode, "\"auto\", \"off\", \"sequential\" or \"interleaved\"", "auto" => Self::Auto, "off" => Self::Off,
    "sequential" => Self::Sequential, "interleaved" => Self::Interleaved);
words!(Device, "\"cpu\", \"gpu\", \"auto\" or \"metal\"",
    "cpu" => Self::Cpu, "gpu" => Self::Gpu, "auto" => Self::Auto, "metal" => Self::Metal);
words!(CacheType, "\"f16\", \"f32\" or \"q8_0\"", "f16" => Self::F16, "f32" => Self::F32, "q8_0" => Self::Q8_0);
words!(FunctionNames, "\"plain\" or \"dotted\"", "plain" => Self::Plain, "dotted" => Self::Dotted);
words!(WeightMemory, "\"mapped\", \"copied\" or \"auto\"",
    "mapped" => Self::Mapped, "copied" => Self::Copied, "auto" => Self::Auto);

impl OptionType for FunctionCallParser {
    const EXPECTED: &str = "the name of a notation, such as \"default\" or \"json\", or null";

    fn read(value: &Value) -> Option<Self> {
        Self::named(value.as_str()?)
    }
}

impl OptionType for ToolChoice {
    const EXPECTED: &str = "\"auto\", \"none\", \"required\", or {\"function\": the name of one}";

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
