//! The chat template of a model, compiled in a sandbox with limits on steps, memory and output, and without a clock of its
//! own.

use std::io;

use jiff::Zoned;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, functions};

use crate::error::TemplateError;
use crate::fuel::{self, Fuel, refused};
use crate::guard_filters::nested;
use crate::guards::TEXT_FILTER;
use crate::printable::keeping;
use crate::source::{PERCENT_FILTER, PRODUCT_FILTER, prepare};
use crate::{cycler, engine_filters, filters, formatting, guard_filters, json_filter, methods, operators, python};

/// Size limit of a rendered prompt in bytes.
pub const MAX_PROMPT: usize = 16 << 20;
/// Nesting limit of macros and loops, besides what the outer template takes. Each level can hold a copy of its text.
const MAX_DEPTH: usize = 64 + 11;
/// Size limit of a date format in bytes. A field of three bytes can be padded to hundreds.
const MAX_DATE_FORMAT: usize = 256;
const NAME: &str = "chat_template";
/// A template that includes the other one. Its state outlives an error, and so the fuel that was used is known.
const OUTER: &str = "causerie_outer";
const OUTER_SOURCE: &str = "{% block all %}{% include 'chat_template' %}{% endblock %}";

/// A compiled chat template.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
}

impl ChatTemplate {
    /// Compiles a template. Needs a stack of [`STACK`](crate::STACK) bytes.
    ///
    /// # Errors
    /// [`Source`](crate::TemplateErrorKind::Source) for a source that is not valid or not supported.
    pub fn compile(source: &str) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_debug(false);
        environment.set_syntax(whitespace());
        environment.set_recursion_limit(MAX_DEPTH);
        environment.set_unknown_method_callback(methods::method);
        environment.set_formatter(|out, state, value| Ok(out.write_str(&python::text(state, value)?)?));
        add_filters(&mut environment);
        add_tests(&mut environment);
        add_functions(&mut environment);
        // Jinja2 reads every line end as LF.
        let source = source.replace("\r\n", "\n").replace('\r', "\n");
        let source = prepare(&source).map_err(TemplateError::in_source)?;
        let mut add =
            |name, source| environment.add_template_owned(name, source).map_err(TemplateError::in_engine_source);
        add(NAME, source)?;
        add(OUTER, OUTER_SOURCE.to_owned())?;
        Ok(Self { environment })
    }

    /// Renders with the given variables. `now` is the current time for the template. The characters in `kept` are never
    /// escaped. The work is taken from `fuel`, whether the rendering succeeds or not. Needs a stack of
    /// [`STACK`](crate::STACK) bytes.
    ///
    /// # Errors
    /// - [`Unsupported`](crate::TemplateErrorKind::Unsupported) if the template uses an unsupported filter, test, method or function.
    /// - [`Exhausted`](crate::TemplateErrorKind::Exhausted) if the fuel does not suffice.
    /// - [`Refused`](crate::TemplateErrorKind::Refused) if the template refuses the variables, or creates what is too deep or too
    ///   large.
    pub fn render(&self, variables: Value, now: &Zoned, kept: Vec<char>, fuel: &Fuel) -> Result<String, TemplateError> {
        let mut environment = self.environment.clone();
        let given = fuel.left();
        environment.set_fuel(Some(given));
        for name in variables.try_iter().map_err(TemplateError::in_rendering)? {
            let value = variables.get_item(&name).map_err(TemplateError::in_rendering)?;
            environment.add_global(name.to_string(), value);
        }
        environment.add_global("strftime_now", strftime_now(now.clone()));
        let mut output = LimitedOutput { text: Vec::new() };
        let outer = environment.get_template(OUTER).map_err(TemplateError::in_rendering)?;
        let mut state = outer.new_state();
        let rendered = keeping(kept, || state.render_block_to_write("all", &mut output));
        fuel.set_left(state.fuel_levels().map_or(0, |(_, left)| left));
        rendered.map_err(TemplateError::in_rendering)?;
        // The engine writes strings.
        Ok(String::from_utf8_lossy(&output.text).into_owned())
    }
}

fn strftime_now(now: Zoned) -> Value {
    Value::from_function(move |state: &State<'_, '_>, format: &str| {
        if MAX_DATE_FORMAT < format.len() {
            return Err(refused("a date format must have at most 256 bytes"));
        }
        fuel::values(state, 1 + format.len())?;
        jiff::fmt::strtime::format(format, &now)
            .map_err(|err| Error::new(ErrorKind::InvalidOperation, "the date format is not valid").with_source(err))
    })
}

fn add_functions(environment: &mut Environment<'_>) {
    // It prints all variables without a limit, and chat templates do not need it.
    environment.remove_global("debug");
    // Nested repeatedly, these would grow as deep as the steps allow.
    environment.add_function("namespace", |state: &mut State<'_, '_>, value: Option<Value>, entries: Kwargs| {
        let value = value.map(|value| methods::map_of_pairs(state, value)).transpose()?;
        nested(state, &functions::namespace(Some(functions::dict(value, entries)?.into()))?)
    });
    environment.add_function("dict", |state: &mut State<'_, '_>, value: Option<Value>, entries: Kwargs| {
        let value = value.map(|value| methods::map_of_pairs(state, value)).transpose()?;
        nested(state, &functions::dict(value, entries)?)
    });
    cycler::add(environment);
    environment.add_function("raise_exception", |state: &State<'_, '_>, message: &Value| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, python::text(state, message)?.into_owned()))
    });
}

/// Removes lines that contain only a tag, as transformers configures Jinja.
pub(crate) fn whitespace() -> SyntaxConfig {
    SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default()
}

fn add_filters(environment: &mut Environment<'_>) {
    engine_filters::add(environment);
    filters::add(environment);
    guard_filters::add(environment);
    environment.add_filter("tojson", json_filter::tojson);
    environment.add_filter("string", |state: &State<'_, '_>, value: &Value| {
        Ok::<_, Error>(Value::from(python::text(state, value)?.into_owned()))
    });
    environment.add_filter("join", methods::join_filter);
    environment.add_filter(PERCENT_FILTER, formatting::percent);
    environment.add_filter(PRODUCT_FILTER, operators::product);
    environment.add_filter(TEXT_FILTER, operators::text);
}

/// Adds tests for which Jinja has other results than the engine: strings are iterable, `none` is not, and True is a number.
fn add_tests(environment: &mut Environment<'_>) {
    let is_string = |value: &Value| value.kind() == ValueKind::String;
    environment
        .add_test("iterable", move |value: &Value| is_string(value) || !value.is_none() && value.try_iter().is_ok());
    // A range is an iterator of known length here, and a sequence in Python.
    environment.add_test("sequence", |value: &Value| match value.kind() {
        ValueKind::Iterable => value.len().is_some(),
        kind => matches!(kind, ValueKind::String | ValueKind::Seq | ValueKind::Map),
    });
    environment.add_test("callable", cycler::is_callable);
    for (name, has_case, has_other) in [
        ("lower", char::is_lowercase as fn(char) -> bool, char::is_uppercase as fn(char) -> bool),
        ("upper", char::is_uppercase, char::is_lowercase),
    ] {
        environment.add_test(name, move |state: &mut State<'_, '_>, value: &Value| {
            let text = python::text(state, value)?;
            fuel::characters(state, text.len())?;
            Ok::<_, Error>(text.chars().any(has_case) && !text.chars().any(has_other))
        });
    }
    environment.add_test("number", |value: &Value| matches!(value.kind(), ValueKind::Number | ValueKind::Bool));
}

/// Collects output up to the size limit.
struct LimitedOutput {
    text: Vec<u8>,
}

impl io::Write for LimitedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if MAX_PROMPT < self.text.len() + bytes.len() {
            return Err(io::Error::other("the prompt must have at most 16 MiB"));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
