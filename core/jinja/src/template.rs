//! The chat template of a model, compiled in a sandbox with limits on steps, memory and output, and without a clock of its
//! own.

use std::io;

use jiff::Zoned;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, functions};
use minijinja_contrib::pycompat::unknown_method_callback;

use crate::budget::{self, refused};
use crate::error::{TemplateError, TemplateErrorKind};
use crate::guards::{
    ASSIGNED_FILTER, COMPARED_FILTER, CONTAINER_FILTER, INDEXED_FILTER, LIST_FILTER, NEEDLE_FILTER, OPERAND_FILTERS,
    SLICE_FILTER,
};
use crate::printable::keeping;
use crate::source::{PERCENT_FILTER, PRODUCT_FILTER, prepare};
use crate::{cycler, filters, formatting, json_filter, methods, python};

/// Limit of what the template engine does: a step costs one, and so do 64 bytes or two items of a list that it creates. The
/// templates of known models take up to 750,000 for a conversation of 4,000 messages and 4 MB.
const FUEL: u64 = 4_000_000;
/// Size limit of a rendered prompt in bytes.
pub const LONGEST_PROMPT: usize = 16 << 20;
/// Nesting limit of macros and loops. Each level can hold a copy of its text.
const DEEPEST: usize = 64;
/// Size limit of a date format in bytes. A field of three bytes can be padded to hundreds.
const LONGEST_DATE_FORMAT: usize = 256;
const NAME: &str = "chat_template";

/// A compiled chat template.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
}

impl ChatTemplate {
    /// Compiles a template. Needs a stack of [`STACK`](crate::STACK) bytes.
    ///
    /// # Errors
    /// [`TemplateErrorKind::Source`] for a source that is not valid or not supported.
    pub fn compile(source: &str) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_syntax(whitespace());
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(DEEPEST);
        environment.set_unknown_method_callback(method);
        environment.set_formatter(|out, state, value| {
            let text = python::text(value)?;
            budget::spend(state, text.len())?;
            Ok(out.write_str(&text)?)
        });
        add_filters(&mut environment);
        add_tests(&mut environment);
        // It prints all variables without a limit, and chat templates do not need it.
        environment.remove_global("debug");
        // Nested repeatedly, these would grow as deep as the steps allow.
        environment.add_function("namespace", |state: &mut State<'_, '_>, value: Option<Value>, entries: Kwargs| {
            let value = value.map(|value| methods::map_of_pairs(state, value)).transpose()?;
            budget::list(state, &functions::namespace(Some(functions::dict(value, entries)?.into()))?)
        });
        environment.add_function("dict", |state: &mut State<'_, '_>, value: Option<Value>, entries: Kwargs| {
            let value = value.map(|value| methods::map_of_pairs(state, value)).transpose()?;
            budget::list(state, &functions::dict(value, entries)?)
        });
        cycler::add(&mut environment);
        environment.add_function("raise_exception", |message: &Value| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, python::text(message)?))
        });
        // Jinja2 reads every line end as LF.
        let source = source.replace("\r\n", "\n").replace('\r', "\n");
        let source = prepare(&source).map_err(TemplateError::in_source)?;
        environment
            .add_template_owned(NAME, source)
            .map_err(|err| TemplateError::new(TemplateErrorKind::Source, err))?;
        Ok(Self { environment })
    }

    /// Renders with the given variables. `now` is the current time for the template. The characters in `kept` are never
    /// escaped. Needs a stack of [`STACK`](crate::STACK) bytes.
    ///
    /// # Errors
    /// [`TemplateErrorKind::Unsupported`] if the template uses what is not supported, [`TemplateErrorKind::Refused`] if it
    /// refuses the variables or takes too much work or memory.
    pub fn render(&self, variables: Value, now: &Zoned, kept: Vec<char>) -> Result<String, TemplateError> {
        let template = self.environment.get_template(NAME).map_err(TemplateError::in_rendering)?;
        let mut output = LimitedOutput { text: Vec::new() };
        let now = now.clone();
        let strftime_now = Value::from_function(move |state: &mut State<'_, '_>, format: &str| {
            if LONGEST_DATE_FORMAT < format.len() {
                return Err(refused("a date format must have at most 256 bytes"));
            }
            let date = jiff::fmt::strtime::format(format, &now).map_err(|err| {
                Error::new(ErrorKind::InvalidOperation, "the date format is not valid").with_source(err)
            })?;
            budget::spend(state, date.len())?;
            Ok(date)
        });
        let variables = minijinja::context! { strftime_now, ..variables };
        let render = || template.render_captured_to(variables, &mut output).map(drop);
        keeping(kept, render).map_err(TemplateError::in_rendering)?;
        // The engine writes strings.
        Ok(String::from_utf8_lossy(&output.text).into_owned())
    }
}

/// Removes lines that contain only a tag, as transformers configures Jinja.
pub(crate) fn whitespace() -> SyntaxConfig {
    SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default()
}

/// Python's methods of strings, lists and dictionaries.
fn method(state: &mut State<'_, '_>, value: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = &*methods::positional(name, arguments)?;
    let strings: Option<Vec<&str>> = arguments.iter().map(Value::as_str).collect();
    match (name, value.as_str(), strings.as_deref(), arguments) {
        ("replace", Some(text), Some([from, to]), _) => budget::replace(state, text, from, to),
        ("join", Some(separator), _, [items]) => budget::join(state, items, separator, None),
        _ => {
            budget::method(state, value, name, arguments)?;
            match methods::call(state, value, name, arguments) {
                Some(result) => result,
                None => unknown_method_callback(state, value, name, arguments),
            }
        }
    }
}

fn add_filters(environment: &mut Environment<'_>) {
    // Jinja2 does not have them, and they can nest lists without a limit.
    ["zip", "chain", "split", "lines"].iter().for_each(|name| environment.remove_filter(name));
    budget::charge_filters(environment);
    filters::add(environment);
    environment.add_filter("tojson", json_filter::tojson);
    environment.add_filter("string", |state: &mut State<'_, '_>, value: &Value| {
        let text = python::text(value)?;
        budget::spend(state, text.len())?;
        Ok::<_, Error>(Value::from(text))
    });
    environment.add_filter("join", budget::join_filter);
    environment.add_filter(PERCENT_FILTER, formatting::percent);
    environment.add_filter(PRODUCT_FILTER, budget::product);
    let [text, term, factor] = OPERAND_FILTERS;
    environment.add_filter(text, budget::text);
    environment.add_filter(term, budget::term);
    environment.add_filter(factor, budget::factor);
    environment.add_filter(SLICE_FILTER, budget::slice);
    environment.add_filter(LIST_FILTER, budget::list);
    environment.add_filter(COMPARED_FILTER, budget::compared);
    environment.add_filter(NEEDLE_FILTER, budget::needle);
    environment.add_filter(CONTAINER_FILTER, budget::container);
    environment.add_filter(INDEXED_FILTER, budget::indexed);
    environment.add_filter(ASSIGNED_FILTER, budget::assigned);
}

/// Adds tests for which Jinja has other results than the engine: strings are iterable, `none` is not, and True is a number.
fn add_tests(environment: &mut Environment<'_>) {
    budget::charge_tests(environment);
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
            let text = python::text(value)?;
            budget::spend(state, text.len())?;
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
        if LONGEST_PROMPT < self.text.len() + bytes.len() {
            return Err(io::Error::other("the prompt must have at most 16 MiB"));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
