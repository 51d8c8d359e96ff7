//! Python's formatting of values: the operator `%`, the filter `format` and the method `str.format`.

use std::borrow::Cow;

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Error, ErrorKind, State};

use crate::field_format::{FormatReader, unsupported};
use crate::fuel;
use crate::padding::Side;
use crate::python;

/// Filter in place of the operator `%`: `template % arguments`, or the remainder of numbers.
pub(super) fn percent(state: &mut State<'_, '_>, left: &Value, right: &Value) -> Result<Value, Error> {
    let Some(template) = left.as_str() else { return remainder(left, right) };
    let positional = if python::is_tuple(right) { right.try_iter()?.collect() } else { vec![right.clone()] };
    formatted(state, template, &positional, Some(right)).map(Value::from)
}

/// The remainder as Python has it, with the sign of the divisor.
fn remainder(left: &Value, right: &Value) -> Result<Value, Error> {
    let refused = |reason: &str| {
        let message = format!("the operator % {reason}, found {} and {}", left.kind(), right.kind());
        Error::new(ErrorKind::InvalidOperation, message)
    };
    let is_whole = |value: &Value| value.is_integer() || value.kind() == ValueKind::Bool;
    if is_whole(left)
        && is_whole(right)
        && let (Ok(a), Ok(b)) = (i128::try_from(left.clone()), i128::try_from(right.clone()))
    {
        if b == 0 {
            return Err(refused("cannot divide by zero"));
        }
        let remainder = a.wrapping_rem(b);
        return Ok(Value::from(if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder }));
    }
    match (f64::try_from(left.clone()), f64::try_from(right.clone())) {
        (Ok(_), Ok(0.0)) => Err(refused("cannot divide by zero")),
        (Ok(a), Ok(b)) => {
            let remainder = a % b;
            let is_other_sign = remainder != 0.0 && (remainder < 0.0) != (b < 0.0);
            Ok(Value::from(if is_other_sign { remainder + b } else { remainder.copysign(b) }))
        }
        _ => Err(refused("takes a string, or two numbers")),
    }
}

/// Jinja's filter `format`.
pub(super) fn format_filter(
    state: &mut State<'_, '_>,
    template: &Value,
    arguments: Rest<ValueOrKwargs>,
) -> Result<String, Error> {
    let template = &*python::text(state, template)?;
    let arguments = arguments.into_values();
    match arguments.split_last().filter(|(last, _)| last.is_kwargs()) {
        Some((named, positional)) => formatted(state, template, positional, Some(named)),
        None => formatted(state, template, &arguments, None),
    }
}

/// Replaces the conversions of a template: `%s`, or with a name `%(role)s`.
fn formatted(
    state: &mut State<'_, '_>,
    template: &str,
    positional: &[Value],
    named: Option<&Value>,
) -> Result<String, Error> {
    fuel::characters(state, template.len())?;
    fuel::values(state, positional.len())?;
    let mut values = positional.iter();
    // Python takes a value with keys or indices for names.
    let has_keys = |value: &Value| match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => !python::is_tuple(value),
        kind => matches!(kind, ValueKind::Map | ValueKind::Undefined),
    };
    let mut is_named = positional.is_empty() || named.is_some_and(has_keys);
    let mut out = String::new();
    let mut rest = template;
    let missing = || Error::new(ErrorKind::MissingArgument, "format has fewer values than conversions");
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let mut reader = FormatReader { rest: &rest[at + 1..] };
        let name = reader.name()?;
        let format = reader.percent_format(|| values.next().cloned().ok_or_else(missing))?;
        let value = match (name, format.kind) {
            (_, Some('%')) => None,
            (Some(name), _) => {
                is_named = true;
                let named = named.filter(|named| named.kind() == ValueKind::Map).ok_or_else(missing)?;
                let value = named.get_attr(name)?;
                Some(if value.is_undefined() { return Err(missing()) } else { value })
            }
            (None, _) => Some(values.next().cloned().ok_or_else(missing)?),
        };
        match value {
            Some(value) => {
                let text = format.apply(state, &value, Side::Before)?;
                fuel::bytes(state, text.len())?;
                out.push_str(&text);
            }
            None => out.push('%'),
        }
        rest = reader.rest;
    }
    if !is_named && values.next().is_some() {
        return Err(Error::new(ErrorKind::TooManyArguments, "format has more values than conversions"));
    }
    out.push_str(rest);
    Ok(out)
}

/// Python's `str.format`, with format specifications: `{}`, `{0}`, `{role!r}`, `{:>5}`, `{:,.2f}`.
pub(super) fn format_method(state: &mut State<'_, '_>, template: &str, arguments: &[Value]) -> Result<Value, Error> {
    let named = arguments.last().filter(|last| last.is_kwargs());
    let positional = &arguments[..arguments.len() - usize::from(named.is_some())];
    let mut fields = FieldParser { positional, named, next: 0 };
    fields.format(state, template, 0).map(Value::from)
}

/// Python's `str.format_map`, which takes the names from a dictionary.
pub(super) fn format_map(state: &mut State<'_, '_>, template: &str, arguments: &[Value]) -> Result<Value, Error> {
    let named = arguments.first().filter(|named| named.kind() == ValueKind::Map);
    let missing = || Error::new(ErrorKind::MissingArgument, "str.format_map takes a dictionary");
    let mut fields = FieldParser { positional: &[], named: Some(named.ok_or_else(missing)?), next: 0 };
    fields.format(state, template, 0).map(Value::from)
}

/// The values of `str.format`.
struct FieldParser<'a> {
    positional: &'a [Value],
    named: Option<&'a Value>,
    /// The index of the next value without a name.
    next: usize,
}

impl FieldParser<'_> {
    /// Replaces the fields of a template. A specification may have fields of its own, but those have none.
    fn format(&mut self, state: &mut State<'_, '_>, template: &str, level: usize) -> Result<String, Error> {
        fuel::characters(state, template.len())?;
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            out.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            let after = &rest[at + 1..];
            if level == 0
                && let Some(after) = after.strip_prefix(brace)
            {
                out.push_str(brace);
                rest = after;
                continue;
            }
            let end = field_end(after).filter(|_| brace == "{" && level < 2).ok_or_else(|| unsupported(template))?;
            let text = self.field(state, &after[..end], level)?;
            fuel::bytes(state, text.len())?;
            out.push_str(&text);
            rest = &after[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }

    fn field(&mut self, state: &mut State<'_, '_>, field: &str, level: usize) -> Result<String, Error> {
        let (target, specification) = field.split_once(':').unwrap_or((field, ""));
        let (name, conversion) = target.split_once('!').map_or((target, None), |(name, kind)| (name, Some(kind)));
        let value = self.value(state, name, field)?;
        let value = match conversion {
            None => value,
            Some("r") => Value::from(python::repr(state, &value)?),
            Some("a") => Value::from(python::ascii(state, &value)?),
            Some("s") => Value::from(python::text(state, &value)?.into_owned()),
            Some(_) => return Err(unsupported(field)),
        };
        let specification = &*self.format(state, specification, level + 1)?;
        if specification.is_empty() {
            return python::text(state, &value).map(Cow::into_owned);
        }
        let value = match value.kind() {
            ValueKind::Bool => Value::from(i64::from(value.is_true())),
            ValueKind::String | ValueKind::Number => value,
            _ => return Err(unsupported(field)),
        };
        let mut reader = FormatReader { rest: specification };
        let format = reader.brace_format()?;
        let is_number = value.kind() == ValueKind::Number;
        let is_known = match format.kind {
            Some('s') => !is_number,
            Some('d' | 'x' | 'X' | 'o' | 'b' | 'c') => value.is_integer(),
            Some(_) => is_number,
            None => true,
        };
        if !is_known {
            return Err(unsupported(field));
        }
        format.apply(state, &value, if is_number { Side::Before } else { Side::After })
    }

    /// The value that a name refers to; without one, the next value.
    fn value(&mut self, state: &State<'_, '_>, name: &str, field: &str) -> Result<Value, Error> {
        let (name, path) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
        let value = match (name, name.parse::<usize>()) {
            ("", _) => {
                self.next += 1;
                self.positional.get(self.next - 1).cloned()
            }
            (_, Ok(at)) => self.positional.get(at).cloned(),
            (name, Err(_)) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                self.named.and_then(|named| named.get_attr(name).ok()).filter(|value| !value.is_undefined())
            }
            _ => return Err(unsupported(field)),
        };
        let value = value.map(|value| member(state, value, path)?.ok_or_else(|| unsupported(field))).transpose()?;
        let missing = || Error::new(ErrorKind::MissingArgument, format!("str.format lacks the value of {{{field}}}"));
        value.filter(|value| !value.is_undefined()).ok_or_else(missing)
    }
}

/// The position of the brace that closes a field, which may have fields inside.
fn field_end(after: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, character) in after.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// What the rest of a field's name refers to: `.name`, `[name]` or `[0]`, repeatedly. `None` if it is not such a path.
fn member(state: &State<'_, '_>, mut value: Value, mut path: &str) -> Result<Option<Value>, Error> {
    while !path.is_empty() {
        fuel::index(state, &value)?;
        let Some((name, rest)) = first_name(path) else { return Ok(None) };
        let key = name.parse::<usize>().map_or_else(|_| Value::from(name), Value::from);
        let Some(found) = value.get_item(&key).ok().filter(|_| !name.is_empty()) else { return Ok(None) };
        (value, path) = (found, rest);
    }
    Ok(Some(value))
}

/// The first name of a path, and the rest of the path.
fn first_name(path: &str) -> Option<(&str, &str)> {
    match path.strip_prefix('[') {
        Some(after) => after.split_once(']'),
        None => path.strip_prefix('.').map(|after| after.split_at(after.find(['.', '[']).unwrap_or(after.len()))),
    }
}
