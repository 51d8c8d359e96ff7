//! Filters and tests of the template engine that need more than it does: they charge what they compare, take arguments as in
//! Jinja2, or print values as Python does.

use minijinja::value::{Kwargs, Rest, Value, ValueKind, ValueOrKwargs, from_args};
use minijinja::{Environment, Error, ErrorKind, State, filters, tests};

use crate::fuel::refused;
use crate::guard_filters::{compared, searched};
use crate::{fuel, python};

/// Size limit of the name of an attribute in bytes.
const MAX_NAME: usize = 128;

/// Adds the filters and tests to an environment, and removes those that Jinja2 does not have.
pub(crate) fn add(environment: &mut Environment<'_>) {
    // `zip` and `chain` can nest lists without a limit.
    ["zip", "chain", "split", "lines"].iter().for_each(|name| environment.remove_filter(name));
    ["startingwith", "endingwith"].iter().for_each(|name| environment.remove_test(name));
    add_comparing_tests(environment);
    add_string_filters(environment);
    add_sorting_filters(environment);
    for (name, filter) in [
        ("selectattr", Value::from_function(filters::selectattr)),
        ("rejectattr", Value::from_function(filters::rejectattr)),
        ("attr", Value::from_function(filters::attr)),
    ] {
        add_filter(environment, name, filter, move |state, value, arguments| {
            check_name(arguments.first())?;
            if name == "attr" { fuel::index(state, value) } else { charge_attributes(state, value) }
        });
    }
    environment.add_filter("map", map);
    environment.add_filter("sum", sum);
}

/// Tests that compare their arguments, by all their names.
fn add_comparing_tests(environment: &mut Environment<'_>) {
    let tests = [
        (["eq", "equalto", "=="], Value::from_function(tests::is_eq)),
        (["ne", "ne", "!="], Value::from_function(tests::is_ne)),
        (["lt", "lessthan", "<"], Value::from_function(tests::is_lt)),
        (["le", "le", "<="], Value::from_function(tests::is_le)),
        (["gt", "greaterthan", ">"], Value::from_function(tests::is_gt)),
        (["ge", "ge", ">="], Value::from_function(tests::is_ge)),
        (["sameas", "sameas", "sameas"], Value::from_function(tests::is_sameas)),
    ];
    for (names, test) in tests {
        for name in names {
            let test = test.clone();
            environment.add_test(name, move |state: &mut State<'_, '_>, arguments: Rest<Value>| {
                arguments.iter().try_for_each(|value| compared(state, value).map(drop))?;
                Ok::<_, Error>(test.call(state, &arguments)?.is_true())
            });
        }
    }
    let is_in = Value::from_function(tests::is_in);
    environment.add_test("in", move |state: &mut State<'_, '_>, value: &Value, container: &Value| {
        let arguments = [compared(state, value)?, searched(state, container)?];
        Ok::<_, Error>(is_in.call(state, &arguments)?.is_true())
    });
}

/// Filters of strings, which take other values as Python prints them.
fn add_string_filters(environment: &mut Environment<'_>) {
    let on_strings = [
        ("upper", Value::from_function(filters::upper)),
        ("lower", Value::from_function(filters::lower)),
        ("title", Value::from_function(filters::title)),
        ("capitalize", Value::from_function(filters::capitalize)),
        ("safe", Value::from_function(filters::safe)),
    ];
    for (name, filter) in on_strings {
        add_filter(environment, name, filter, |state, value, _| {
            if matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) {
                *value = Value::from(python::text(state, value)?.into_owned());
            }
            fuel::characters(state, value.as_str().map_or(0, str::len))
        });
    }
}

/// Filters that order values. The engine takes their arguments only by name, Jinja by position as well.
fn add_sorting_filters(environment: &mut Environment<'_>) {
    let on_order: [(_, &[&str], _); 5] = [
        ("sort", &["reverse", "case_sensitive", "attribute"], Value::from_function(filters::sort)),
        ("dictsort", &["case_sensitive", "by", "reverse"], Value::from_function(filters::dictsort)),
        ("unique", &["case_sensitive", "attribute"], Value::from_function(filters::unique)),
        ("min", &["case_sensitive", "attribute"], Value::from_function(filters::min)),
        ("max", &["case_sensitive", "attribute"], Value::from_function(filters::max)),
    ];
    for (name, names, filter) in on_order {
        let named = Value::from_function(move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
            let arguments = named(names, arguments.into_values())?;
            check_option(&arguments)?;
            filter.call(state, &arguments)
        });
        add_filter(environment, name, named, |state, value, _| {
            let mut items = Vec::new();
            for item in value.try_iter().into_iter().flatten() {
                fuel::values(state, 1)?;
                items.push(if value.kind() == ValueKind::Map { value.get_item(&item)? } else { item });
            }
            python::sort_cost(state, &items)
        });
    }
}

/// The arguments of a filter, with names for those after its value that are given by position.
fn named(names: &[&str], arguments: Vec<Value>) -> Result<Vec<Value>, Error> {
    let (named, positional): (Vec<Value>, Vec<Value>) = arguments.into_iter().partition(Value::is_kwargs);
    let mut positional = positional.into_iter();
    let value = positional.next();
    if names.len() < positional.len() {
        return Err(Error::from(ErrorKind::TooManyArguments));
    }
    let mut all: Vec<(String, Value)> = names.iter().map(|name| (*name).to_owned()).zip(positional).collect();
    for options in &named {
        let (options,): (Kwargs,) = from_args(std::slice::from_ref(options))?;
        for name in options.args() {
            all.push((name.to_owned(), options.get(name)?));
        }
    }
    Ok(value.into_iter().chain([Value::from(Kwargs::from_iter(all))]).collect())
}

/// Adds a filter that first charges its input value with `charge`, which also gets the other arguments and may change the value.
fn add_filter(
    environment: &mut Environment<'_>,
    name: &'static str,
    filter: Value,
    charge: impl Fn(&State<'_, '_>, &mut Value, &[Value]) -> Result<(), Error> + Send + Sync + 'static,
) {
    environment.add_filter(name, move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
        let mut arguments = arguments.into_values();
        if let Some((value, others)) = arguments.split_first_mut() {
            charge(state, value, others)?;
        }
        filter.call(state, &arguments)
    });
}

/// The filter `map`. The engine leaves out the named arguments of the filter that is applied.
fn map(state: &mut State<'_, '_>, value: Value, arguments: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let arguments = arguments.into_values();
    match arguments.split_first() {
        Some((name, others)) if let Some(name) = name.as_str() => {
            let mut mapped = Vec::new();
            for item in value.try_iter()? {
                fuel::values(state, 1 + others.len())?;
                fuel::bytes(state, item.as_str().map_or(0, str::len))?;
                let arguments: Vec<Value> = [item].into_iter().chain(others.iter().cloned()).collect();
                let item = state.apply_filter(name, &arguments)?;
                fuel::bytes(state, item.as_str().map_or(0, str::len))?;
                mapped.push(item);
            }
            Ok(Value::from(mapped))
        }
        _ => {
            check_option(&arguments)?;
            charge_attributes(state, &value)?;
            filters::map(state, value, Rest(arguments.into_iter().map(ValueOrKwargs::from).collect())).map(Value::from)
        }
    }
}

/// Refuses a long name of an attribute, which would be searched in each item.
pub(crate) fn check_name(name: Option<&Value>) -> Result<(), Error> {
    match name.and_then(Value::as_str) {
        Some(name) if MAX_NAME < name.len() => Err(refused("the name of an attribute must have at most 128 bytes")),
        _ => Ok(()),
    }
}

/// As [`check_name`], for a name in the option `attribute` of a filter.
fn check_option(arguments: &[Value]) -> Result<(), Error> {
    let options = arguments.last().filter(|last| last.is_kwargs());
    check_name(options.map(|options| options.get_attr("attribute")).transpose()?.as_ref())
}

/// Charges what it takes to find an attribute of each item, which may be an index.
fn charge_attributes(state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    value.try_iter().into_iter().flatten().try_for_each(|item| {
        fuel::values(state, 1)?;
        fuel::index(state, &item)
    })
}

/// The filter `sum`. As in Python, it adds no strings; lists become one list.
fn sum(
    state: &mut State<'_, '_>,
    values: &Value,
    attribute: Option<&str>,
    start: Option<Value>,
    options: Kwargs,
) -> Result<Value, Error> {
    let attribute = attribute.or(options.get("attribute")?);
    let start = start.map_or_else(|| options.get::<Option<Value>>("start"), |start| Ok(Some(start)))?;
    options.assert_all_used()?;
    check_name(attribute.map(Value::from).as_ref())?;
    let start = start.unwrap_or(Value::from(0));
    let wrong = |value: &Value| {
        let message = format!("sum takes numbers, or lists with a list to start with, found {}", value.kind());
        Error::new(ErrorKind::InvalidOperation, message)
    };
    let is_list = |value: &Value| value.kind() == ValueKind::Seq && !python::is_tuple(value);
    let mut numbers = Vec::new();
    let mut items: Vec<Value> = if is_list(&start) { start.try_iter()?.collect() } else { Vec::new() };
    fuel::values(state, items.len())?;
    for item in values.try_iter()? {
        fuel::values(state, 1)?;
        let item = attribute.map_or(Ok(item.clone()), |path| at_path(state, &item, path))?;
        if is_list(&start) && matches!(item.kind(), ValueKind::Seq | ValueKind::Iterable) {
            for item in item.try_iter()? {
                fuel::values(state, 1)?;
                items.push(item);
            }
        } else if !is_list(&start) && matches!(item.kind(), ValueKind::Number | ValueKind::Bool | ValueKind::Undefined)
        {
            numbers.push(item);
        } else {
            return Err(wrong(&item));
        }
    }
    match start.kind() {
        _ if is_list(&start) => Ok(Value::from(items)),
        ValueKind::Number | ValueKind::Bool => {
            let options = Kwargs::from_iter([("start", start)]);
            filters::sum(state, Value::from(numbers), None, None, options)
        }
        _ => Err(wrong(&start)),
    }
}

/// The value of an attribute, and of its attributes: `a.b.0`.
fn at_path(state: &State<'_, '_>, value: &Value, path: &str) -> Result<Value, Error> {
    path.split('.').try_fold(value.clone(), |value, name| {
        fuel::index(state, &value)?;
        match name.parse::<usize>() {
            Ok(at) => value.get_item_by_index(at),
            Err(_) => value.get_attr(name),
        }
    })
}
