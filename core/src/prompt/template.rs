//! The chat template of a model, compiled in a sandbox: bounded steps, bounded output, no clock of its own.

use std::io;
use std::thread;

use jiff::Zoned;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind as TemplateErrorKind, State, functions};
use minijinja_contrib::pycompat::unknown_method_callback;

use crate::error::{ErrorKind, Result, SdkError};
use crate::prompt::budget::{self, refused};
use crate::prompt::python;
use crate::prompt::source::{LIST_FILTER, OPERAND_FILTERS, SLICE_FILTER, prepare};

/// Steps of the template engine; a conversation of 1,000 messages takes about 100,000.
const FUEL: u64 = 1_000_000;
/// Bytes of stack for the template engine; what tags and tokens can nest takes a fraction of it.
const STACK: usize = 64 << 20;
/// Bytes that a template prints at most.
pub(crate) const LONGEST_PROMPT: usize = 16 << 20;
/// Macros and loops inside of each other; each level can hold a copy of its text.
const DEEPEST: usize = 64;
const NAME: &str = "chat_template";

/// A compiled chat template.
pub(crate) struct ChatTemplate {
    environment: Environment<'static>,
}

impl ChatTemplate {
    pub(crate) fn compile(source: &str) -> Result<Self> {
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
        // Nested over and over, these would grow as deep as the steps allow.
        environment.add_function("namespace", |state: &mut State<'_, '_>, defaults: Option<ValueOrKwargs>| {
            budget::list(state, &functions::namespace(defaults)?)
        });
        environment.add_function("dict", |state: &mut State<'_, '_>, value: Option<Value>, entries: Kwargs| {
            budget::list(state, &functions::dict(value, entries)?)
        });
        environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
            Err(Error::new(TemplateErrorKind::InvalidOperation, message))
        });
        let unfit =
            |reason| SdkError::new(ErrorKind::ModelLoad, format!("the chat template does not compile: {reason}"));
        let source = prepare(source).map_err(unfit)?;
        on_deep_stack(|| environment.add_template_owned(NAME, source))?
            .map_err(|err| SdkError::new(ErrorKind::ModelLoad, "the chat template does not compile").caused_by(err))?;
        Ok(Self { environment })
    }

    /// Renders with the variables given. `now` is the time that the template sees.
    pub(crate) fn render(&self, variables: Value, now: &Zoned) -> Result<String> {
        let failed = |err: Error| SdkError::new(ErrorKind::InvalidMessage, "the chat template refuses").caused_by(err);
        let template = self.environment.get_template(NAME).map_err(failed)?;
        let mut output = Bounded { text: Vec::new() };
        let now = now.clone();
        let strftime_now = Value::from_function(move |format: String| {
            jiff::fmt::strtime::format(&format, &now)
                .map_err(|err| Error::new(TemplateErrorKind::InvalidOperation, "bad date format").with_source(err))
        });
        let variables = minijinja::context! { strftime_now, ..variables };
        on_deep_stack(|| template.render_captured_to(variables, &mut output).map(drop))?.map_err(failed)?;
        String::from_utf8(output.text)
            .map_err(|err| SdkError::new(ErrorKind::Internal, "the template made invalid UTF-8").caused_by(err))
    }
}

/// Runs the template engine, which recurses as deep as a template nests. Only what is used of the stack takes memory.
fn on_deep_stack<T: Send>(run: impl FnOnce() -> T + Send) -> Result<T> {
    let failed = |what| SdkError::new(ErrorKind::InvalidMessage, what);
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("causerie-template".to_owned()).stack_size(STACK);
        let thread =
            thread.spawn_scoped(scope, run).map_err(|err| failed("no thread for the template").caused_by(err))?;
        thread.join().map_err(|_| failed("the chat template failed"))
    })
}

/// Lines that hold only a tag leave nothing behind, as transformers sets Jinja.
fn whitespace() -> SyntaxConfig {
    SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default()
}

fn tojson(state: &mut State<'_, '_>, value: &Value, indent: Option<usize>, options: Kwargs) -> Result<Value, Error> {
    let indent = indent.or(options.get::<Option<usize>>("indent")?);
    let _: Option<bool> = options.get("ensure_ascii")?; // chat templates only ever switch it off, where it is already
    let separators = options.get::<Option<Vec<String>>>("separators")?.map(<[String; 2]>::try_from).transpose();
    let separators = separators.map_err(|_| refused("separators are two texts"))?.map(|[item, key]| (item, key));
    let sort_keys = options.get::<Option<bool>>("sort_keys")?.unwrap_or_default();
    options.assert_all_used()?;
    let text = python::json(value, &python::Layout { indent, separators, sort_keys })?;
    budget::spend(state, text.len())?;
    Ok(Value::from(text))
}

/// Python's methods of text, lists and maps.
fn method(state: &mut State<'_, '_>, value: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let texts: Option<Vec<&str>> = arguments.iter().map(Value::as_str).collect();
    match (name, value.as_str(), texts.as_deref(), arguments) {
        ("format", Some(_), _, _) => Err(refused("it asks for str.format, which chat templates do without")),
        ("replace", Some(text), Some([from, to]), _) => budget::replace(state, text, from, to),
        ("join", Some(separator), _, [items]) => budget::join(state, items, separator, None),
        _ => {
            budget::method(state, value, name, arguments)?;
            unknown_method_callback(state, value, name, arguments)
        }
    }
}

fn add_filters(environment: &mut Environment<'_>) {
    // Chat templates do without them, and they fill memory as a mere number says, or nest lists without an end.
    let refused =
        ["indent", "format", "batch", "slice", "pprint", "groupby", "zip", "chain", "split", "lines", "urlencode"];
    refused.iter().for_each(|name| environment.remove_filter(name));
    budget::charge_filters(environment);
    environment.add_filter("tojson", tojson);
    environment.add_filter("string", |state: &mut State<'_, '_>, value: &Value| {
        let text = python::text(value)?;
        budget::spend(state, text.len())?;
        Ok::<_, Error>(Value::from(text))
    });
    environment.add_filter("join", budget::join_filter);
    environment.add_filter("replace", budget::replace);
    let [text, term, factor] = OPERAND_FILTERS;
    environment.add_filter(text, budget::text);
    environment.add_filter(term, budget::term);
    environment.add_filter(factor, budget::factor);
    environment.add_filter(SLICE_FILTER, budget::slice);
    environment.add_filter(LIST_FILTER, budget::list);
}

/// Tests that Jinja answers in another way: text can be iterated over, none cannot, and True is a number.
fn add_tests(environment: &mut Environment<'_>) {
    let is_text = |value: &Value| value.kind() == ValueKind::String;
    environment
        .add_test("iterable", move |value: &Value| is_text(value) || !value.is_none() && value.try_iter().is_ok());
    environment.add_test("sequence", |value: &Value| {
        matches!(value.kind(), ValueKind::String | ValueKind::Seq | ValueKind::Map)
    });
    environment.add_test("number", |value: &Value| matches!(value.kind(), ValueKind::Number | ValueKind::Bool));
}

/// Collects output up to a cap.
struct Bounded {
    text: Vec<u8>,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if LONGEST_PROMPT < self.text.len() + bytes.len() {
            return Err(io::Error::other("the prompt is longer than 16 MiB"));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::context;

    fn render(source: &str) -> Result<String> {
        let now = "2026-11-20T12:00:00[UTC]".parse().unwrap();
        ChatTemplate::compile(source)?.render(context! { x => vec![1, 2], flag => true }, &now)
    }

    #[test]
    fn values_print_as_in_python() {
        assert_eq!(render("{{ 'a' ~ flag ~ none ~ x ~ 2 * 3 ~ 1.0 ~ missing }}").unwrap(), "aTrueNone[1, 2]61.0");
        assert_eq!(render("{{ x }} {{ flag }} {{ none }} {{ flag | string }}").unwrap(), "[1, 2] True None True");
    }

    #[test]
    fn the_generation_tag_is_transparent() {
        assert_eq!(render("a {%- generation -%} b {%- endgeneration %} c").unwrap(), "ab c");
    }

    #[test]
    fn the_clock_is_the_callers() {
        assert_eq!(render("{{ strftime_now('%Y-%m-%d') }}").unwrap(), "2026-11-20");
    }

    #[test]
    fn endless_work_ends_in_an_error() {
        for source in [
            "{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}",
            "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
            "{% for a in range(9999) %}{{ 'x' * 9999999 }}{% endfor %}",
            "{{ x | tojson(indent=1000000000000) }}",
            "{{ 'a' | indent(1000000000000) }}",
            "{{ '%1000000000000d' | format(1) }}",
            "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
            "{% set ns = namespace(x='aaaa') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
            "{% set ns = namespace(x='aaaa') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
            "{% set ns = namespace(x='aaaa') %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] | join %}{% endfor %}",
            "{% set ns = namespace(x='aaaa') %}{% for i in range(60) %}{% set ns.x = ns.x.join(['', ns.x]) %}{% endfor %}",
            "{% set ns = namespace(x='aaaa') %}{% for i in range(60) %}{% set ns.x = ns.x.replace('a', 'aa') %}{% endfor %}",
            "{% set ns = namespace(x='aaaa') %}{% for i in range(60) %}{% set ns.x = ns.x | replace('', ns.x) %}{% endfor %}",
            "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x|length }}",
            "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}{% endfor %}",
            "{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% for j in range(9) %}{% set ns.x = [ns.x] %}{% endfor %}{% endfor %}",
            "{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% for j in range(9) %}{% set ns.x = {'a': ns.x} %}{% endfor %}{% endfor %}",
            "{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% for j in range(9) %}{% set ns.x = (ns.x, 1) %}{% endfor %}{% endfor %}",
            "{% set ns = namespace(x=[1]) %}{% for i in range(99999) %}{% for j in range(9) %}{% set ns.x = ns.x | reverse | map('trim') %}{% endfor %}{% endfor %}{{ ns.x }}",
            "{% set ns = namespace(x=[1]) %}{% for i in range(99999) %}{% for j in range(9) %}{% set ns.x = namespace(x=ns.x) %}{% endfor %}{% endfor %}",
            "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
            "{% set ns = namespace(x=[1]) %}{% for i in range(99999) %}{% set ns.x = ns.x[:] %}{% for j in range(9) %}{% endfor %}{% endfor %}",
            "{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% set ns.x = dict(x=ns.x) %}{% endfor %}",
            "{% macro m(x) %}{{ m(x ~ x) }}{% endmacro %}{{ m('aaaa') }}",
            "{{ [0] * 100000000 }}",
            "{% for a in range(9999) %}{% set x = 'x' * 9999999 %}{% endfor %}",
            "{{ '{:1000000000000}'.format(1) }}",
            "{{ [1] | batch(1000000000000, 0) | list }}",
            "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns | tojson }}",
            "{% set ns = namespace(x=1) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
            "{% set ns = namespace(y='aaaaaaaaaaaaaaaa') %}{% for i in range(20) %}{% set ns.y = ns.y ~ ns.y %}{% endfor %}{% for i in range(9999) %}{% set z = ns.y | upper %}{% endfor %}",
            "{% set ns = namespace(y='aaaaaaaaaaaaaaaa') %}{% for i in range(20) %}{% set ns.y = ns.y ~ ns.y %}{% endfor %}{% for i in range(9999) %}{% set z = ns.y | tojson %}{% endfor %}",
            "{% set ns = namespace(y='aaaaaaaaaaaaaaaa') %}{% for i in range(20) %}{% set ns.y = ns.y ~ ns.y %}{% endfor %}{% for i in range(9999) %}{% set z = ns.y.upper() %}{% endfor %}",
            "{% set ns = namespace(y='aaaaaaaaaaaaaaaa') %}{% for i in range(20) %}{% set ns.y = ns.y ~ ns.y %}{% endfor %}{% for i in range(9999) %}{% set z = ns.y.find('b') %}{% endfor %}",
            "{% set ns = namespace(y='aaaaaaaaaaaaaaaa') %}{% for i in range(20) %}{% set ns.y = ns.y ~ ns.y %}{% endfor %}{% for i in range(9999) %}{% set z = ns.y | length %}{% endfor %}",
            "{% set ns = namespace(y='aaaaaaaaaaaaaaaa') %}{% for i in range(20) %}{% set ns.y = ns.y ~ ns.y %}{% endfor %}{{ ns.y | list | length }}",
            "{% set ns = namespace(y='aaaaaaaaaaaaaaaa') %}{% for i in range(20) %}{% set ns.y = ns.y ~ ns.y %}{% endfor %}{{ ns.y.split('a') | length }}",
        ] {
            assert_eq!(render(source).unwrap_err().kind(), ErrorKind::InvalidMessage, "{source}");
        }
    }

    #[test]
    fn what_the_template_raises_is_shown() {
        assert!(render("{{ raise_exception('only two roles') }}").unwrap_err().to_string().contains("only two roles"));
    }

    #[test]
    fn a_broken_template_fails_at_load() {
        assert_eq!(render("{% if %}").unwrap_err().kind(), ErrorKind::ModelLoad);
    }
}
