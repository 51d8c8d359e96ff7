//! Limits the memory and the time that a chat template can take: for each rendering, the bytes that it copies and the bytes
//! that it searches are counted up to a limit.

use minijinja::value::{Kwargs, Rest, Tuple, Value, ValueKind, ValueOrKwargs, from_args};
use minijinja::{Environment, Error, ErrorKind, State, filters, functions, tests};

use crate::python;

/// Bytes that one rendering may copy between values or search. Templates assemble a prompt from pieces and copy some of them
/// several times; real ones need less than a hundredth of this.
const MOST_COPIED: usize = 128 << 20;
/// How many searched bytes cost as much as one copied byte. A search reads some billion bytes per second.
const SEARCHED_PER_COPIED: usize = 8;
/// Size limit of one string in bytes.
const LONGEST: usize = 16 << 20;
/// Size of an item of a list in bytes.
const ITEM: usize = size_of::<Value>();
/// Limits of the values nested in a list, in number and in depth. A conversation has some thousand messages.
const MOST_VALUES: usize = 1 << 18;
const DEEPEST: usize = 128;

/// Bytes copied so far.
#[derive(Default)]
struct Copied(usize);

/// Counts bytes that are about to be copied.
pub(super) fn spend(state: &mut State<'_, '_>, n_bytes: usize) -> Result<(), Error> {
    let copied = state.get_or_insert_extension_with(Copied::default);
    copied.0 = copied.0.saturating_add(n_bytes);
    if MOST_COPIED < copied.0 { Err(refused("it copies or searches too much text")) } else { Ok(()) }
}

/// Counts a search through a value and all that it contains.
fn search(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    let n_bytes = weigh(value)?;
    spend(state, n_bytes.div_ceil(SEARCHED_PER_COPIED))
}

/// The size of a value and all that it contains, in bytes. Values that are contained several times count each time.
fn weigh(value: &Value) -> Result<usize, Error> {
    let mut n_bytes = 0;
    let mut n_left = MOST_VALUES;
    add_weight(value, 0, &mut n_left, &mut n_bytes)?;
    Ok(n_bytes)
}

fn add_weight(value: &Value, depth: usize, n_left: &mut usize, n_bytes: &mut usize) -> Result<(), Error> {
    if DEEPEST < depth || *n_left == 0 {
        return Err(refused("it searches a list that is too large"));
    }
    *n_left -= 1;
    *n_bytes = n_bytes.saturating_add(ITEM + value.as_str().map_or(0, str::len));
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter()?.try_for_each(|item| add_weight(&item, depth + 1, n_left, n_bytes))
        }
        ValueKind::Map => value.try_iter()?.try_for_each(|key| {
            add_weight(&key, depth + 1, n_left, n_bytes)?;
            add_weight(&value.get_item(&key)?, depth + 1, n_left, n_bytes)
        }),
        _ => Ok(()),
    }
}

/// Filter for an operand of a comparison.
pub(super) fn compared(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    search(state, value)?;
    Ok(value.clone())
}

/// Filter for the left operand of `in`, and for a key. The engine prints a value of another type when it searches a string
/// for it, so it counts as copied.
pub(super) fn needle(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => spend(state, weigh(value)?)?,
        _ => search(state, value)?,
    }
    Ok(value.clone())
}

/// Filter for the right operand of `in`. A map finds its keys without a search.
pub(super) fn container(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.kind() != ValueKind::Map {
        search(state, value)?;
    }
    Ok(value.clone())
}

/// Filter for a value with a subscript.
pub(super) fn indexed(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    count(state, value)?;
    Ok(value.clone())
}

/// Counts the work of finding a value's length: the characters of a string, and the items of an iterator. A list has its
/// length stored.
fn count(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::String | ValueKind::Iterable => spend(state, size(value, 1).div_ceil(SEARCHED_PER_COPIED)),
        _ => Ok(()),
    }
}

/// Filter for a value that is assigned to an attribute. Converts it to a plain value, because a value that refers to a
/// namespace, stored in this namespace, would make every traversal endless.
pub(super) fn assigned(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let mut n_left = MOST_VALUES;
    let namespace = functions::namespace(None)?;
    let plain = plain(value, &namespace, 0, &mut n_left)?;
    spend(state, (MOST_VALUES - n_left).saturating_mul(ITEM))?;
    Ok(plain)
}

fn plain(value: &Value, namespace: &Value, depth: usize, n_left: &mut usize) -> Result<Value, Error> {
    if DEEPEST < depth || *n_left == 0 {
        return Err(refused("it stores a list that is too large"));
    }
    *n_left -= 1;
    let type_name = |value: &Value| value.as_object().map(|object| object.type_name());
    match value.kind() {
        ValueKind::Map if type_name(value) == type_name(namespace) => {
            Err(refused("it puts a namespace into a namespace"))
        }
        ValueKind::Map => {
            let keys = value.try_iter()?;
            let pairs = keys.map(|key| Ok((key.clone(), plain(&value.get_item(&key)?, namespace, depth + 1, n_left)?)));
            Ok(Value::from_pairs(pairs.collect::<Result<Vec<_>, Error>>()?))
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter()?.map(|item| plain(&item, namespace, depth + 1, n_left));
            let items = items.collect::<Result<Vec<_>, Error>>()?;
            Ok(like(value, items))
        }
        _ => Ok(value.clone()),
    }
}

/// Makes the tests of the template engine count what they search, and removes tests that Jinja does not have.
pub(super) fn charge_tests(environment: &mut Environment<'_>) {
    let tests = [
        (["eq", "equalto", "=="], Value::from_function(tests::is_eq)),
        (["ne", "ne", "!="], Value::from_function(tests::is_ne)),
        (["lt", "lessthan", "<"], Value::from_function(tests::is_lt)),
        (["le", "le", "<="], Value::from_function(tests::is_le)),
        (["gt", "greaterthan", ">"], Value::from_function(tests::is_gt)),
        (["ge", "ge", ">="], Value::from_function(tests::is_ge)),
        (["in", "in", "in"], Value::from_function(tests::is_in)),
        (["sameas", "sameas", "sameas"], Value::from_function(tests::is_sameas)),
    ];
    for (names, test) in tests {
        for name in names {
            let test = test.clone();
            environment.add_test(name, move |state: &mut State<'_, '_>, arguments: Rest<Value>| {
                arguments.iter().try_for_each(|value| needle(state, value).map(drop))?;
                Ok::<_, Error>(test.call(state, &arguments)?.is_true())
            });
        }
    }
    ["startingwith", "endingwith"].iter().for_each(|name| environment.remove_test(name));
}

/// Makes the filters of the template engine count what they copy and search.
pub(super) fn charge_filters(environment: &mut Environment<'_>) {
    let on_strings = [
        ("upper", Value::from_function(filters::upper)),
        ("lower", Value::from_function(filters::lower)),
        ("title", Value::from_function(filters::title)),
        ("capitalize", Value::from_function(filters::capitalize)),
        ("trim", Value::from_function(filters::trim)),
        ("safe", Value::from_function(filters::safe)),
    ];
    for (name, filter) in on_strings {
        add_filter(environment, name, filter, |state, value| {
            // The engine would print a value of another type itself, without a limit.
            if matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) {
                *value = Value::from(python::text(value)?);
            }
            spend(state, size(value, 1))
        });
    }
    let on_lists = [
        ("reverse", Value::from_function(filters::reverse), 1),
        ("list", Value::from_function(filters::list), ITEM),
        ("map", Value::from_function(map), ITEM),
        ("select", Value::from_function(filters::select), ITEM),
        ("reject", Value::from_function(filters::reject), ITEM),
        ("selectattr", Value::from_function(filters::selectattr), ITEM),
        ("rejectattr", Value::from_function(filters::rejectattr), ITEM),
        ("sum", Value::from_function(filters::sum), ITEM),
    ];
    for (name, filter, per_byte) in on_lists {
        add_filter(environment, name, filter, move |state, value| spend(state, size(value, per_byte)));
    }
    let on_undefined = [
        ("length", Value::from_function(filters::length)),
        ("count", Value::from_function(filters::length)),
        ("first", Value::from_function(filters::first)),
        ("last", Value::from_function(filters::last)),
        ("items", Value::from_function(filters::items)),
    ];
    for (name, filter) in on_undefined {
        add_filter(environment, name, filter, move |state, value| {
            // In Jinja, an undefined value is empty.
            if value.is_undefined() {
                *value =
                    if name == "items" { Value::from_pairs::<[(&str, Value); 0], _, _>([]) } else { Value::from("") };
            }
            count(state, value)
        });
    }
    // The template engine takes their arguments only by name, Jinja by position as well.
    let on_order: [(_, &[&str], _); 5] = [
        ("sort", &["reverse", "case_sensitive", "attribute"], Value::from_function(filters::sort)),
        ("dictsort", &["case_sensitive", "by", "reverse"], Value::from_function(filters::dictsort)),
        ("unique", &["case_sensitive", "attribute"], Value::from_function(filters::unique)),
        ("min", &["case_sensitive", "attribute"], Value::from_function(filters::min)),
        ("max", &["case_sensitive", "attribute"], Value::from_function(filters::max)),
    ];
    for (name, names, filter) in on_order {
        let named = Value::from_function(move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
            filter.call(state, &named(names, arguments.into_values())?)
        });
        add_filter(environment, name, named, |state, value| {
            // Each item is compared with about log2(n) others.
            let n_rounds = (usize::BITS - n_items(value).leading_zeros()) as usize; // at most 64
            spend(state, size(value, ITEM))?;
            spend(state, weigh(value)?.saturating_mul(n_rounds))
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

/// Adds a filter that first counts its input value with `charge`, which may also change the value.
fn add_filter(
    environment: &mut Environment<'_>,
    name: &'static str,
    filter: Value,
    charge: impl Fn(&mut State<'_, '_>, &mut Value) -> Result<(), Error> + Send + Sync + 'static,
) {
    environment.add_filter(name, move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
        let mut arguments = arguments.into_values();
        if let Some(value) = arguments.first_mut() {
            charge(state, value)?;
        }
        filter.call(state, &arguments)
    });
}

/// The filter `map`. The engine leaves out the named arguments of the filter that is applied.
fn map(state: &mut State<'_, '_>, value: Value, arguments: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let arguments = arguments.into_values();
    match arguments.split_first() {
        Some((name, others)) if let Some(name) = name.as_str() => {
            let mut apply = |item| {
                let arguments: Vec<Value> = [item].into_iter().chain(others.iter().cloned()).collect();
                state.apply_filter(name, &arguments)
            };
            value.try_iter()?.map(&mut apply).collect()
        }
        _ => {
            filters::map(state, value, Rest(arguments.into_iter().map(ValueOrKwargs::from).collect())).map(Value::from)
        }
    }
}

/// Counts what a Python method is about to copy or to search.
pub(super) fn method(state: &mut State<'_, '_>, value: &Value, name: &str, arguments: &[Value]) -> Result<(), Error> {
    let text = value.as_str().unwrap_or_default();
    let n_pieces = match (name, arguments.first().and_then(Value::as_str)) {
        ("startswith" | "endswith" | "get", _) => {
            return arguments.first().map_or(Ok(()), |argument| search(state, argument));
        }
        ("count", _) if value.kind() == ValueKind::Seq => {
            search(state, value)?;
            0
        }
        ("split", Some(separator)) if !separator.is_empty() => text.matches(separator).count(),
        ("split", _) => text.split_whitespace().count(),
        _ => 0,
    };
    spend(state, size(value, 1).saturating_add(n_pieces.saturating_mul(ITEM)))
}

/// The size of a string, times `per_byte`, or of a list's items, in bytes.
fn size(value: &Value, per_byte: usize) -> usize {
    match value.as_str() {
        Some(text) => text.len().saturating_mul(per_byte),
        None => n_items(value).saturating_mul(ITEM),
    }
}

/// The number of items of a list. The items of an iterator are counted.
fn n_items(value: &Value) -> usize {
    value.len().unwrap_or_else(|| value.try_iter().map_or(0, Iterator::count))
}

/// Filter for an operand of `~`. Converts it to a string as Python does, except for a number, which may be an operand of
/// `*` first.
pub(super) fn text(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let text = match value.kind() {
        ValueKind::String | ValueKind::Number => value.clone(),
        _ => Value::from(python::text(value)?),
    };
    spend(state, text.as_str().map_or(0, str::len))?;
    Ok(text)
}

/// Filter for an operand of `+`.
pub(super) fn term(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let n_bytes = match value.kind() {
        ValueKind::String => value.as_str().map_or(0, str::len),
        ValueKind::Seq | ValueKind::Iterable => size(value, 1),
        _ => 0,
    };
    spend(state, n_bytes)?;
    Ok(value.clone())
}

/// Filter for a slice. Copies a slice of a list to a list of its own.
pub(super) fn slice(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Ok(value.clone());
    }
    let items: Vec<Value> = value.try_iter()?.collect();
    spend(state, items.len().saturating_mul(ITEM))?;
    Ok(like(value, items))
}

/// A tuple of these items if `value` is one, otherwise a list.
fn like(value: &Value, items: Vec<Value>) -> Value {
    if python::is_tuple(value) { Value::from(Tuple::from(items)) } else { Value::from(items) }
}

/// Filter for a list, a tuple or a map. Refuses one that contains too many values.
pub(super) fn list(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let (mut n_left, mut n_key_bytes) = (MOST_VALUES, 0);
    measure(value, 0, &mut n_left, &mut n_key_bytes)?;
    spend(state, (MOST_VALUES - n_left).saturating_mul(ITEM).saturating_add(n_key_bytes))?;
    Ok(value.clone())
}

/// Subtracts the number of values in a value from `n_left`, and counts the bytes of its keys, which were hashed when they
/// were inserted.
fn measure(value: &Value, depth: usize, n_left: &mut usize, n_key_bytes: &mut usize) -> Result<(), Error> {
    if DEEPEST < depth || *n_left == 0 {
        return Err(refused("it creates a list that is too large"));
    }
    *n_left -= 1;
    match value.kind() {
        ValueKind::Seq => value.try_iter()?.try_for_each(|item| measure(&item, depth + 1, n_left, n_key_bytes)),
        ValueKind::Map => value.try_iter()?.try_for_each(|key| {
            *n_key_bytes = n_key_bytes.saturating_add(key.as_str().map_or(0, str::len));
            measure(&value.get_item(&key)?, depth + 1, n_left, n_key_bytes)
        }),
        _ => Ok(()),
    }
}

/// Filter in place of the operator `*`: the product of two numbers, or a string or list several times.
pub(super) fn product(state: &mut State<'_, '_>, left: &Value, right: &Value) -> Result<Value, Error> {
    let is_number = |value: &Value| matches!(value.kind(), ValueKind::Number | ValueKind::Bool);
    let is_whole = |value: &Value| value.is_integer() || value.kind() == ValueKind::Bool;
    let wrong = || {
        let message = format!(
            "the operator * takes numbers, or one and a string or list, found {} and {}",
            left.kind(),
            right.kind()
        );
        Error::new(ErrorKind::InvalidOperation, message)
    };
    let (repeated, count) = match (is_number(left), is_number(right)) {
        (true, true) if is_whole(left) && is_whole(right) => {
            let product = i128::try_from(left.clone())?.checked_mul(i128::try_from(right.clone())?);
            return product.map(Value::from).ok_or_else(|| refused("it multiplies numbers that are too large"));
        }
        (true, true) => return Ok(Value::from(f64::try_from(left.clone())? * f64::try_from(right.clone())?)),
        (false, _) => (left, right),
        (true, false) => (right, left),
    };
    if !is_whole(count) {
        return Err(wrong());
    }
    let count = usize::try_from(i128::try_from(count.clone())?.max(0)).unwrap_or(usize::MAX);
    if let Some(text) = repeated.as_str() {
        check_length(state, text.len().saturating_mul(count))?;
        return Ok(Value::from(text.repeat(count)));
    }
    if !matches!(repeated.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(wrong());
    }
    let (mut n_left, mut n_key_bytes) = (MOST_VALUES, 0);
    measure(repeated, 0, &mut n_left, &mut n_key_bytes)?;
    let n_values = n_items(repeated).max(MOST_VALUES - n_left).saturating_mul(count);
    if MOST_VALUES < n_values {
        return Err(refused("it creates a list that is too large"));
    }
    spend(state, n_values.saturating_mul(ITEM))?;
    let items: Vec<Value> = repeated.try_iter()?.collect();
    Ok(like(repeated, (0..count).flat_map(|_| items.iter().cloned()).collect()))
}

/// Filter for the operands of a `*` that no filter replaces.
pub(super) fn factor(value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Number | ValueKind::Bool => Ok(value.clone()),
        _ => Err(refused("after a test, only numbers can be multiplied")),
    }
}

/// Jinja's `join`.
pub(super) fn join_filter(
    state: &mut State<'_, '_>,
    items: &Value,
    separator: Option<&str>,
    options: Kwargs,
) -> Result<Value, Error> {
    let separator = separator.or(options.get("d")?).unwrap_or_default();
    let attribute: Option<&str> = options.get("attribute")?;
    options.assert_all_used()?;
    join(state, items, separator, attribute)
}

/// Joins items, or an attribute of each, as Python prints them.
pub(super) fn join(
    state: &mut State<'_, '_>,
    items: &Value,
    separator: &str,
    attribute: Option<&str>,
) -> Result<Value, Error> {
    let mut joined = String::new();
    for (i, item) in items.try_iter()?.enumerate() {
        let item = match attribute {
            Some(attribute) => python::text(&item.get_attr(attribute)?)?,
            None => python::text(&item)?,
        };
        spend(state, separator.len() + item.len())?;
        if 0 < i {
            joined.push_str(separator);
        }
        joined.push_str(&item);
    }
    Ok(Value::from(joined))
}

/// Jinja's `replace`. The result can be far longer than all inputs.
pub(super) fn replace(state: &mut State<'_, '_>, text: &str, from: &str, to: &str) -> Result<Value, Error> {
    check_length(state, text.len().saturating_add(text.matches(from).count().saturating_mul(to.len())))?;
    Ok(Value::from(text.replace(from, to)))
}

/// Refuses a string that would be too long, and counts it otherwise.
pub(super) fn check_length(state: &mut State<'_, '_>, n_bytes: usize) -> Result<(), Error> {
    if LONGEST < n_bytes {
        return Err(refused("it creates a string that is too long"));
    }
    spend(state, n_bytes)
}

pub(super) fn refused(reason: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, reason)
}
