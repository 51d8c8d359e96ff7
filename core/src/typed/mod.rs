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
//! Fields are numbers, `bool`, `char`, `String`, paths, IP addresses, tuples, arrays, collections, maps with names as keys, boxes,
//! [`Value`] for any JSON, [`Arguments`] for an object with any members, and types that derive
//! [`SdkFunctionParameterType`](macro@crate::SdkFunctionParameterType), which may contain themselves. A call may omit an
//! `Option`.

mod definitions;
mod objects;
mod parameter;
mod types;
mod variants;

use serde::de::IgnoredAny;

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{
    Arguments, SdkFunction, SdkFunctionCall, SdkFunctionParameter, SdkFunctionParameterType, Severity, Value,
};
use crate::notation::read_json;
use crate::schema::{parameter_schema, parameters_of};
use crate::validate::validate;

pub use crate::schema::named_type;
pub use definitions::Definitions;
pub use objects::{Members, ObjectSchema};
pub use parameter::TypedParameter;
use parameter::invalid;
pub use variants::{Elements, EnumForm, VariantContent, VariantSchema, enum_schema, no_variant, tuple_schema};

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
    parameter_schema(&reply_parameter::<T>()).to_string()
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
    let reply_function = SdkFunction::new(REPLY, "", vec![reply_parameter::<T>()]);
    let mut arguments = coerced(&SdkFunctionCall { arguments, ..Default::default() }, &reply_function)?;
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
/// [`ErrorKind::InvalidArgument`] for text that is not valid JSON. The message says so if the text ends too early, as that of
/// a reply does that was stopped or reached a limit.
pub fn read_reply(text: &str) -> Result<Arguments> {
    let value = read_json(text.trim()).ok_or_else(|| {
        let is_cut = serde_json::from_str::<IgnoredAny>(text).is_err_and(|err| err.is_eof());
        match text.trim() {
            "" => invalid(REPLY, "must be valid JSON, found no text"),
            _ if is_cut => invalid(
                REPLY,
                "must be complete JSON, found JSON that was cut short: the reply was stopped, or reached a limit",
            ),
            _ => invalid(REPLY, "must be valid JSON"),
        }
    })?;
    Ok(Arguments::from([(REPLY.to_owned(), value)]))
}

const REPLY: &str = "reply";

/// The parameter as which a reply is checked.
fn reply_parameter<T: TypedParameter>() -> SdkFunctionParameter {
    let mut definitions = Definitions::default();
    let reply = T::schema(&mut definitions);
    let properties = Value::Object(Arguments::from([(REPLY.to_owned(), reply)]));
    let whole = definitions.beside(Arguments::from([("properties".to_owned(), properties)]));
    let parameter = parameters_of(&Value::Object(whole)).pop();
    let mut parameter =
        parameter.unwrap_or_else(|| SdkFunctionParameter::new(REPLY, SdkFunctionParameterType::SdkNull, ""));
    parameter.optional = T::IS_OPTIONAL;
    parameter
}

/// The arguments of a call, coerced to the parameters.
fn coerced(call: &SdkFunctionCall, function: &SdkFunction) -> Result<Arguments> {
    let validation = validate(call, function);
    match validation.diagnostics.iter().find(|diagnostic| diagnostic.code.severity() == Severity::Error) {
        Some(fault) => Err(SdkError::new(ErrorKind::InvalidArgument, fault.message.as_str())),
        None => Ok(validation.arguments),
    }
}

/// The function whose parameters are the members of a type.
///
/// ```
/// #[derive(causerie::SdkFunctionParameterType)]
/// struct Place {
///     x: f64,
/// }
///
/// let function = causerie::typed::function::<Place>("go_to", "Go to a place.");
/// assert_eq!(function.parameters[0].name, "x");
/// ```
pub fn function<T: TypedParameter>(name: &str, description: &str) -> SdkFunction {
    let mut definitions = Definitions::default();
    let schema = T::schema(&mut definitions);
    let keywords = if let Value::Object(keywords) = schema { keywords } else { Arguments::new() };
    SdkFunction::new(name, description, parameters_of(&Value::Object(definitions.beside(keywords))))
}
