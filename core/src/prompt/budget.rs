//! Bounds the memory that a chat template can take: what it copies is counted for each rendering, to a cap.

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, filters};

use crate::prompt::python;

/// Bytes that one rendering may copy from value to value, or look through. Templates put a prompt together from pieces,
/// some of them several times over; a hundredth of this is much.
const MOST_COPIED: usize = 128 << 20;
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
    if MOST_COPIED < copied.0 { Err(refused("it makes too much text")) } else { Ok(()) }
}

/// Counts what the filters of the template engine make of texts and lists.
pub(super) fn charge_filters(environment: &mut Environment<'_>) {
    let to_texts = [
        ("upper", Value::from_function(filters::upper)),
        ("lower", Value::from_function(filters::lower)),
        ("title", Value::from_function(filters::title)),
        ("capitalize", Value::from_function(filters::capitalize)),
        ("trim", Value::from_function(filters::trim)),
        ("escape", Value::from_function(filters::escape)),
        ("e", Value::from_function(filters::escape)),
        ("reverse", Value::from_function(filters::reverse)),
        ("length", Value::from_function(filters::length)),
        ("count", Value::from_function(filters::length)),
    ];
    let to_lists = [
        ("list", Value::from_function(filters::list)),
        ("sort", Value::from_function(filters::sort)),
        ("dictsort", Value::from_function(filters::dictsort)),
        ("unique", Value::from_function(filters::unique)),
        ("map", Value::from_function(filters::map)),
        ("select", Value::from_function(filters::select)),
        ("reject", Value::from_function(filters::reject)),
        ("selectattr", Value::from_function(filters::selectattr)),
        ("rejectattr", Value::from_function(filters::rejectattr)),
        ("sum", Value::from_function(filters::sum)),
        ("min", Value::from_function(filters::min)),
        ("max", Value::from_function(filters::max)),
    ];
    let filters = to_texts.map(|(name, filter)| (name, filter, 1)).into_iter();
    for (name, filter, per_byte) in filters.chain(to_lists.map(|(name, filter)| (name, filter, ITEM))) {
        environment.add_filter(name, move |state: &mut State<'_, '_>, arguments: Rest<Value>| {
            let n_bytes = arguments.first().map_or(0, |value| held(value, per_byte));
            spend(state, n_bytes)?;
            filter.call(state, &arguments)
        });
    }
}

/// Counts what a method of Python's is about to copy or to look through.
pub(super) fn method(state: &mut State<'_, '_>, value: &Value, name: &str, arguments: &[Value]) -> Result<(), Error> {
    let text = value.as_str().unwrap_or_default();
    let n_pieces = match (name, arguments.first().and_then(Value::as_str)) {
        ("startswith" | "endswith" | "get", _) => return Ok(()),
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
        None => value.len().unwrap_or_default().saturating_mul(ITEM),
    }
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
        ValueKind::Seq | ValueKind::Iterable => value.len().unwrap_or_default().saturating_mul(ITEM),
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
    let mut room = MOST_HELD;
    measure(value, 0, &mut room)?;
    spend(state, (MOST_HELD - room).saturating_mul(ITEM))?;
    Ok(value.clone())
}

/// Takes what a value holds from `room`.
fn measure(value: &Value, depth: usize, room: &mut usize) -> Result<(), Error> {
    if DEEPEST < depth || *room == 0 {
        return Err(refused("it makes too large a list"));
    }
    *room -= 1;
    match value.kind() {
        ValueKind::Seq => value.try_iter()?.try_for_each(|item| measure(&item, depth + 1, room)),
        ValueKind::Map => value.try_iter()?.try_for_each(|key| measure(&value.get_item(&key)?, depth + 1, room)),
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
