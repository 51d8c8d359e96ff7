//! Compares a call with the function that it means, before an app runs it.
//!
//! A call's own arguments stay what the model wrote. What comes out here are arguments that fit the declared types
//! where an obvious coercion makes them fit, with a diagnostic for every change and for everything that does not fit.

mod coerce;
mod fit;
mod json_schema;
mod pattern;
#[cfg(test)]
mod tests;

use crate::function::{
    Arguments, Diagnostic, DiagnosticCode, SdkFunction, SdkFunctionCall, SdkFunctionParameterType, Severity, Value,
};
use crate::parse::number_lexemes;

/// Argument names that some models wrap all arguments in.
const WRAPPERS: [&str; 5] = ["properties", "parameters", "arguments", "args", "kwargs"];

/// What [`validate`] found.
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
    /// In the order of the function's parameters.
    pub diagnostics: Vec<Diagnostic>,
}

impl Validation {
    /// Whether the arguments fit, coerced or not.
    ///
    /// ```
    /// use causerie::{SdkFunction, SdkFunctionCall, validate};
    /// assert!(validate(&SdkFunctionCall::default(), &SdkFunction::new("now", "Tell the time.", vec![])).is_ok());
    /// ```
    pub fn is_ok(&self) -> bool {
        self.diagnostics.iter().all(|diagnostic| diagnostic.code.severity() < Severity::Error)
    }

    /// What does not fit, as a short JSON text to send back to the model as the call's result.
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
        Value::Object(Arguments::from([("error".to_owned(), messages.join("; ").as_str().into())])).to_string()
    }
}

/// Compares a call's arguments with a function's parameters. The names of call and function are not compared.
///
/// ```
/// use causerie::{SdkFunction, SdkFunctionCall, SdkFunctionParameter, SdkFunctionParameterType, Value, validate};
///
/// let days = SdkFunctionParameter::new("days", SdkFunctionParameterType::integer(), "How many.");
/// let forecast = SdkFunction::new("forecast", "Tell the weather to come.", vec![days]);
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
        let place = Place { path: parameter.name.clone(), is_required: !parameter.optional, written };
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

pub(crate) use pattern::is_pattern;

/// Whether a value fits a JSON Schema, as far as arguments are compared with one.
pub(crate) fn fits_schema(value: &Value, schema: &Value) -> bool {
    json_schema::fits(value, schema)
}

/// Compares a call with the one of several functions that it names, as [`validate`] does. For a name that none has, the
/// arguments stay as they are, with a warning: the app may know the function all the same.
///
/// ```
/// use causerie::{DiagnosticCode, SdkFunction, SdkFunctionCall, validate_among};
///
/// let call = SdkFunctionCall { name: "get_wether".into(), ..Default::default() };
/// let validation = validate_among(&call, &[SdkFunction::new("get_weather", "Get the weather.", vec![])]);
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

/// The arguments inside a wrapper, where a single argument is one and no parameter has its name.
fn unwrapped(arguments: &Arguments, function: &SdkFunction, diagnostics: &mut Vec<Diagnostic>) -> Arguments {
    let is_declared = |name: &str| function.parameters.iter().any(|parameter| parameter.name == name);
    match arguments.first() {
        Some((name, Value::Object(inner)))
            if arguments.len() == 1 && WRAPPERS.contains(&name.as_str()) && !is_declared(name) =>
        {
            let message = format!("the arguments stood inside {name}");
            diagnostics.push(Diagnostic { code: DiagnosticCode::UnwrappedArguments, path: name.clone(), message });
            inner.clone()
        }
        _ => arguments.clone(),
    }
}

/// Where a value stands, and whether it must be there.
struct Place<'a> {
    path: String,
    is_required: bool,
    /// The value there with numbers as texts, as the model wrote them, where that is known.
    written: Option<&'a Value>,
}

impl Place<'_> {
    /// The value that fits, or the one given where none does; `None` for one that is left out.
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

    /// As [`check`](Self::check), with a schema.
    fn check_schema(&self, value: Option<Value>, schema: &Value, diagnostics: &mut Vec<Diagnostic>) -> Option<Value> {
        let value = match value {
            Some(value) if value != Value::Null || fits_schema(&Value::Null, schema) => value,
            value => return self.absent(value, diagnostics),
        };
        let mut remarks = Vec::new();
        let value = fit::to_schema(value, schema, ("", self.written), &mut remarks);
        remarks.extend(json_schema::faults(&value, schema));
        for remark in remarks {
            let place = Place { path: format!("{}{}", self.path, remark.path), is_required: true, written: None };
            place.note(remark.code, &remark.message, diagnostics);
        }
        Some(value)
    }

    /// Notes that a value is missing or null; returns what is left of it.
    fn absent(&self, value: Option<Value>, diagnostics: &mut Vec<Diagnostic>) -> Option<Value> {
        match (&value, self.is_required) {
            (None, false) => {}
            (None, true) => self.note(DiagnosticCode::MissingRequired, "is missing", diagnostics),
            (Some(_), true) => self.note(DiagnosticCode::NullForRequired, "is null", diagnostics),
            (Some(_), false) => {
                self.note(DiagnosticCode::NullDropped, "is null and was left out", diagnostics);
                return None;
            }
        }
        value
    }

    fn fit(&self, value: Value, wanted: &SdkFunctionParameterType, diagnostics: &mut Vec<Diagnostic>) -> Value {
        use SdkFunctionParameterType::{SdkArr, SdkObj};
        let (value, coerced) = coerce::to_type(value, wanted, self.written);
        if let Some(code) = coerced {
            self.note(code, &format!("was read as {}", coerce::name(wanted)), diagnostics);
        }
        match (value, wanted) {
            (Value::Array(items), SdkArr { item_type, .. }) => {
                let fit = |(i, item): (usize, Value)| {
                    let written = match self.written {
                        Some(Value::Array(items)) => items.get(i),
                        _ => None,
                    };
                    let place = Place { path: format!("{}[{i}]", self.path), is_required: true, written };
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
                    let place = Place { path: format!("{}.{name}", self.path), is_required, written };
                    let value = place.check(entries.shift_remove(name), property, diagnostics);
                    fitted.extend(value.map(|value| (name.clone(), value)));
                }
                let declared: Vec<&str> = properties.keys().map(String::as_str).collect();
                for (name, value) in entries {
                    // An object without declared properties takes any.
                    if !declared.is_empty() {
                        diagnostics.push(undeclared(&format!("{}.{name}", self.path), &name, &declared));
                    }
                    fitted.insert(name, value);
                }
                Value::Object(fitted)
            }
            (value, wanted) if coerce::is_of_type(&value, wanted) => self.fit_enum(value, wanted, diagnostics),
            (value, wanted) => {
                self.note(DiagnosticCode::WrongType, &format!("is not {}", coerce::name(wanted)), diagnostics);
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
            self.note(DiagnosticCode::EnumCase, &format!("was read as {only}"), diagnostics);
            return only.clone();
        }
        let listed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        self.note(DiagnosticCode::NotInEnum, &format!("is none of {}", listed.join(", ")), diagnostics);
        value
    }

    fn note(&self, code: DiagnosticCode, what: &str, diagnostics: &mut Vec<Diagnostic>) {
        diagnostics.push(Diagnostic { code, path: self.path.clone(), message: format!("{} {what}", self.path) });
    }
}

/// An argument that nobody declared.
fn undeclared(path: &str, name: &str, declared: &[&str]) -> Diagnostic {
    let message = format!("{path} is not declared{}", hint(name, declared));
    Diagnostic { code: DiagnosticCode::UndeclaredArgument, path: path.to_owned(), message }
}

/// Offers a near name. It is never taken: models copy misspellings on purpose, too.
fn hint(name: &str, declared: &[&str]) -> String {
    let nearest = declared.iter().map(|other| (distance(name, other), other)).min();
    match nearest {
        Some((distance, other)) if distance <= 2 && distance < other.chars().count() => {
            format!("; did you mean {other}?")
        }
        _ => String::new(),
    }
}

/// How many letters must be added, dropped or changed (Levenshtein 1966). Long names are not compared: 64 letters are
/// more than names have.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(65).collect(), b.chars().take(65).collect());
    if 64 < a.len() || 64 < b.len() {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
