//! Compares a call with its function, before an app runs it.
//!
//! The call's own arguments stay as the model wrote them. The result has arguments that are coerced to the declared types
//! where that is obvious, with a diagnostic for every change and for everything that does not fit.

mod coerce;
mod fit;
mod json_schema;
mod pattern;
#[cfg(test)]
mod suite;
#[cfg(test)]
mod tests;

use std::cell::Cell;

use crate::function::{
    Arguments, Diagnostic, DiagnosticCode, SdkFunction, SdkFunctionCall, SdkFunctionParameterType, Severity, Value,
};
use crate::notation::number_lexemes;
use crate::schema::DefinitionScope;

/// Names of an argument that some models put all arguments into.
const WRAPPERS: [&str; 5] = ["properties", "parameters", "arguments", "args", "kwargs"];
/// Characters of the longest name that is compared with others: comparing takes quadratic time.
const MAX_COMPARED: usize = 64;

/// The result of [`validate`].
///
/// ```
/// use causerie::{SdkFunction, SdkFunctionCall, validate};
///
/// fn run(call: &SdkFunctionCall, function: &SdkFunction) -> String {
///     let validation = validate(call, function);
///     if validation.is_ok() { format!("run with {:?}", validation.arguments) } else { validation.errors_as_tool_text() }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// The arguments, coerced where that was possible.
    pub arguments: Arguments,
    /// Diagnostics, in the order of the function's parameters.
    pub diagnostics: Vec<Diagnostic>,
}

impl Validation {
    /// Whether the function is declared and all arguments fit, coerced or as written.
    ///
    /// ```
    /// use causerie::{SdkFunction, SdkFunctionCall, validate};
    /// assert!(validate(&SdkFunctionCall::default(), &SdkFunction::new("now", "Get the time.", vec![])).is_ok());
    /// ```
    pub fn is_ok(&self) -> bool {
        self.diagnostics.iter().all(|diagnostic| diagnostic.code.severity() < Severity::Error)
    }

    /// The errors as a short JSON text to send back to the model as the result of the call; empty if there are none.
    ///
    /// ```
    /// # use causerie::*;
    /// let city = SdkFunctionParameter::new("city", SdkFunctionParameterType::string(), "The city.");
    /// let weather = SdkFunction::new("get_weather", "Get the weather.", vec![city]);
    /// let call = SdkFunctionCall { name: "get_weather".into(), ..Default::default() };
    /// let validation = validate(&call, &weather);
    /// assert_eq!(validation.errors_as_tool_text(), r#"{"error": "city is missing"}"#);
    /// ```
    pub fn errors_as_tool_text(&self) -> String {
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.code.severity() == Severity::Error);
        let messages: Vec<&str> = errors.map(|diagnostic| diagnostic.message.as_str()).collect();
        if messages.is_empty() {
            return String::new();
        }
        Value::Object(Arguments::from([("error".to_owned(), messages.join("; ").as_str().into())])).to_string()
    }
}

/// Compares a call's arguments with a function's parameters. The names of call and function are not compared.
///
/// ```
/// use causerie::{SdkFunction, SdkFunctionCall, SdkFunctionParameter, SdkFunctionParameterType, Value, validate};
///
/// let days = SdkFunctionParameter::new("days", SdkFunctionParameterType::integer(), "The number of days.");
/// let forecast = SdkFunction::new("forecast", "Get the forecast.", vec![days]);
/// let call = SdkFunctionCall {
///     name: "forecast".into(),
///     arguments: [("days".to_owned(), "3".into())].into_iter().collect(),
///     ..Default::default()
/// };
/// let validation = validate(&call, &forecast);
/// assert!(validation.is_ok());
/// assert_eq!(validation.arguments["days"], Value::Integer(3));
/// assert_eq!(validation.diagnostics[0].code.code(), "string_to_number");
/// ```
pub fn validate(call: &SdkFunctionCall, function: &SdkFunction) -> Validation {
    let mut diagnostics = Vec::new();
    let written = unwrapped(&number_lexemes(&call.raw_text).unwrap_or_default(), function, &mut Vec::new());
    let mut given = unwrapped(&call.arguments, function, &mut diagnostics);
    let mut arguments = Arguments::new();
    for parameter in &function.parameters {
        let written = written.get(&parameter.name);
        let place = ArgumentPlace { path: parameter.name.clone(), is_required: !parameter.optional, written };
        let value = given.shift_remove(&parameter.name);
        let value = match &parameter.schema {
            Some(schema) => place.check_schema(value, schema, &mut diagnostics),
            None => place.check(value, &parameter.parameter_type, &mut diagnostics),
        };
        arguments.extend(value.map(|value| (parameter.name.clone(), value)));
    }
    let declared: Vec<&str> = function.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    for (name, value) in given {
        diagnostics.push(undeclared(&name, &name, &declared));
        arguments.insert(name, value);
    }
    Validation { arguments, diagnostics }
}

pub(crate) use pattern::{is_pattern, matches_all};

/// Whether a value fits a JSON Schema, as far as arguments are validated against one.
pub(crate) fn fits_schema(value: &Value, schema: &Value) -> bool {
    json_schema::fits(value, schema, DefinitionScope::new(schema, &Cell::new(0)))
}

/// A value that fits a schema, as it is passed to the app: where the schema takes only integers, 1.0 becomes 1.
pub(crate) fn as_passed_on(value: &Value, schema: &Value) -> Value {
    let n_followed = Cell::new(0);
    fit::to_schema(value.clone(), schema, DefinitionScope::new(schema, &n_followed), ("", None), &mut Vec::new())
}

/// Compares a call with the function among several that has its name, as [`validate`] does. If no function has this name,
/// the arguments stay as they are, and the name is an error.
///
/// ```
/// use causerie::{DiagnosticCode, SdkFunction, SdkFunctionCall, validate_among};
///
/// let call = SdkFunctionCall { name: "get_wether".into(), ..Default::default() };
/// let validation = validate_among(&call, &[SdkFunction::new("get_weather", "Get the weather.", vec![])]);
/// assert!(!validation.is_ok());
/// assert_eq!(validation.diagnostics[0].code, DiagnosticCode::UndeclaredFunction);
/// assert_eq!(validation.diagnostics[0].message, "get_wether is not declared; did you mean get_weather?");
/// ```
pub fn validate_among(call: &SdkFunctionCall, functions: &[SdkFunction]) -> Validation {
    if let Some(function) = functions.iter().find(|function| function.name == call.name) {
        return validate(call, function);
    }
    let declared: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
    let code = DiagnosticCode::UndeclaredFunction;
    let message = format!("{} is not declared{}", call.name, hint(&call.name, &declared));
    let diagnostics = vec![Diagnostic { code, path: String::new(), message }];
    Validation { arguments: call.arguments.clone(), diagnostics }
}

/// The arguments without a wrapper: the members of a single argument that is a wrapper and that no parameter declares.
fn unwrapped(arguments: &Arguments, function: &SdkFunction, diagnostics: &mut Vec<Diagnostic>) -> Arguments {
    let is_declared = |name: &str| function.parameters.iter().any(|parameter| parameter.name == name);
    match arguments.first() {
        Some((name, Value::Object(inner)))
            if arguments.len() == 1 && WRAPPERS.contains(&name.as_str()) && !is_declared(name) =>
        {
            let message = format!("the arguments were inside {name}");
            diagnostics.push(Diagnostic { code: DiagnosticCode::UnwrappedArguments, path: name.clone(), message });
            inner.clone()
        }
        _ => arguments.clone(),
    }
}

/// The place of a value, and whether the value must be present.
struct ArgumentPlace<'a> {
    path: String,
    is_required: bool,
    /// The value with numbers as strings, exactly as the model wrote them, if that is known.
    written: Option<&'a Value>,
}

impl ArgumentPlace<'_> {
    /// The value, coerced if that makes it fit; `None` if it is left out.
    fn check(
        &self,
        value: Option<Value>,
        parameter_type: &SdkFunctionParameterType,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Value> {
        match value {
            Some(value) if value != Value::Null || *parameter_type == SdkFunctionParameterType::SdkNull => {
                Some(self.fit(value, parameter_type, diagnostics))
            }
            value => self.absent(value, diagnostics),
        }
    }

    /// The same as [`check`](Self::check), with a schema.
    fn check_schema(&self, value: Option<Value>, schema: &Value, diagnostics: &mut Vec<Diagnostic>) -> Option<Value> {
        let value = match value {
            Some(value) if value != Value::Null || fits_schema(&Value::Null, schema) => value,
            value => return self.absent(value, diagnostics),
        };
        let mut remarks = Vec::new();
        let n_followed = Cell::new(0);
        let scope = DefinitionScope::new(schema, &n_followed);
        let value = fit::to_schema(value, schema, scope, ("", self.written), &mut remarks);
        n_followed.set(0);
        remarks.extend(json_schema::faults(&value, schema, scope));
        for remark in remarks {
            let place =
                ArgumentPlace { path: format!("{}{}", self.path, remark.path), is_required: true, written: None };
            place.report(remark.code, &remark.message, diagnostics);
        }
        Some(value)
    }

    /// Reports that a value is missing or null; returns the value unless it is left out.
    fn absent(&self, value: Option<Value>, diagnostics: &mut Vec<Diagnostic>) -> Option<Value> {
        match (&value, self.is_required) {
            (None, false) => {}
            (None, true) => self.report(DiagnosticCode::MissingRequired, "is missing", diagnostics),
            (Some(_), true) => self.report(DiagnosticCode::NullForRequired, "must not be null", diagnostics),
            (Some(_), false) => {
                self.report(DiagnosticCode::NullDropped, "is null and was left out", diagnostics);
                return None;
            }
        }
        value
    }

    fn fit(&self, value: Value, wanted: &SdkFunctionParameterType, diagnostics: &mut Vec<Diagnostic>) -> Value {
        use SdkFunctionParameterType::{SdkArr, SdkObj};
        let (value, coerced) = coerce::to_type(value, wanted, self.written);
        if let Some(code) = coerced {
            self.report(code, &format!("was converted to {}", coerce::name(wanted)), diagnostics);
        }
        match (value, wanted) {
            (Value::Array(items), SdkArr { item_type, .. }) => {
                let fit = |(i, item): (usize, Value)| {
                    let written = match self.written {
                        Some(Value::Array(items)) => items.get(i),
                        _ => None,
                    };
                    let place = ArgumentPlace { path: format!("{}[{i}]", self.path), is_required: true, written };
                    place.check(Some(item), item_type, diagnostics).unwrap_or(Value::Null)
                };
                Value::Array(items.into_iter().enumerate().map(fit).collect())
            }
            (Value::Object(mut entries), SdkObj { properties, required, .. }) => {
                let mut fitted = Arguments::new();
                for (name, property) in properties {
                    let written = match self.written {
                        Some(Value::Object(entries)) => entries.get(name),
                        _ => None,
                    };
                    let is_required = required.contains(name);
                    let place = ArgumentPlace { path: format!("{}.{name}", self.path), is_required, written };
                    let value = place.check(entries.shift_remove(name), property, diagnostics);
                    fitted.extend(value.map(|value| (name.clone(), value)));
                }
                let declared: Vec<&str> = properties.keys().map(String::as_str).collect();
                for (name, value) in entries {
                    // An object without declared properties accepts any.
                    if !declared.is_empty() {
                        diagnostics.push(undeclared(&format!("{}.{name}", self.path), &name, &declared));
                    }
                    fitted.insert(name, value);
                }
                Value::Object(fitted)
            }
            (value, wanted) if coerce::is_of_type(&value, wanted) => self.fit_enum(value, wanted, diagnostics),
            (value, wanted) => {
                let rule = format!("must be {}, found {}", coerce::name(wanted), value.described());
                self.report(DiagnosticCode::WrongType, &rule, diagnostics);
                value
            }
        }
    }

    fn fit_enum(&self, value: Value, wanted: &SdkFunctionParameterType, diagnostics: &mut Vec<Diagnostic>) -> Value {
        let Some(allowed) = coerce::allowed(wanted) else { return value };
        if allowed.iter().any(|candidate| coerce::is_equal(candidate, &value)) {
            return value;
        }
        if let Some(only) = coerce::alike(&allowed, &value) {
            self.report(DiagnosticCode::EnumCase, &format!("was converted to {only}"), diagnostics);
            return only.clone();
        }
        let listed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        let rule = format!("must be one of {}, found {}", listed.join(", "), value.described());
        self.report(DiagnosticCode::NotInEnum, &rule, diagnostics);
        value
    }

    fn report(&self, code: DiagnosticCode, what: &str, diagnostics: &mut Vec<Diagnostic>) {
        diagnostics.push(Diagnostic { code, path: self.path.clone(), message: format!("{} {what}", self.path) });
    }
}

/// The diagnostic for an argument that is not declared.
fn undeclared(path: &str, name: &str, declared: &[&str]) -> Diagnostic {
    let message = format!("{path} is not declared{}", hint(name, declared));
    Diagnostic { code: DiagnosticCode::UndeclaredArgument, path: path.to_owned(), message }
}

/// Offers a near name. It is never taken: models copy misspellings on purpose, too.
fn hint(name: &str, declared: &[&str]) -> String {
    if MAX_COMPARED < name.chars().count() {
        return String::new();
    }
    let comparable = declared.iter().filter(|other| other.chars().count() <= MAX_COMPARED);
    let nearest = comparable.map(|other| (strsim::levenshtein(name, other), other)).min();
    match nearest {
        Some((distance, other)) if distance <= 2 && distance < other.chars().count() => {
            format!("; did you mean {other}?")
        }
        _ => String::new(),
    }
}
