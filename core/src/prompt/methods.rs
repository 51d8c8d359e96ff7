//! Methods of Python's strings and lists that the template engine lacks: all count what they copy, and refuse large numbers.

use minijinja::value::{Tuple, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use crate::prompt::budget::spend;
use crate::prompt::filters::{Side, padded};
use crate::prompt::python;

/// Calls a method of Python that the template engine lacks; `None` if it is not one of these.
pub(super) fn call(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    arguments: &[Value],
) -> Option<Result<Value, Error>> {
    if value.kind() == ValueKind::Seq && name == "index" {
        return Some(index_of(value, arguments));
    }
    let text = value.as_str()?;
    let string = |i: usize| {
        let missing = || Error::new(ErrorKind::MissingArgument, format!("str.{name} takes a string"));
        arguments.get(i).and_then(Value::as_str).ok_or_else(missing)
    };
    let number = |i: usize| {
        let missing = || Error::new(ErrorKind::MissingArgument, format!("str.{name} takes a width"));
        arguments.get(i).and_then(Value::as_usize).ok_or_else(missing)
    };
    let fill = || arguments.get(1).and_then(Value::as_str).and_then(|fill| fill.chars().next()).unwrap_or(' ');
    let found = |at: Option<usize>| {
        let at = at.map(|at| text[..at].chars().count());
        at.map(Value::from).ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "substring not found"))
    };
    Some((|| match name {
        "removeprefix" => Ok(Value::from(text.strip_prefix(string(0)?).unwrap_or(text))),
        "removesuffix" => Ok(Value::from(text.strip_suffix(string(0)?).unwrap_or(text))),
        "casefold" => Ok(Value::from(text.to_lowercase())),
        "swapcase" => Ok(Value::from(text.chars().map(swapped).collect::<String>())),
        "index" => found(text.find(string(0)?)),
        "rindex" => found(text.rfind(string(0)?)),
        "zfill" => {
            let (sign, digits) = text.split_at(usize::from(text.starts_with(['-', '+'])));
            let width = number(0)?.saturating_sub(sign.len());
            let filled = padded(state, digits, width, '0', Side::Before)?;
            Ok(Value::from(format!("{sign}{filled}")))
        }
        "ljust" => padded(state, text, number(0)?, fill(), Side::After),
        "rjust" => padded(state, text, number(0)?, fill(), Side::Before),
        "center" => padded(state, text, number(0)?, fill(), Side::Both),
        "partition" | "rpartition" => {
            let separator = string(0)?;
            let is_first = name == "partition";
            let at = if is_first { text.find(separator) } else { text.rfind(separator) };
            let parts = match at {
                Some(at) => [&text[..at], separator, &text[at + separator.len()..]],
                None if is_first => [text, "", ""],
                None => ["", "", text],
            };
            Ok(Value::from(Tuple::from(parts.map(Value::from).to_vec())))
        }
        "rsplit" => right_split(state, text, arguments),
        "isdecimal" => Ok(Value::from(!text.is_empty() && text.chars().all(char::is_numeric))),
        "istitle" => Ok(Value::from(is_title(text))),
        "format" => format_method(state, text, arguments),
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    })())
    .filter(|result| !result.as_ref().is_err_and(|err| err.kind() == ErrorKind::UnknownMethod))
}

fn index_of(list: &Value, arguments: &[Value]) -> Result<Value, Error> {
    let wanted = arguments.first().ok_or_else(|| Error::new(ErrorKind::MissingArgument, "list.index takes a value"))?;
    let at = list.try_iter()?.position(|item| item == *wanted);
    at.map(Value::from).ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "the value is not in the list"))
}

fn right_split(state: &mut State<'_, '_>, text: &str, arguments: &[Value]) -> Result<Value, Error> {
    let most = arguments.get(1).and_then(Value::as_i64).and_then(|most| usize::try_from(most).ok());
    let separator = arguments.first().and_then(Value::as_str);
    let limit = most.unwrap_or(usize::MAX).saturating_add(1);
    let mut pieces: Vec<&str> = match separator {
        Some("") => return Err(Error::new(ErrorKind::InvalidOperation, "empty separator")),
        Some(separator) => text.rsplitn(limit, separator).collect(),
        None => {
            let mut rest = text.trim_end();
            let mut pieces = Vec::new();
            while !rest.is_empty() && pieces.len() + 1 < limit {
                let start = rest.rfind(char::is_whitespace).map_or(0, |at| at + 1);
                let start = rest.ceil_char_boundary(start);
                pieces.push(&rest[start..]);
                rest = rest[..start].trim_end();
            }
            pieces.extend(Some(rest).filter(|rest| !rest.is_empty()));
            pieces
        }
    };
    spend(state, text.len() + pieces.len() * size_of::<Value>())?;
    pieces.reverse();
    Ok(pieces.into_iter().map(Value::from).collect())
}

fn swapped(character: char) -> String {
    if character.is_uppercase() { character.to_lowercase().collect() } else { character.to_uppercase().collect() }
}

fn is_title(text: &str) -> bool {
    let (mut follows_letter, mut has_letter) = (false, false);
    for character in text.chars() {
        if character.is_uppercase() && follows_letter || character.is_lowercase() && !follows_letter {
            return false;
        }
        follows_letter = character.is_alphabetic();
        has_letter |= follows_letter;
    }
    has_letter
}

/// Python's `str.format` without format specifications.
fn format_method(state: &mut State<'_, '_>, template: &str, arguments: &[Value]) -> Result<Value, Error> {
    let named = arguments.last().filter(|last| last.is_kwargs());
    let positional = &arguments[..arguments.len() - usize::from(named.is_some())];
    let mut next = 0;
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        let after = &rest[at + 1..];
        if let Some(after) = after.strip_prefix(brace) {
            out.push_str(brace);
            rest = after;
            continue;
        }
        let unsupported = || Error::new(ErrorKind::UnknownFilter, format!("the format {template:?} is not supported"));
        let end = after.find('}').filter(|_| brace == "{").ok_or_else(unsupported)?;
        let field = &after[..end];
        let value = match (field, field.parse::<usize>()) {
            ("", _) => {
                next += 1;
                positional.get(next - 1).cloned()
            }
            (_, Ok(at)) => positional.get(at).cloned(),
            (name, Err(_)) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                named.and_then(|named| named.get_attr(name).ok()).filter(|value| !value.is_undefined())
            }
            _ => return Err(unsupported()),
        };
        let missing = || Error::new(ErrorKind::MissingArgument, format!("str.format lacks the value of {{{field}}}"));
        out.push_str(&python::text(&value.ok_or_else(missing)?)?);
        spend(state, out.len())?;
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    spend(state, out.len())?;
    Ok(Value::from(out))
}
