//! Operators that differ in Python: `~` joins what Python prints, and `*` repeats strings and lists. The operator `%` is in
//! [`formatting`](crate::formatting).

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use crate::fuel::{self, refused};
use crate::guard_filters::like;
use crate::python;

/// Filter for an operand of `~`. Converts it to a string as Python does, except for a number, which may be an operand of
/// `*` first.
pub(crate) fn text(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::String | ValueKind::Number => Ok(value.clone()),
        _ => Ok(Value::from(python::text(state, value)?.into_owned())),
    }
}

/// Filter in place of the operator `*`: the product of two numbers, or a string or list several times.
pub(crate) fn product(state: &State<'_, '_>, left: &Value, right: &Value) -> Result<Value, Error> {
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
        fuel::bytes(state, text.len().saturating_mul(count))?;
        return Ok(Value::from(text.repeat(count)));
    }
    if !matches!(repeated.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(wrong());
    }
    let mut items = Vec::new();
    for item in repeated.try_iter()? {
        fuel::values(state, count)?;
        items.push(item);
    }
    // Of no items, any number of times are none.
    let count = if items.is_empty() { 0 } else { count };
    Ok(like(repeated, (0..count).flat_map(|_| items.iter().cloned()).collect()))
}
