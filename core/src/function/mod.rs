//! Functions that an app offers to the model; [`call`] has the calls that the model makes.

mod call;
mod diagnostic;
mod names;
mod value;

use std::collections::{BTreeMap, HashSet};

use crate::error::{ErrorKind, Result, SdkError};

pub use call::{RejectedCall, RejectionReason, Repair, SdkFunctionCall};
pub(crate) use causerie_jinja::python_float;
pub use diagnostic::{Diagnostic, DiagnosticCode, Severity};
pub use names::FunctionNames;
pub(crate) use names::PythonNames;
use names::invalid;
pub use value::{Arguments, BigInteger, Value};

/// How deep parameter types may nest.
const MAX_TYPE_DEPTH: usize = 32;

/// A function that the model may call.
///
/// ```
/// use causerie::{SdkFunction, SdkFunctionParameter, SdkFunctionParameterType};
///
/// let weather = SdkFunction::new(
///     "get_weather",
///     "Get the weather of a city.",
///     vec![SdkFunctionParameter::new("city", SdkFunctionParameterType::string(), "The city.")],
/// );
/// assert!(weather.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SdkFunction {
    /// Letters, digits, `_` and `-`, at most 200. With [`FunctionNames::Dotted`], dots may join several such names. Identifiers
    /// are recommended: letters, digits and `_`, not starting with a digit.
    pub name: String,
    /// The purpose of the function, written for the model.
    pub description: String,
    /// The parameters, in the order in which they are in the prompt.
    pub parameters: Vec<SdkFunctionParameter>,
    /// The JSON that the function was read from, if the other fields do not show all of it. Prompts show it as it is, with the
    /// name above, as long as it has the same description and parameters.
    pub definition: Option<Value>,
}

/// A parameter of a function.
///
/// ```
/// use causerie::{SdkFunctionParameter, SdkFunctionParameterType};
/// let unit = SdkFunctionParameterType::SdkStr {
///     enum_values: Some(vec!["celsius".into(), "fahrenheit".into()]),
///     description: None,
/// };
/// let parameter = SdkFunctionParameter::new("unit", unit, "The unit of the temperature.").optional();
/// assert!(parameter.optional);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SdkFunctionParameter {
    /// The name of the argument in a call.
    pub name: String,
    /// The type of its values. The parameter's description overrides the type's own one.
    pub parameter_type: SdkFunctionParameterType,
    /// The meaning of the parameter, written for the model.
    pub description: String,
    /// Whether a call may omit it.
    pub optional: bool,
    /// The JSON Schema of an imported parameter that no type can express. It replaces the type's schema in the prompt, and
    /// arguments are validated against it. The type is then the nearest one, or null if there is none.
    pub schema: Option<Value>,
}

/// The type of a parameter, translated to JSON Schema for the model.
///
/// A `description` only counts if the type is nested in an [array](Self::SdkArr) or an [object](Self::SdkObj): directly
/// under a parameter, the parameter's description is used.
///
/// ```
/// use causerie::SdkFunctionParameterType;
/// let tags = SdkFunctionParameterType::array(SdkFunctionParameterType::string());
/// let note = SdkFunctionParameterType::SdkObj {
///     properties: [("text".to_owned(), SdkFunctionParameterType::string()), ("tags".to_owned(), tags)].into(),
///     required: vec!["text".into()],
///     description: None,
/// };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum SdkFunctionParameterType {
    /// A string.
    SdkStr {
        /// The allowed values; any string if absent.
        enum_values: Option<Vec<String>>,
        /// The meaning of a nested value.
        description: Option<String>,
    },
    /// A number.
    SdkNum {
        /// The allowed values; any finite number if absent.
        enum_values: Option<Vec<f64>>,
        /// The meaning of a nested value.
        description: Option<String>,
    },
    /// An integer.
    SdkInt {
        /// The allowed values; any integer if absent.
        enum_values: Option<Vec<i64>>,
        /// The meaning of a nested value.
        description: Option<String>,
    },
    /// A boolean.
    SdkBool {
        /// The meaning of a nested value.
        description: Option<String>,
    },
    /// An array.
    SdkArr {
        /// The type of every element.
        item_type: Box<SdkFunctionParameterType>,
        /// The meaning of a nested value.
        description: Option<String>,
    },
    /// An object.
    SdkObj {
        /// The properties. In prompts and constrained replies, the required ones come first, in their order, and the others
        /// follow sorted by name, so that every language gets the same order.
        properties: BTreeMap<String, SdkFunctionParameterType>,
        /// Names of the properties that must be present.
        required: Vec<String>,
        /// The meaning of a nested value.
        description: Option<String>,
    },
    /// Null.
    SdkNull,
}

impl SdkFunction {
    /// Creates a function.
    ///
    /// ```
    /// use causerie::{SdkFunction, SdkFunctionParameter, SdkFunctionParameterType};
    /// let days = SdkFunctionParameter::new("days", SdkFunctionParameterType::integer(), "The number of days.");
    /// let forecast = SdkFunction::new("forecast", "Get the forecast.", vec![days]);
    /// ```
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Vec<SdkFunctionParameter>) -> Self {
        Self { name: name.into(), description: description.into(), parameters, definition: None }
    }

    /// Checks the definition. Registering does the same, unless [`LoadOptions`](crate::LoadOptions) allow other names.
    ///
    /// ```
    /// let err = causerie::SdkFunction::new("9 lives", "", vec![]).check().unwrap_err();
    /// assert_eq!(err.to_string(), r#"function "9 lives": the name must consist of 1 to 200 letters, digits, _ and -"#);
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidFunction`](crate::ErrorKind::InvalidFunction) for a name that breaks the rule for
    /// [names](FunctionNames), a parameter name that is empty or not unique, an empty array of enum values, an enum value that
    /// is not finite, a required property that does not exist, or types nested deeper than 32.
    pub fn check(&self) -> Result<()> {
        self.check_with(FunctionNames::Plain)
    }

    /// Checks the definition, with a rule for names.
    ///
    /// ```
    /// use causerie::{FunctionNames, SdkFunction};
    /// assert!(SdkFunction::new("calendar.today", "", vec![]).check_with(FunctionNames::Dotted).is_ok());
    /// ```
    ///
    /// # Errors
    /// The same as for [`check`](Self::check).
    pub fn check_with(&self, names: FunctionNames) -> Result<()> {
        names.check(&self.name)?;
        let mut names = HashSet::new();
        for parameter in &self.parameters {
            if parameter.name.is_empty() {
                return Err(invalid(&self.name, "the name of a parameter must not be empty"));
            }
            if !names.insert(&parameter.name) {
                return Err(invalid(
                    &self.name,
                    &format!("the name of a parameter must be unique, found {} twice", parameter.name),
                ));
            }
            check_type(&parameter.parameter_type, 1)
                .map_err(|rule| invalid(&self.name, &format!("parameter {}: {rule}", parameter.name)))?;
        }
        Ok(())
    }
}

impl SdkFunctionParameter {
    /// Creates a required parameter.
    ///
    /// ```
    /// use causerie::{SdkFunctionParameter, SdkFunctionParameterType};
    /// let city = SdkFunctionParameter::new("city", SdkFunctionParameterType::string(), "The city.");
    /// assert!(!city.optional);
    /// ```
    pub fn new(
        name: impl Into<String>,
        parameter_type: SdkFunctionParameterType,
        description: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), parameter_type, description: description.into(), optional: false, schema: None }
    }

    /// Makes the parameter optional: a call may omit it.
    ///
    /// ```
    /// use causerie::{SdkFunctionParameter, SdkFunctionParameterType};
    /// let days = SdkFunctionParameter::new("days", SdkFunctionParameterType::integer(), "The number of days.").optional();
    /// assert!(days.optional);
    /// ```
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

impl SdkFunctionParameterType {
    /// Any string.
    ///
    /// ```
    /// let value = causerie::SdkFunctionParameter::new("value", causerie::SdkFunctionParameterType::string(), "A string.");
    /// ```
    pub fn string() -> Self {
        Self::SdkStr { enum_values: None, description: None }
    }

    /// Any number.
    ///
    /// ```
    /// let value = causerie::SdkFunctionParameter::new("value", causerie::SdkFunctionParameterType::number(), "A number.");
    /// ```
    pub fn number() -> Self {
        Self::SdkNum { enum_values: None, description: None }
    }

    /// Any integer.
    ///
    /// ```
    /// let value = causerie::SdkFunctionParameter::new("value", causerie::SdkFunctionParameterType::integer(), "An integer.");
    /// ```
    pub fn integer() -> Self {
        Self::SdkInt { enum_values: None, description: None }
    }

    /// A boolean.
    ///
    /// ```
    /// let value = causerie::SdkFunctionParameter::new("value", causerie::SdkFunctionParameterType::boolean(), "A boolean.");
    /// ```
    pub fn boolean() -> Self {
        Self::SdkBool { description: None }
    }

    /// An array of one type.
    ///
    /// ```
    /// use causerie::SdkFunctionParameterType;
    /// let cities = SdkFunctionParameterType::array(SdkFunctionParameterType::string());
    /// ```
    pub fn array(item_type: Self) -> Self {
        Self::SdkArr { item_type: Box::new(item_type), description: None }
    }
}

fn check_type(parameter_type: &SdkFunctionParameterType, depth: usize) -> Result<(), String> {
    use SdkFunctionParameterType::{SdkArr, SdkBool, SdkInt, SdkNull, SdkNum, SdkObj, SdkStr};
    if depth > MAX_TYPE_DEPTH {
        return Err(format!("types must not nest deeper than {MAX_TYPE_DEPTH}"));
    }
    let is_empty = match parameter_type {
        SdkStr { enum_values, .. } => enum_values.as_ref().is_some_and(Vec::is_empty),
        SdkInt { enum_values, .. } => enum_values.as_ref().is_some_and(Vec::is_empty),
        SdkNum { enum_values, .. } => {
            if enum_values.iter().flatten().any(|number| !number.is_finite()) {
                return Err("enum values must be finite".into());
            }
            enum_values.as_ref().is_some_and(Vec::is_empty)
        }
        SdkArr { item_type, .. } => return check_type(item_type, depth + 1),
        SdkObj { properties, required, .. } => {
            if let Some(absent) = required.iter().find(|name| !properties.contains_key(*name)) {
                return Err(format!("required property {absent:?} must exist"));
            }
            return properties.values().try_for_each(|property| check_type(property, depth + 1));
        }
        SdkBool { .. } | SdkNull => false,
    };
    if is_empty { Err("enum values must not be an empty array".into()) } else { Ok(()) }
}

/// Ranks functions by how well they fit a message.
pub(crate) trait FunctionRanker: Send + Sync {
    /// The indices of the functions, the best first.
    fn ranked(&self, message: &str, functions: &[&SdkFunction]) -> Result<Vec<usize>>;
}

/// Checks how many functions are to be chosen.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] if it is none.
pub(crate) fn check_chosen(n_chosen: usize) -> Result<()> {
    match n_chosen {
        0 => Err(SdkError::new(ErrorKind::InvalidArgument, "n_chosen must be at least 1, found 0")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(parameter_type: SdkFunctionParameterType) -> SdkFunction {
        SdkFunction::new("f", "", vec![SdkFunctionParameter::new("a", parameter_type, "")])
    }

    #[track_caller]
    fn check_refused(function: &SdkFunction, expect: &str) {
        let err = function.check().unwrap_err();
        assert_eq!((err.kind(), err.message()), (ErrorKind::InvalidFunction, expect));
    }

    #[test]
    fn a_parameter_name_is_unique() {
        let parameter = SdkFunctionParameter::new("a", SdkFunctionParameterType::string(), "");
        let twice = SdkFunction::new("f", "", vec![parameter.clone(), parameter]);
        check_refused(&twice, r#"function "f": the name of a parameter must be unique, found a twice"#);
    }

    #[test]
    fn enum_values_are_present_and_finite() {
        let empty = SdkFunctionParameterType::SdkStr { enum_values: Some(vec![]), description: None };
        check_refused(&with(empty), r#"function "f": parameter a: enum values must not be an empty array"#);
        let infinite = SdkFunctionParameterType::SdkNum { enum_values: Some(vec![f64::INFINITY]), description: None };
        check_refused(&with(infinite), r#"function "f": parameter a: enum values must be finite"#);
    }

    #[test]
    fn a_required_property_exists() {
        let object = SdkFunctionParameterType::SdkObj {
            properties: BTreeMap::new(),
            required: vec!["x".into()],
            description: None,
        };
        check_refused(&with(object), r#"function "f": parameter a: required property "x" must exist"#);
    }

    #[test]
    fn types_nest_at_most_32_deep() {
        let nested =
            |depth| (1..depth).fold(SdkFunctionParameterType::SdkNull, |item, _| SdkFunctionParameterType::array(item));
        with(nested(32)).check().unwrap();
        check_refused(&with(nested(33)), r#"function "f": parameter a: types must not nest deeper than 32"#);
    }
}
