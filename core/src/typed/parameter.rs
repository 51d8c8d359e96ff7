//! The trait of types whose values a model can write.

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::Value;
use crate::typed::definitions::Definitions;

/// A type whose values a model can write. `#[derive(causerie::SdkFunctionParameterType)]` implements it for structs and
/// enums.
///
/// ```
/// use causerie::typed::{Definitions, TypedParameter, named_type};
/// use causerie::{Result, Value};
///
/// /// A part of a whole, written as a number.
/// struct Share(f64);
///
/// impl TypedParameter for Share {
///     fn schema(_: &mut Definitions) -> Value {
///         named_type("f64").unwrap_or(Value::Null)
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

    /// The JSON Schema of the type, as tight as the type. Schemas of types with members are added to the definitions.
    fn schema(definitions: &mut Definitions) -> Value;

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

pub(super) fn invalid(place: &str, fault: &str) -> SdkError {
    SdkError::new(ErrorKind::InvalidArgument, format!("{place} {fault}"))
}

pub(super) fn must_be(place: &str, expected: &str, found: &Value) -> SdkError {
    invalid(place, &format!("must be {expected}, found {}", found.described()))
}
