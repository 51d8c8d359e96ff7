//! The filters that [`guards`](crate::guards) inserts. They change no value that a prompt shows: they charge what the engine
//! does not, and refuse or replace values that would nest without a limit.

use minijinja::value::{Tuple, Value, ValueKind};
use minijinja::{Environment, Error, State, functions};

use crate::fuel::{self, check_depth, refused};
use crate::guards::{
    COMPARED_FILTER, FLAT_FILTER, ITEM_FILTER, LOOPED_FILTER, NESTED_FILTER, SEARCHED_FILTER, STORED_FILTER,
};
use crate::python;

/// Adds the filters to an environment.
pub(crate) fn add(environment: &mut Environment<'_>) {
    environment.add_filter(FLAT_FILTER, flat);
    environment.add_filter(LOOPED_FILTER, looped);
    environment.add_filter(COMPARED_FILTER, compared);
    environment.add_filter(SEARCHED_FILTER, searched);
    environment.add_filter(ITEM_FILTER, item);
    environment.add_filter(NESTED_FILTER, nested);
    environment.add_filter(STORED_FILTER, stored);
}

/// A list in place of one that the engine would put together again each time it is read, from parts that may be such lists too.
/// The engine itself charges the length of a string, as for each filter.
fn flat(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.kind() == ValueKind::Iterable { copied(state, value) } else { Ok(value.clone()) }
}

/// As [`flat`], and a list of the characters of a string, so that the loop knows its last item.
fn looped(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.kind() == ValueKind::String { copied(state, value) } else { flat(state, value) }
}

/// A list with the items of a list, or a tuple with the items of a tuple.
pub(crate) fn copied(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let mut items = Vec::new();
    for item in value.try_iter()? {
        fuel::values(state, 1)?;
        items.push(item);
    }
    Ok(like(value, items))
}

/// A tuple of these items if `value` is one, otherwise a list.
pub(crate) fn like(value: &Value, items: Vec<Value>) -> Value {
    if python::is_tuple(value) { Value::from(Tuple::from(items)) } else { Value::from(items) }
}

/// Charges the comparison of a value, or its search as a key, with all that it contains.
pub(crate) fn compared(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    fuel::visit(state, value)?;
    Ok(value.clone())
}

/// Charges the search through the items of a list. The engine charges it for a string, and finds the keys of a dictionary without
/// a search.
pub(crate) fn searched(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.kind() != ValueKind::Map {
        fuel::visit(state, value)?;
    }
    Ok(value.clone())
}

/// A subscript. The engine would charge a filter around a list for the whole list.
fn item(state: &State<'_, '_>, value: &Value, key: &Value) -> Result<Value, Error> {
    fuel::index(state, value)?;
    fuel::visit(state, key)?;
    value.get_item(key)
}

/// Refuses a list, tuple or dictionary that is nested too deep, and charges the bytes of its keys, which were hashed.
pub(crate) fn nested(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    check_nesting(state, value, 0)?;
    Ok(value.clone())
}

fn check_nesting(state: &State<'_, '_>, value: &Value, depth: usize) -> Result<(), Error> {
    check_depth(depth)?;
    fuel::values(state, 1)?;
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter()?.try_for_each(|item| check_nesting(state, &item, depth + 1))
        }
        ValueKind::Map => value.try_iter()?.try_for_each(|key| {
            fuel::visit(state, &key)?;
            check_nesting(state, &value.get_item(&key)?, depth + 1)
        }),
        _ => Ok(()),
    }
}

/// A plain copy of a value that is stored in a namespace: one that refers to a namespace, stored in this namespace, would make
/// every visit endless.
fn stored(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    plain(state, value, &functions::namespace(None)?, 0)
}

fn plain(state: &State<'_, '_>, value: &Value, namespace: &Value, depth: usize) -> Result<Value, Error> {
    check_depth(depth)?;
    fuel::values(state, 1)?;
    let type_name = |value: &Value| value.as_object().map(|object| object.type_name());
    match value.kind() {
        ValueKind::Map if type_name(value) == type_name(namespace) => {
            Err(refused("it puts a namespace into a namespace"))
        }
        ValueKind::Map => {
            let pairs = value.try_iter()?.map(|key| {
                fuel::visit(state, &key)?;
                Ok((key.clone(), plain(state, &value.get_item(&key)?, namespace, depth + 1)?))
            });
            Ok(Value::from_pairs(pairs.collect::<Result<Vec<_>, Error>>()?))
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter()?.map(|item| plain(state, &item, namespace, depth + 1));
            let items = items.collect::<Result<Vec<_>, Error>>()?;
            Ok(like(value, items))
        }
        _ => Ok(value.clone()),
    }
}
