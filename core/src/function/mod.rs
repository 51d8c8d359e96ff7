//! Functions that an app offers to the model; in [`call`], the calls that the model makes of them.

mod call;
mod diagnostic;
mod value;

use std::collections::{BTreeMap, HashSet};

use crate::error::{ErrorKind, Result, SdkError};

pub use call::{RejectedCall, RejectionReason, Repair, SdkFunctionCall};
pub use diagnostic::{Diagnostic, DiagnosticCode, Severity};
pub use value::{Arguments, BigInteger, Value};
pub(crate) use value::{python_float, write_json_string};

/// How deep parameter types may nest.
const DEEPEST_TYPE: usize = 32;

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
    /// Letters, `_` and digits, not starting with a digit; with [`FunctionNames::Dotted`], several of these joined by dots or
    /// hyphens.
    pub name: String,
    /// The purpose of the function, written for the model.
    pub description: String,
    /// In the order in which the model sees them.
    pub parameters: Vec<SdkFunctionParameter>,
}

/// Which names functions may have.
///
/// ```
/// use causerie::{FunctionNames, LoadOptions, SdkFunction};
/// let options = LoadOptions { function_names: FunctionNames::Dotted, ..Default::default() };
/// let function = SdkFunction::new("calendar.create_event", "Create an event.", vec![]);
/// assert!(function.check_with(options.function_names).is_ok() && function.check().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FunctionNames {
    /// Letters, `_` and digits, not starting with a digit: `create_event`.
    #[default]
    Plain,
    /// Also several such names joined by dots or hyphens: `calendar.create_event`, `get-weather`.
    Dotted,
}

/// A parameter of a function.
///
/// ```
/// use causerie::{SdkFunctionParameter, SdkFunctionParameterType};
/// let unit = SdkFunctionParameterType::SdkStr {
///     enum_values: Some(vec!["celsius".into(), "fahrenheit".into()]),
///     description: None,
/// };
/// let parameter = SdkFunctionParameter::new("unit", unit, "Of the temperature.").optional();
/// assert!(parameter.optional);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SdkFunctionParameter {
    /// The name under which the argument arrives.
    pub name: String,
    /// What values it takes. The type's own description is overridden by the parameter's.
    pub parameter_type: SdkFunctionParameterType,
    /// What the parameter means, written for the model.
    pub description: String,
    /// Whether a call may leave it out.
    pub optional: bool,
    /// The JSON Schema of an imported parameter that no type expresses: it stands in the prompt in place of the type's, and
    /// arguments are compared with it. The type is then the nearest one, or null where there is none.
    pub schema: Option<Value>,
}

/// The type of a parameter, translated to JSON Schema for the model.
///
/// A `description` counts only where the type is nested in an [array](Self::SdkArr) or an [object](Self::SdkObj):
/// directly under a parameter the parameter's own description is used.
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
    /// Text.
    SdkStr {
        /// The allowed values; any text when absent.
        enum_values: Option<Vec<String>>,
        /// Meaning of a nested value.
        description: Option<String>,
    },
    /// A number.
    SdkNum {
        /// The allowed values; any finite number when absent.
        enum_values: Option<Vec<f64>>,
        /// Meaning of a nested value.
        description: Option<String>,
    },
    /// A whole number.
    SdkInt {
        /// The allowed values; any whole number when absent.
        enum_values: Option<Vec<i64>>,
        /// Meaning of a nested value.
        description: Option<String>,
    },
    /// True or false.
    SdkBool {
        /// Meaning of a nested value.
        description: Option<String>,
    },
    /// A list.
    SdkArr {
        /// The type of every item.
        item_type: Box<SdkFunctionParameterType>,
        /// Meaning of a nested value.
        description: Option<String>,
    },
    /// A map of named values.
    SdkObj {
        /// Shown to the model, and written in a reply that is one, with the required ones first, in their order, and the
        /// others sorted by name: the same from every language.
        properties: BTreeMap<String, SdkFunctionParameterType>,
        /// Names of the properties that must be present.
        required: Vec<String>,
        /// Meaning of a nested value.
        description: Option<String>,
    },
    /// Only null.
    SdkNull,
}

impl SdkFunction {
    /// A function with its parameters.
    ///
    /// ```
    /// use causerie::{SdkFunction, SdkFunctionParameter, SdkFunctionParameterType};
    /// let days = SdkFunctionParameter::new("days", SdkFunctionParameterType::integer(), "How many.");
    /// let forecast = SdkFunction::new("forecast", "Tell the weather to come.", vec![days]);
    /// ```
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Vec<SdkFunctionParameter>) -> Self {
        Self { name: name.into(), description: description.into(), parameters }
    }

    /// Checks the definition; registering does the same, unless [`LoadOptions`](crate::LoadOptions) allow other names.
    ///
    /// ```
    /// let err = causerie::SdkFunction::new("9 lives", "", vec![]).check().unwrap_err();
    /// assert_eq!(err.to_string(), r#"function "9 lives": its name is not made of letters, _ and digits"#);
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidFunction`] for a name that is no identifier, a parameter name that is empty or given twice,
    /// an empty list of enum values, an enum number that is not finite, a required property that does not exist, or
    /// types nested deeper than 32.
    pub fn check(&self) -> Result<()> {
        self.check_with(FunctionNames::Plain)
    }

    /// Checks the definition where such names are allowed.
    ///
    /// ```
    /// use causerie::{FunctionNames, SdkFunction};
    /// assert!(SdkFunction::new("calendar.today", "", vec![]).check_with(FunctionNames::Dotted).is_ok());
    /// ```
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_with(&self, names: FunctionNames) -> Result<()> {
        let (is_fine, parts) = match names {
            FunctionNames::Plain => (is_identifier(&self.name), "letters, _ and digits"),
            FunctionNames::Dotted => (
                self.name.split('.').all(is_hyphenated),
                "letters, _, digits, and single dots and hyphens between them",
            ),
        };
        if !is_fine {
            return Err(invalid(&self.name, &format!("its name is not made of {parts}")));
        }
        let mut names = HashSet::new();
        for parameter in &self.parameters {
            if parameter.name.is_empty() {
                return Err(invalid(&self.name, "a parameter has an empty name"));
            }
            if !names.insert(&parameter.name) {
                return Err(invalid(&self.name, &format!("two parameters are named {}", parameter.name)));
            }
            check_type(&parameter.parameter_type, 1)
                .map_err(|rule| invalid(&self.name, &format!("parameter {}: {rule}", parameter.name)))?;
        }
        Ok(())
    }
}

impl SdkFunctionParameter {
    /// A required parameter.
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

    /// The same parameter, which a call may leave out.
    ///
    /// ```
    /// use causerie::{SdkFunctionParameter, SdkFunctionParameterType};
    /// let days = SdkFunctionParameter::new("days", SdkFunctionParameterType::integer(), "How many.").optional();
    /// assert!(days.optional);
    /// ```
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

impl SdkFunctionParameterType {
    /// Any text.
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

    /// Any whole number.
    ///
    /// ```
    /// let value = causerie::SdkFunctionParameter::new("value", causerie::SdkFunctionParameterType::integer(), "A integer.");
    /// ```
    pub fn integer() -> Self {
        Self::SdkInt { enum_values: None, description: None }
    }

    /// True or false.
    ///
    /// ```
    /// let value = causerie::SdkFunctionParameter::new("value", causerie::SdkFunctionParameterType::boolean(), "A boolean.");
    /// ```
    pub fn boolean() -> Self {
        Self::SdkBool { description: None }
    }

    /// A list of one type.
    ///
    /// ```
    /// use causerie::SdkFunctionParameterType;
    /// let cities = SdkFunctionParameterType::array(SdkFunctionParameterType::string());
    /// ```
    pub fn array(item_type: Self) -> Self {
        Self::SdkArr { item_type: Box::new(item_type), description: None }
    }
}

fn invalid(function: &str, rule: &str) -> SdkError {
    SdkError::new(ErrorKind::InvalidFunction, format!("function {function:?}: {rule}"))
}

fn is_identifier(name: &str) -> bool {
    name.bytes().next().is_some_and(|first| !first.is_ascii_digit()) && name.bytes().all(is_of_word)
}

fn is_hyphenated(name: &str) -> bool {
    let mut parts = name.split('-');
    parts.next().is_some_and(is_identifier) && parts.all(|part| !part.is_empty() && part.bytes().all(is_of_word))
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn check_type(parameter_type: &SdkFunctionParameterType, depth: usize) -> Result<(), String> {
    use SdkFunctionParameterType::{SdkArr, SdkBool, SdkInt, SdkNull, SdkNum, SdkObj, SdkStr};
    if depth > DEEPEST_TYPE {
        return Err(format!("types nest deeper than {DEEPEST_TYPE}"));
    }
    let is_empty = match parameter_type {
        SdkStr { enum_values, .. } => enum_values.as_ref().is_some_and(Vec::is_empty),
        SdkInt { enum_values, .. } => enum_values.as_ref().is_some_and(Vec::is_empty),
        SdkNum { enum_values, .. } => {
            if enum_values.iter().flatten().any(|number| !number.is_finite()) {
                return Err("an enum value is not finite".into());
            }
            enum_values.as_ref().is_some_and(Vec::is_empty)
        }
        SdkArr { item_type, .. } => return check_type(item_type, depth + 1),
        SdkObj { properties, required, .. } => {
            if let Some(absent) = required.iter().find(|name| !properties.contains_key(*name)) {
                return Err(format!("required property {absent:?} does not exist"));
            }
            return properties.values().try_for_each(|property| check_type(property, depth + 1));
        }
        SdkBool { .. } | SdkNull => false,
    };
    if is_empty { Err("its enum values are an empty list".into()) } else { Ok(()) }
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
    fn names_are_ascii_identifiers() {
        for name in ["f", "_f9", "get_weather", "class"] {
            SdkFunction::new(name, "", vec![]).check().unwrap();
        }
        for name in ["", "9f", "a.b", "a-b", "é"] {
            assert!(SdkFunction::new(name, "", vec![]).check().is_err(), "{name}");
        }
    }

    #[test]
    fn names_may_be_joined_where_that_is_allowed() {
        for name in ["f", "a.b", "Cal.create_event.v2", "get-weather", "mcp__maps__resolve-3d-model", "a-b.c"] {
            SdkFunction::new(name, "", vec![]).check_with(FunctionNames::Dotted).unwrap();
        }
        for name in ["", ".", "a.", ".a", "a..b", "a.9", "a. b", "-a", "a-", "a--b", "9-a", "a.-b"] {
            assert!(SdkFunction::new(name, "", vec![]).check_with(FunctionNames::Dotted).is_err(), "{name}");
        }
    }

    #[test]
    fn a_parameter_name_stands_once() {
        let parameter = SdkFunctionParameter::new("a", SdkFunctionParameterType::string(), "");
        let twice = SdkFunction::new("f", "", vec![parameter.clone(), parameter]);
        check_refused(&twice, r#"function "f": two parameters are named a"#);
    }

    #[test]
    fn enum_values_are_present_and_finite() {
        let empty = SdkFunctionParameterType::SdkStr { enum_values: Some(vec![]), description: None };
        check_refused(&with(empty), r#"function "f": parameter a: its enum values are an empty list"#);
        let infinite = SdkFunctionParameterType::SdkNum { enum_values: Some(vec![f64::INFINITY]), description: None };
        check_refused(&with(infinite), r#"function "f": parameter a: an enum value is not finite"#);
    }

    #[test]
    fn a_required_property_exists() {
        let object = SdkFunctionParameterType::SdkObj {
            properties: BTreeMap::new(),
            required: vec!["x".into()],
            description: None,
        };
        check_refused(&with(object), r#"function "f": parameter a: required property "x" does not exist"#);
    }

    #[test]
    fn types_nest_at_most_32_deep() {
        let nested =
            |depth| (1..depth).fold(SdkFunctionParameterType::SdkNull, |item, _| SdkFunctionParameterType::array(item));
        with(nested(32)).check().unwrap();
        check_refused(&with(nested(33)), r#"function "f": parameter a: types nest deeper than 32"#);
    }
}
