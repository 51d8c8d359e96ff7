//! Options for loading a model and for generating a reply, from the core's tables.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use causerie as core;
use causerie::Arguments;

use crate::json::JsonObject;
use crate::number::{SdkCount, SdkLong};

/// A type of options. A field of a record that is absent has the default.
pub trait OptionType {
    /// The type of its field in a record.
    type Field;
    /// Its type in the core.
    type Core;

    /// The value for the core.
    fn core(field: Self::Field, default: Self::Core) -> Self::Core;
}

/// Defines a record with the rows of a table, and its conversion.
macro_rules! record {
    (
        {$(#[$meta:meta])* $record:ident}
        $($(#[doc = $doc:literal])* $(#[foreign = $foreign:literal])?
        $name:ident: $type:ty $(= $default:expr)? $(, $limits:expr)?;)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, uniffi::Record)]
        pub struct $record {
            $(
                $(#[doc = $doc])*
                #[uniffi(default $(, name = $foreign)?)]
                pub $name: <$type as OptionType>::Field,
            )*
        }

        impl From<$record> for core::$record {
            fn from(options: $record) -> Self {
                let defaults = Self::default();
                Self { $($name: <$type as OptionType>::core(options.$name, defaults.$name),)* }
            }
        }
    };
}

core::__generation_options!(record {
    /// Options for generating a reply. An absent option takes the model's default, or else the default given here.
    GenerationOptions
});

core::__load_options!(record {
    /// Options for loading a model.
    LoadOptions
});

core::__sampling_defaults!(record {
    /// Sampling values that replace those that a model's files recommend.
    SamplingDefaults
});

/// Types whose values go into a record as they are.
macro_rules! plain {
    ($($type:ty),*) => {$(
        impl OptionType for $type {
            type Field = Self;
            type Core = Self;

            fn core(field: Self, _: Self) -> Self {
                field
            }
        }
    )*};
}

plain!(bool, Option<bool>, Option<f32>, Option<String>, Vec<String>, Option<Vec<String>>);

/// Types whose values have another one in a record.
macro_rules! converted {
    ($($type:ty => Option<$field:ty>: |$value:pat_param| $core:expr;)*) => {$(
        impl OptionType for $type {
            type Field = Option<$field>;
            type Core = Self;

            fn core(field: Self::Field, default: Self) -> Self {
                field.map_or(default, |$value| $core)
            }
        }
    )*};
}

converted! {
    Option<usize> => Option<SdkCount>: |count| Some(count.size());
    Option<u64> => Option<SdkLong>: |number| Some(number.0);
    u64 => Option<SdkLong>: |number| number.0;
    Option<Duration> => Option<SdkLong>: |milliseconds| Some(Duration::from_millis(milliseconds.0));
    Option<PathBuf> => Option<String>: |path| Some(path.into());
    Arguments => Option<JsonObject>: |object| object.0;
    BTreeMap<u32, f32> => Option<HashMap<SdkCount, f32>>: |biases| biases.into_iter().map(|(id, bias)| (id.0, bias)).collect();
}

/// Without a parser, parsing is off.
impl OptionType for Option<FunctionCallParser> {
    type Field = Self;
    type Core = Option<core::FunctionCallParser>;

    fn core(field: Self, _: Self::Core) -> Self::Core {
        field.map(Into::into)
    }
}

/// Types of this module, which have a twin in the core.
macro_rules! mirrored {
    ($($type:ident),*) => {$(
        impl OptionType for $type {
            type Field = Option<Self>;
            type Core = core::$type;

            fn core(field: Option<Self>, default: Self::Core) -> Self::Core {
                field.map_or(default, Into::into)
            }
        }
    )*};
}

mirrored!(ToolChoice, ContextPolicy, SamplingDefaults);

/// Makes the twins of the core's choices.
macro_rules! choices {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident {
            $($(#[$meta:meta])* $variant:ident = $word:literal,)*
        }
    )*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Enum)]
        pub enum $name {
            $($(#[$meta])* $variant,)*
        }

        impl From<$name> for core::$name {
            fn from(choice: $name) -> Self {
                match choice {
                    $($name::$variant => Self::$variant,)*
                }
            }
        }

        mirrored!($name);
    )*};
}

core::__choices!(choices);
core::__function_names!(choices);

/// Makes the twin of the parsers from the core's table of notations.
macro_rules! function_call_parser {
    ($($(#[$doc:meta])* $module:ident: $variant:ident, $short:ident, $names:expr;)*) => {
        /// The notation of function calls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
        pub enum FunctionCallParser {
            /// The notation that the loaded model writes.
            Model,
            $($(#[$doc])* $short,)*
        }

        impl From<FunctionCallParser> for core::FunctionCallParser {
            fn from(parser: FunctionCallParser) -> Self {
                match parser {
                    FunctionCallParser::Model => Self::ModelFunctionCallParser,
                    $(FunctionCallParser::$short => Self::$variant,)*
                }
            }
        }

        impl From<core::FunctionCallParser> for FunctionCallParser {
            fn from(parser: core::FunctionCallParser) -> Self {
                match parser {
                    $(core::FunctionCallParser::$variant => Self::$short,)*
                    _ => Self::Model,
                }
            }
        }
    };
}

core::__notations!(function_call_parser);

/// Whether functions are called.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No function is called; the prompt still offers them.
    None,
    /// The reply begins with a call.
    Required,
    /// The reply begins with a call of this function and calls no other.
    Function {
        /// Its name.
        name: String,
    },
}

impl From<ToolChoice> for core::ToolChoice {
    fn from(choice: ToolChoice) -> Self {
        match choice {
            ToolChoice::Auto => Self::Auto,
            ToolChoice::None => Self::None,
            ToolChoice::Required => Self::Required,
            ToolChoice::Function { name } => Self::Function(name),
        }
    }
}

/// Treatment of a history that does not fit the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ContextPolicy {
    /// The reply fails.
    Error,
    /// The prompt omits whole turns, the oldest first.
    Slide {
        /// Whether function results in older turns are cut short first.
        shrink_tool_results: bool,
    },
}

impl From<ContextPolicy> for core::ContextPolicy {
    fn from(policy: ContextPolicy) -> Self {
        match policy {
            ContextPolicy::Error => Self::Error,
            ContextPolicy::Slide { shrink_tool_results } => Self::Slide { shrink_tool_results },
        }
    }
}
