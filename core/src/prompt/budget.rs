//! Bounds the memory and the time that a chat template can take: what it copies, and what it looks through, is counted for
//! each rendering, to a cap.

use minijinja::value::{Kwargs, Rest, Tuple, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, filters, functions, tests};

use crate::prompt::python;

/// Bytes that one rendering may copy from value to value, or look through. Templates put a prompt together from pieces,
/// some of them several times over; a hundredth of this is much.
const MOST_COPIED: usize = 128 << 20;
/// How many bytes that are only looked at count as one that is copied: a search reads some billion in a second.
const SEEN_PER_COPIED: usize = 8;
/// Bytes of one text at most.
const LONGEST: usize = 16 << 20;
/// Bytes that an item of a list takes.
const ITEM: usize = size_of::<Value>();
/// Values that a list holds at most, and how deep, in all: the messages of a conversation are some thousand.
const MOST_HELD: usize = 1 << 18;
const DEEPEST: usize = 128;
/// What a text may be multiplied with, and how long it may be: enough for a line of dashes.
const LARGEST_FACTOR: i64 = 10_000;
const LONGEST_FACTOR: usize = 64;

/// Bytes copied so far.
#[derive(Default)]
struct Copied(usize);

/// Counts bytes that are about to be copied.
pub(super) fn spend(state: &mut State<'_, '_>, n_bytes: usize) -> Result<(), Error> {
    let copied = state.get_or_insert_extension_with(Copied::default);
    copied.0 = copied.0.saturating_add(n_bytes);
    if MOST_COPIED < copied.0 { Err(refused("it makes or reads too much text")) } else { Ok(()) }
}

/// Counts what is about to be looked through: all that a value holds.
fn look(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    let n_bytes = weigh(value)?;
    spend(state, n_bytes.div_ceil(SEEN_PER_COPIED))
}

/// Bytes of all that a value holds, each as often as it is held.
fn weigh(value: &Value) -> Result<usize, Error> {
    let mut n_bytes = 0;
    let mut room = MOST_HELD;
    add_weight(value, 0, &mut room, &mut n_bytes)?;
    Ok(n_bytes)
}

fn add_weight(value: &Value, depth: usize, room: &mut usize, n_bytes: &mut usize) -> Result<(), Error> {
    if DEEPEST < depth || *room == 0 {
        return Err(refused("it looks through too large a list"));
    }
    *room -= 1;
    *n_bytes = n_bytes.saturating_add(ITEM + value.as_str().map_or(0, str::len));
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter()?.try_for_each(|item| add_weight(&item, depth + 1, room, n_bytes))
        }
        ValueKind::Map => value.try_iter()?.try_for_each(|key| {
            add_weight(&key, depth + 1, room, n_bytes)?;
            add_weight(&value.get_item(&key)?, depth + 1, room, n_bytes)
        }),
        _ => Ok(()),
    }
}

/// An operand of a comparison.
pub(super) fn compared(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    look(state, value)?;
    Ok(value.clone())
}

/// What is sought in a container, or a key. What is no text is printed if it is sought in one, so it counts as copied.
pub(super) fn sought(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => spend(state, weigh(value)?)?,
        _ => look(state, value)?,
    }
    Ok(value.clone())
}

/// What something is sought in: a map finds its keys without a look at all.
pub(super) fn container(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.kind() != ValueKind::Map {
        look(state, value)?;
    }
    Ok(value.clone())
}

/// What has a subscript.
pub(super) fn indexed(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    count(state, value)?;
    Ok(value.clone())
}

/// Counts what is about to be counted itself: the characters of a text, and items that are made as they are asked for. A list
/// knows how many it has.
fn count(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::String | ValueKind::Iterable => spend(state, held(value, 1).div_ceil(SEEN_PER_COPIED)),
        _ => Ok(()),
    }
}

/// What is assigned to an attribute, made a plain value: what looks into a namespace, kept in it, would have no end.
pub(super) fn assigned(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let mut room = MOST_HELD;
    let namespace = functions::namespace(None)?;
    let plain = plain(value, &namespace, 0, &mut room)?;
    spend(state, (MOST_HELD - room).saturating_mul(ITEM))?;
    Ok(plain)
}

fn plain(value: &Value, namespace: &Value, depth: usize, room: &mut usize) -> Result<Value, Error> {
    if DEEPEST < depth || *room == 0 {
        return Err(refused("it keeps too large a list"));
    }
    *room -= 1;
    let type_name = |value: &Value| value.as_object().map(|object| object.type_name());
    match value.kind() {
        ValueKind::Map if type_name(value) == type_name(namespace) => {
            Err(refused("it puts a namespace into a namespace"))
        }
        ValueKind::Map => {
            let keys = value.try_iter()?;
            let pairs = keys.map(|key| Ok((key.clone(), plain(&value.get_item(&key)?, namespace, depth + 1, room)?)));
            Ok(Value::from_pairs(pairs.collect::<Result<Vec<_>, Error>>()?))
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter()?.map(|item| plain(&item, namespace, depth + 1, room));
            let items = items.collect::<Result<Vec<_>, Error>>()?;
            Ok(if value.is_tuple() { Value::from(Tuple::from(items)) } else { Value::from(items) })
        }
        _ => Ok(value.clone()),
    }
}

/// Counts what the tests of the template engine look through; those that Jinja does not know are left out.
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
        (["lower", "lower", "lower"], Value::from_function(tests::is_lower)),
        (["upper", "upper", "upper"], Value::from_function(tests::is_upper)),
    ];
    for (names, test) in tests {
        for name in names {
            let test = test.clone();
            environment.add_test(name, move |state: &mut State<'_, '_>, arguments: Rest<Value>| {
                arguments.iter().try_for_each(|value| sought(state, value).map(drop))?;
                Ok::<_, Error>(test.call(state, &arguments)?.is_true())
            });
        }
    }
    ["startingwith", "endingwith"].iter().for_each(|name| environment.remove_test(name));
}

/// Counts what the filters of the template engine make of texts and lists.
pub(super) fn charge_filters(environment: &mut Environment<'_>) {
    let of_texts = [
        ("upper", Value::from_function(filters::upper)),
        ("lower", Value::from_function(filters::lower)),
        ("title", Value::from_function(filters::title)),
        ("capitalize", Value::from_function(filters::capitalize)),
        ("trim", Value::from_function(filters::trim)),
        ("escape", Value::from_function(filters::escape)),
        ("e", Value::from_function(filters::escape)),
        ("safe", Value::from_function(filters::safe)),
        ("int", Value::from_function(filters::int)),
        ("float", Value::from_function(filters::float)),
    ];
    for (name, filter) in of_texts {
        add_filter(environment, name, filter, |state, value| {
            // The engine would print what is no text by itself, however long that is.
            if matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) {
                *value = Value::from(python::text(value)?);
            }
            spend(state, held(value, 1))
        });
    }
    let to_lists = [
        ("reverse", Value::from_function(filters::reverse), 1),
        ("list", Value::from_function(filters::list), ITEM),
        ("map", Value::from_function(filters::map), ITEM),
        ("select", Value::from_function(filters::select), ITEM),
        ("reject", Value::from_function(filters::reject), ITEM),
        ("selectattr", Value::from_function(filters::selectattr), ITEM),
        ("rejectattr", Value::from_function(filters::rejectattr), ITEM),
        ("sum", Value::from_function(filters::sum), ITEM),
    ];
    for (name, filter, per_byte) in to_lists {
        add_filter(environment, name, filter, move |state, value| spend(state, held(value, per_byte)));
    }
    let of_places = [
        ("length", Value::from_function(filters::length)),
        ("count", Value::from_function(filters::length)),
        ("last", Value::from_function(filters::last)),
    ];
    for (name, filter) in of_places {
        add_filter(environment, name, filter, |state, value| count(state, value));
    }
    let comparing = [
        ("sort", Value::from_function(filters::sort)),
        ("dictsort", Value::from_function(filters::dictsort)),
        ("unique", Value::from_function(filters::unique)),
        ("min", Value::from_function(filters::min)),
        ("max", Value::from_function(filters::max)),
    ];
    for (name, filter) in comparing {
        add_filter(environment, name, filter, |state, value| {
            // Each item is compared with about as many others as its number has bits.
            let n_rounds = (usize::BITS - n_items(value).leading_zeros()) as usize; // at most 64
            spend(state, held(value, ITEM))?;
            spend(state, weigh(value)?.saturating_mul(n_rounds))
        });
    }
}

/// Adds a filter that charges for the value that it gets first, and may change it.
fn add_filter(
    environment: &mut Environment<'_>,
    name: &'static str,
    filter: Value,
    charge: impl Fn(&mut State<'_, '_>, &mut Value) -> Result<(), Error> + Send + Sync + 'static,
) {
    environment.add_filter(name, move |state: &mut State<'_, '_>, mut arguments: Rest<Value>| {
        if let Some(value) = arguments.first_mut() {
            charge(state, value)?;
        }
        filter.call(state, &arguments)
    });
}

/// Counts what a method of Python's is about to copy or to look through.
pub(super) fn method(state: &mut State<'_, '_>, value: &Value, name: &str, arguments: &[Value]) -> Result<(), Error> {
    let text = value.as_str().unwrap_or_default();
    let n_pieces = match (name, arguments.first().and_then(Value::as_str)) {
        ("startswith" | "endswith" | "get", _) => {
            return arguments.first().map_or(Ok(()), |argument| look(state, argument));
        }
        ("count", _) if value.kind() == ValueKind::Seq => {
            look(state, value)?;
            0
        }
        ("split", Some(separator)) if !separator.is_empty() => text.matches(separator).count(),
        ("split", _) => text.split_whitespace().count(),
        ("splitlines", _) => text.lines().count(),
        _ => 0,
    };
    spend(state, held(value, 1).saturating_add(n_pieces.saturating_mul(ITEM)))
}

/// Bytes of a text, each counted so many times, or of a list's items.
fn held(value: &Value, per_byte: usize) -> usize {
    match value.as_str() {
        Some(text) => text.len().saturating_mul(per_byte),
        None => n_items(value).saturating_mul(ITEM),
    }
}

/// Items of a list; of one that does not know, they are counted.
fn n_items(value: &Value) -> usize {
    value.len().unwrap_or_else(|| value.try_iter().map_or(0, Iterator::count))
}

/// An operand of `~`, as the text that Python makes of it; a number stays one, since it may be an operand of `*` first.
pub(super) fn text(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let text = match value.kind() {
        ValueKind::String | ValueKind::Number => value.clone(),
        _ => Value::from(python::text(value)?),
    };
    spend(state, text.as_str().map_or(0, str::len))?;
    Ok(text)
}

/// An operand of `+`.
pub(super) fn term(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let n_bytes = match value.kind() {
        ValueKind::String => value.as_str().map_or(0, str::len),
        ValueKind::Seq | ValueKind::Iterable => held(value, 1),
        _ => 0,
    };
    spend(state, n_bytes)?;
    Ok(value.clone())
}

/// A slice: of a list, a list of its own; of a text, the text.
pub(super) fn slice(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Ok(value.clone());
    }
    let items: Vec<Value> = value.try_iter()?.collect();
    spend(state, items.len().saturating_mul(ITEM))?;
    Ok(Value::from(items))
}

/// A list, a tuple or a map, if it is small enough in all that it holds.
pub(super) fn list(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let (mut room, mut n_key_bytes) = (MOST_HELD, 0);
    measure(value, 0, &mut room, &mut n_key_bytes)?;
    spend(state, (MOST_HELD - room).saturating_mul(ITEM).saturating_add(n_key_bytes))?;
    Ok(value.clone())
}

/// Takes what a value holds from `room`, and counts the texts that are its keys: each was looked through to be put there.
fn measure(value: &Value, depth: usize, room: &mut usize, n_key_bytes: &mut usize) -> Result<(), Error> {
    if DEEPEST < depth || *room == 0 {
        return Err(refused("it makes too large a list"));
    }
    *room -= 1;
    match value.kind() {
        ValueKind::Seq => value.try_iter()?.try_for_each(|item| measure(&item, depth + 1, room, n_key_bytes)),
        ValueKind::Map => value.try_iter()?.try_for_each(|key| {
            *n_key_bytes = n_key_bytes.saturating_add(key.as_str().map_or(0, str::len));
            measure(&value.get_item(&key)?, depth + 1, room, n_key_bytes)
        }),
        _ => Ok(()),
    }
}

/// An operand of `*`: a number, or a short text.
pub(super) fn factor(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let is_small = match value.kind() {
        ValueKind::Number => value.as_i64().is_none_or(|factor| factor <= LARGEST_FACTOR),
        ValueKind::String => {
            spend(state, LONGEST_FACTOR.saturating_mul(LARGEST_FACTOR.unsigned_abs() as usize))?; // far below 2^32
            value.as_str().is_none_or(|text| text.len() <= LONGEST_FACTOR)
        }
        _ => false,
    };
    if is_small { Ok(value.clone()) } else { Err(refused("it multiplies what is too large")) }
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

/// Items, or an attribute of each, as Python prints them.
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

/// `replace`, of which the result can be far longer than all that goes in.
pub(super) fn replace(state: &mut State<'_, '_>, text: &str, from: &str, to: &str) -> Result<Value, Error> {
    let n_bytes = text.len().saturating_add(text.matches(from).count().saturating_mul(to.len()));
    if LONGEST < n_bytes {
        return Err(refused("it makes too long a text"));
    }
    spend(state, n_bytes)?;
    Ok(Value::from(text.replace(from, to)))
}

pub(super) fn refused(reason: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, reason)
}
