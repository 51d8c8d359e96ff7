//! Functions and replies with Rust types.
//!
//! A struct describes the arguments of a function, or a reply. Its fields become parameters, and its doc comments become
//! descriptions. What the model writes comes back as a value of the struct, or as an error that names the argument:
//!
//! ```
//! use causerie::SdkFunctionCall;
//! use causerie::typed::TypedFunction;
//!
//! /// The weather in a city.
//! #[derive(causerie::SdkFunction)]
//! struct GetWeather {
//!     /// The city.
//!     city: String,
//!     /// The number of days.
//!     days: Option<u8>,
//!     /// The unit of the temperature.
//!     unit: Option<Unit>,
//! }
//!
//! #[derive(causerie::SdkFunctionParameterType, Debug, PartialEq)]
//! enum Unit {
//!     Celsius,
//!     Fahrenheit,
//! }
//!
//! assert_eq!(GetWeather::function().name, "get_weather");
//! let arguments = [("city".to_owned(), "Oslo".into()), ("unit".to_owned(), "celsius".into())].into();
//! let weather = GetWeather::decode(&SdkFunctionCall { arguments, ..Default::default() })?;
//! assert_eq!((weather.city.as_str(), weather.days, weather.unit), ("Oslo", None, Some(Unit::Celsius)));
//! let err = GetWeather::decode(&SdkFunctionCall::default()).err().unwrap();
//! assert_eq!(err.to_string(), "city is missing");
//! # Ok::<(), causerie::SdkError>(())
//! ```
//!
//! Fields are numbers, `bool`, `String`, `Vec`, [`Arguments`] for an object with any members, and types that derive
//! [`SdkFunctionParameterType`](macro@crate::SdkFunctionParameterType). A call may omit an `Option`.

use serde::de::IgnoredAny;

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{
    Arguments, SdkFunction, SdkFunctionCall, SdkFunctionParameter, SdkFunctionParameterType, Severity, Value,
};
use crate::parse::read_json;
use crate::schema::function_schema;
use crate::validate::validate;

/// The arguments of a function as a type. `#[derive(causerie::SdkFunction)]` implements it.
///
/// ```
/// use causerie::typed::TypedFunction;
///
/// /// Get the forecast.
/// #[derive(causerie::SdkFunction)]
/// struct Forecast {
///     /// The number of days.
///     days: u8,
/// }
///
/// assert_eq!(Forecast::function().description, "Get the forecast.");
/// ```
pub trait TypedFunction: TypedParameter {
    /// The function to register.
    fn function() -> SdkFunction;

    /// Decodes the arguments of a call after [`validate`] has coerced them.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a value that does not fit; the message starts with its place.
    fn decode(call: &SdkFunctionCall) -> Result<Self> {
        Self::from_value(Value::Object(coerced(call, &Self::function())?), "")
    }
}

/// A type whose values a model can write. `#[derive(causerie::SdkFunctionParameterType)]` implements it for structs and
/// enums.
///
/// ```
/// use causerie::{Result, SdkFunctionParameterType, Value, typed::TypedParameter};
///
/// /// A part of a whole, written as a number.
/// struct Share(f64);
///
/// impl TypedParameter for Share {
///     fn parameter_type() -> SdkFunctionParameterType {
///         SdkFunctionParameterType::number()
///     }
///
///     fn from_value(value: Value, place: &str) -> Result<Self> {
///         f64::from_value(value, place).map(Self)
///     }
/// }
/// # assert_eq!(causerie::typed::decode_reply::<Share>("0.5").unwrap().0, 0.5);
/// ```
pub trait TypedParameter: Sized {
    /// Whether a call may omit a value of this type.
    const IS_OPTIONAL: bool = false;

    /// How deep the type nests. A type that contains itself has no depth, so it does not compile:
    ///
    /// ```compile_fail
    /// #[derive(causerie::SdkFunctionParameterType)]
    /// struct Node {
    ///     name: String,
    ///     children: Vec<Node>,
    /// }
    /// ```
    const DEPTH: usize = 1;

    /// The type as the model sees it.
    fn parameter_type() -> SdkFunctionParameterType;

    /// Converts a value that the model wrote at a place.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a value that does not fit; the message starts with its place.
    fn from_value(value: Value, place: &str) -> Result<Self>;

    /// The value of an omitted argument, if it may be omitted.
    fn absent() -> Option<Self> {
        None
    }
}

/// The JSON Schema of a type as JSON text, for [`json_schema_constraint`](crate::GenerationOptions::json_schema_constraint).
///
/// ```
/// # use causerie::{GenerationOptions, typed::{decode_reply, reply_schema}};
/// #[derive(causerie::SdkFunctionParameterType)]
/// struct Recipe {
///     title: String,
///     minutes: u32,
/// }
///
/// let options = GenerationOptions { json_schema_constraint: Some(reply_schema::<Recipe>()), ..Default::default() };
/// let recipe: Recipe = decode_reply(r#"{"title": "Pasta", "minutes": 12}"#)?;
/// assert_eq!((recipe.title.as_str(), recipe.minutes), ("Pasta", 12));
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub fn reply_schema<T: TypedParameter>() -> String {
    let mut value = function_schema(&reply_function::<T>());
    for key in ["parameters", "properties", "reply"] {
        value = match value {
            Value::Object(mut entries) => entries.swap_remove(key).unwrap_or(Value::Null),
            _ => Value::Null,
        };
    }
    value.to_string()
}

/// Decodes a reply.
///
/// ```
/// use causerie::typed::decode_reply;
/// assert_eq!(decode_reply::<Vec<u8>>("[1, 2]")?, [1, 2]);
/// assert!(decode_reply::<Vec<u8>>("[1, -2]").is_err());
/// # Ok::<(), causerie::SdkError>(())
/// ```
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] for text that is not valid JSON, and for a value that does not fit the type; the message
/// starts with the place in the `reply`.
pub fn decode_reply<T: TypedParameter>(text: &str) -> Result<T> {
    let arguments = read_reply(text)?;
    let mut arguments = coerced(&SdkFunctionCall { arguments, ..Default::default() }, &reply_function::<T>())?;
    match arguments.swap_remove(REPLY) {
        Some(value) => T::from_value(value, REPLY),
        None => T::absent().ok_or_else(|| invalid(REPLY, "must not be null")),
    }
}

/// Reads the JSON of a reply as the only argument, `reply`, of a function.
///
/// ```
/// use causerie::typed::read_reply;
/// assert_eq!(read_reply("[1, 2]")?["reply"].to_string(), "[1, 2]");
/// let err = read_reply(r#"{"title": "Pa"#).unwrap_err();
/// assert!(err.message().contains("cut short"));
/// # Ok::<(), causerie::SdkError>(())
/// ```
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] for text that is not valid JSON. The message says so if the text ends too early, as after
/// `max_tokens`.
pub fn read_reply(text: &str) -> Result<Arguments> {
    let value = read_json(text.trim()).ok_or_else(|| {
        let is_cut = serde_json::from_str::<IgnoredAny>(text).is_err_and(|err| err.is_eof());
        match text.trim() {
            "" => invalid(REPLY, "must be valid JSON, found no text"),
            _ if is_cut => {
                invalid(REPLY, "must be complete JSON, found JSON that was cut short, for example by max_tokens")
            }
            _ => invalid(REPLY, "must be valid JSON"),
        }
    })?;
    Ok(Arguments::from([(REPLY.to_owned(), value)]))
}

const REPLY: &str = "reply";

/// A function with one argument, as which a reply is checked.
fn reply_function<T: TypedParameter>() -> SdkFunction {
    SdkFunction::new(REPLY, "", vec![parameter::<T>(REPLY, "")])
}

/// The arguments of a call, coerced to the parameters.
fn coerced(call: &SdkFunctionCall, function: &SdkFunction) -> Result<Arguments> {
    let validation = validate(call, function);
    match validation.diagnostics.iter().find(|diagnostic| diagnostic.code.severity() == Severity::Error) {
        Some(fault) => Err(SdkError::new(ErrorKind::InvalidArgument, fault.message.as_str())),
        None => Ok(validation.arguments),
    }
}

/// A parameter of a type. Without a description, it takes that of the type.
///
/// ```
/// let parameter = causerie::typed::parameter::<Option<u8>>("days", "The number of days.");
/// assert!(parameter.optional);
/// ```
pub fn parameter<T: TypedParameter>(name: &str, description: &str) -> SdkFunctionParameter {
    let parameter_type = T::parameter_type();
    let own = description_of(&mut parameter_type.clone()).and_then(|own| own.take()).unwrap_or_default();
    let description = if description.is_empty() { own } else { description.to_owned() };
    let parameter = SdkFunctionParameter::new(name, parameter_type, description);
    if T::IS_OPTIONAL { parameter.optional() } else { parameter }
}

/// The type of an object with these members. An empty description counts as none.
///
/// ```
/// use causerie::typed::{object, parameter};
/// let place = object(vec![parameter::<f64>("x", ""), parameter::<f64>("y", "")], "A place on the map.");
/// ```
pub fn object(members: Vec<SdkFunctionParameter>, description: &str) -> SdkFunctionParameterType {
    let required = members.iter().filter(|member| !member.optional).map(|member| member.name.clone()).collect();
    let properties = members.into_iter().map(|member| {
        let mut property = member.parameter_type;
        if let Some(own) = description_of(&mut property) {
            *own = stated(&member.description);
        }
        (member.name, property)
    });
    SdkFunctionParameterType::SdkObj { properties: properties.collect(), required, description: stated(description) }
}

/// The type of one of several strings. An empty description counts as none.
///
/// ```
/// let unit = causerie::typed::choice(&["celsius", "fahrenheit"], "The unit of the temperature.");
/// ```
pub fn choice(values: &[&str], description: &str) -> SdkFunctionParameterType {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    SdkFunctionParameterType::SdkStr { enum_values: Some(values), description: stated(description) }
}

/// The choice whose name a value is.
///
/// ```
/// let is_celsius = causerie::typed::chosen(&"celsius".into(), "unit", [("celsius", true), ("fahrenheit", false)])?;
/// assert!(is_celsius);
/// # Ok::<(), causerie::SdkError>(())
/// ```
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] for a value that is not one of the names.
pub fn chosen<T, const N: usize>(value: &Value, place: &str, choices: [(&str, T); N]) -> Result<T> {
    let names: Vec<String> = choices.iter().map(|(name, _)| format!("{name:?}")).collect();
    let chosen = choices.into_iter().find(|(name, _)| value.as_str() == Some(name));
    let rule = || format!("must be one of {}, found {}", names.join(", "), value.described());
    chosen.map(|(_, choice)| choice).ok_or_else(|| invalid(place, &rule()))
}

/// The members of an object, to be taken one by one.
///
/// ```
/// use causerie::typed::Members;
/// let value = causerie::read_json(r#"{"x": 1.5, "y": 2}"#).unwrap();
/// let mut members = Members::of(value, "place")?;
/// assert_eq!((members.take::<f64>("x")?, members.take::<f64>("y")?), (1.5, 2.0));
/// assert_eq!(members.take::<f64>("z").unwrap_err().to_string(), "place.z is missing");
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Debug)]
pub struct Members<'a> {
    entries: Arguments,
    place: &'a str,
}

impl<'a> Members<'a> {
    /// The members of a value.
    ///
    /// ```
    /// assert!(causerie::typed::Members::of("north".into(), "place").is_err());
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a value that is not an object.
    pub fn of(value: Value, place: &'a str) -> Result<Self> {
        match value {
            Value::Object(entries) => Ok(Self { entries, place }),
            other => Err(must_be(place, "an object", &other)),
        }
    }

    /// Takes the member of this name.
    ///
    /// ```
    /// let value = causerie::read_json(r#"{"city": "Oslo"}"#).unwrap();
    /// let city: String = causerie::typed::Members::of(value, "")?.take("city")?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a member that is missing or has another type.
    pub fn take<T: TypedParameter>(&mut self, name: &str) -> Result<T> {
        let place = if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) };
        match self.entries.shift_remove(name) {
            Some(value) => T::from_value(value, &place),
            None => T::absent().ok_or_else(|| invalid(&place, "is missing")),
        }
    }
}

fn invalid(place: &str, fault: &str) -> SdkError {
    SdkError::new(ErrorKind::InvalidArgument, format!("{place} {fault}"))
}

fn must_be(place: &str, expected: &str, found: &Value) -> SdkError {
    invalid(place, &format!("must be {expected}, found {}", found.described()))
}

fn stated(description: &str) -> Option<String> {
    Some(description.to_owned()).filter(|description| !description.is_empty())
}

fn description_of(parameter_type: &mut SdkFunctionParameterType) -> Option<&mut Option<String>> {
    use SdkFunctionParameterType::{SdkArr, SdkBool, SdkInt, SdkNull, SdkNum, SdkObj, SdkStr};
    match parameter_type {
        SdkStr { description, .. }
        | SdkNum { description, .. }
        | SdkInt { description, .. }
        | SdkBool { description }
        | SdkArr { description, .. }
        | SdkObj { description, .. } => Some(description),
        SdkNull => None,
    }
}

impl<T: TypedParameter> TypedParameter for Option<T> {
    const IS_OPTIONAL: bool = true;
    const DEPTH: usize = T::DEPTH;

    fn parameter_type() -> SdkFunctionParameterType {
        T::parameter_type()
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        if value == Value::Null { Ok(None) } else { T::from_value(value, place).map(Some) }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: TypedParameter> TypedParameter for Vec<T> {
    const DEPTH: usize = 1 + T::DEPTH;

    fn parameter_type() -> SdkFunctionParameterType {
        SdkFunctionParameterType::array(T::parameter_type())
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        let items = match value {
            Value::Array(items) => items.into_iter().enumerate(),
            other => return Err(must_be(place, "an array", &other)),
        };
        items.map(|(index, item)| T::from_value(item, &format!("{place}[{index}]"))).collect()
    }
}

impl TypedParameter for String {
    fn parameter_type() -> SdkFunctionParameterType {
        SdkFunctionParameterType::string()
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(must_be(place, "a string", &other)),
        }
    }
}

impl TypedParameter for bool {
    fn parameter_type() -> SdkFunctionParameterType {
        SdkFunctionParameterType::boolean()
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        match value {
            Value::Bool(flag) => Ok(flag),
            other => Err(must_be(place, "a boolean", &other)),
        }
    }
}

impl TypedParameter for Arguments {
    fn parameter_type() -> SdkFunctionParameterType {
        object(Vec::new(), "")
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        Members::of(value, place).map(|members| members.entries)
    }
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl TypedParameter for $integer {
            fn parameter_type() -> SdkFunctionParameterType {
                SdkFunctionParameterType::integer()
            }

            fn from_value(value: Value, place: &str) -> Result<Self> {
                let number = match &value {
                    Value::Integer(number) => Self::try_from(*number).ok(),
                    Value::BigInteger(number) => number.digits().parse().ok(),
                    _ => return Err(must_be(place, "an integer", &value)),
                };
                let expected = || format!("an integer from {} to {}", Self::MIN, Self::MAX);
                number.ok_or_else(|| must_be(place, &expected(), &value))
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl TypedParameter for $number {
            fn parameter_type() -> SdkFunctionParameterType {
                SdkFunctionParameterType::number()
            }

            fn from_value(value: Value, place: &str) -> Result<Self> {
                // Rounds to the nearest value of the type.
                let number = value.as_f64().map(|number| number as Self).filter(|number| number.is_finite());
                let expected = concat!("a number that fits ", stringify!($number));
                number.ok_or_else(|| must_be(place, expected, &value))
            }
        }
    )*};
}

numbers!(f32 f64);
