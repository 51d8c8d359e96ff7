//! Methods of Python's strings and lists that the template engine lacks: all count what they copy, and refuse large numbers.

use std::borrow::Cow;

use minijinja::value::{Kwargs, Tuple, Value, ValueKind, from_args};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat::unknown_method_callback;

use crate::engine_filters::check_name;
use crate::formatting;
use crate::fuel;
use crate::padding::{Side, padded};
use crate::printable::{is_kept, is_printable};
use crate::python::{self, is_space};
use crate::tag_tokens::is_word;

/// Methods that read a string as fast as it can be copied, which the engine charges.
const QUICK: [&str; 18] = [
    "endswith",
    "find",
    "index",
    "isascii",
    "join",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "startswith",
    "strip",
];

/// Python's methods of strings, lists and dictionaries.
pub(crate) fn method(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    let arguments = &*positional(name, arguments)?;
    charge(state, value, name, arguments)?;
    let strings: Option<Vec<&str>> = arguments.iter().map(Value::as_str).collect();
    match (name, value.as_str(), strings.as_deref(), arguments) {
        ("replace", Some(text), Some([from, to]), _) => replaced(state, text, from, to, usize::MAX),
        ("join", Some(separator), _, [items]) => join(state, items, separator, None),
        _ => call(state, value, name, arguments)
            .unwrap_or_else(|| unknown_method_callback(state, value, name, arguments)),
    }
}

/// Charges what a method is about to read, to compare or to create, as far as this shows before. The engine has charged the
/// string that it is called on.
fn charge(state: &State<'_, '_>, value: &Value, name: &str, arguments: &[Value]) -> Result<(), Error> {
    let named = arguments.last().filter(|last| last.is_kwargs()).and_then(Value::len);
    fuel::values(state, arguments.len().saturating_add(named.unwrap_or(0)))?;
    match (name, value.as_str(), arguments.first()) {
        ("startswith" | "endswith" | "get", _, Some(argument)) => fuel::visit(state, argument),
        ("count" | "index", None, Some(argument)) => {
            fuel::visit(state, argument)?;
            fuel::visit(state, value)
        }
        ("split", Some(text), Some(separator)) if let Some(separator) = separator.as_str() => {
            let n_pieces = if separator.is_empty() { 0 } else { text.matches(separator).count() };
            fuel::values(state, n_pieces)
        }
        (_, Some(text), _) if !QUICK.contains(&name) => fuel::characters(state, text.len()),
        _ => Ok(()),
    }
}

/// Jinja's filter `join`.
pub(crate) fn join_filter(
    state: &mut State<'_, '_>,
    items: &Value,
    separator: Option<&str>,
    options: Kwargs,
) -> Result<Value, Error> {
    let separator = separator.or(options.get("d")?).unwrap_or_default();
    let attribute: Option<&str> = options.get("attribute")?;
    options.assert_all_used()?;
    check_name(attribute.map(Value::from).as_ref())?;
    join(state, items, separator, attribute)
}

/// Joins items, or an attribute of each, as Python prints them.
fn join(state: &State<'_, '_>, items: &Value, separator: &str, attribute: Option<&str>) -> Result<Value, Error> {
    let mut joined = String::new();
    for (i, item) in items.try_iter()?.enumerate() {
        let item = attribute.map_or(Ok(item.clone()), |attribute| item.get_attr(attribute))?;
        let item = python::text(state, &item)?;
        fuel::bytes(state, separator.len() + item.len())?;
        if 0 < i {
            joined.push_str(separator);
        }
        joined.push_str(&item);
    }
    Ok(Value::from(joined))
}

/// A string with the first `count` parts replaced. The result can be far longer than all inputs.
pub(crate) fn replaced(state: &State<'_, '_>, text: &str, from: &str, to: &str, count: usize) -> Result<Value, Error> {
    let n_found = text.matches(from).take(count).count();
    fuel::bytes(state, text.len().saturating_add(n_found.saturating_mul(to.len())))?;
    Ok(Value::from(text.replacen(from, to, count)))
}

/// A string without these characters, or white space, at the chosen ends.
pub(crate) fn strip<'a>(
    state: &State<'_, '_>,
    text: &'a str,
    characters: Option<&str>,
    [at_start, at_end]: [bool; 2],
) -> Result<&'a str, Error> {
    fuel::characters(state, characters.map_or(0, str::len))?;
    let mut sorted: Vec<char> = characters.unwrap_or_default().chars().collect();
    sorted.sort_unstable();
    let is_stripped = |character: char| match characters {
        Some(_) => sorted.binary_search(&character).is_ok(),
        None => is_space(character),
    };
    let mut rest = text;
    if at_start {
        rest = rest.trim_start_matches(is_stripped);
    }
    if at_end {
        rest = rest.trim_end_matches(is_stripped);
    }
    fuel::characters(state, text.len() - rest.len())?;
    Ok(rest)
}

/// The arguments of a method of strings by position, where some are named.
fn positional<'a>(name: &str, arguments: &'a [Value]) -> Result<Cow<'a, [Value]>, Error> {
    let names: &[&str] = match name {
        "split" | "rsplit" => &["sep", "maxsplit"],
        "splitlines" => &["keepends"],
        "expandtabs" => &["tabsize"],
        _ => return Ok(arguments.into()),
    };
    let Some((named, positional)) = arguments.split_last().filter(|(last, _)| last.is_kwargs()) else {
        return Ok(arguments.into());
    };
    let (named,): (Kwargs,) = from_args(std::slice::from_ref(named))?;
    let mut all = positional.to_vec();
    for name in names.iter().skip(positional.len()) {
        all.push(named.get::<Option<Value>>(name)?.unwrap_or_default());
    }
    named.assert_all_used()?;
    while all.last().is_some_and(Value::is_undefined) {
        all.pop();
    }
    // A separator that is left out is none.
    all.iter_mut().filter(|value| value.is_undefined()).for_each(|value| *value = Value::from(()));
    Ok(all.into())
}

/// Calls a method of Python that the template engine lacks; `None` if it is not one of these.
fn call(state: &mut State<'_, '_>, value: &Value, name: &str, arguments: &[Value]) -> Option<Result<Value, Error>> {
    if value.kind() == ValueKind::Seq && name == "index" {
        return Some(index_of(value, arguments));
    }
    if name == "copy" && arguments.is_empty() && matches!(value.kind(), ValueKind::Seq | ValueKind::Map) {
        return Some(Ok(value.clone()));
    }
    let text = value.as_str()?;
    if SEARCHES.contains(&name) && 1 < arguments.len() {
        return Some(search_within(state, text, name, arguments));
    }
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
        "title" => Ok(Value::from(titled(text))),
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
        "expandtabs" => expanded(state, text, arguments.first().and_then(Value::as_usize).unwrap_or(8)),
        "isascii" => Ok(Value::from(text.is_ascii())),
        "isidentifier" => Ok(Value::from(is_identifier(text))),
        "isprintable" => Ok(Value::from(text.chars().all(|c| is_printable(c) || is_kept(c)))),
        "splitlines" => split_lines(state, text, arguments.first().is_some_and(Value::is_true)),
        "rsplit" => right_split(state, text, arguments),
        "split" if arguments.first().is_none_or(Value::is_none) => split_spaces(state, text, arguments.get(1)),
        "strip" | "lstrip" | "rstrip" => {
            let characters = arguments.first().filter(|characters| !characters.is_none());
            let characters = characters.map(|_| string(0)).transpose()?;
            strip(state, text, characters, [name != "rstrip", name != "lstrip"]).map(Value::from)
        }
        "isspace" => Ok(Value::from(!text.is_empty() && text.chars().all(is_space))),
        "isdecimal" => Ok(Value::from(!text.is_empty() && text.chars().all(char::is_numeric))),
        "istitle" => Ok(Value::from(is_title(text))),
        "format" => formatting::format_method(state, text, arguments),
        "format_map" => formatting::format_map(state, text, arguments),
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    })())
    .filter(|result| !result.as_ref().is_err_and(|err| err.kind() == ErrorKind::UnknownMethod))
}

/// The map that Python's `dict` makes of a list of pairs; other values as they are.
pub(super) fn map_of_pairs(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Ok(value);
    }
    let wrong = || Error::new(ErrorKind::InvalidOperation, "dict takes pairs of a key and a value");
    let pairs = value.try_iter()?.map(|pair| {
        fuel::values(state, 2)?;
        match &pair.try_iter()?.take(3).collect::<Vec<_>>()[..] {
            [key, value] => Ok((key.clone(), value.clone())),
            _ => Err(wrong()),
        }
    });
    Ok(Value::from_pairs(pairs.collect::<Result<Vec<_>, Error>>()?))
}

fn index_of(list: &Value, arguments: &[Value]) -> Result<Value, Error> {
    let wanted = arguments.first().ok_or_else(|| Error::new(ErrorKind::MissingArgument, "list.index takes a value"))?;
    let at = list.try_iter()?.position(|item| item == *wanted);
    at.map(Value::from).ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "the value is not in the list"))
}

/// Methods that search a string, from a start and up to an end if these are given.
const SEARCHES: [&str; 7] = ["count", "endswith", "find", "index", "rfind", "rindex", "startswith"];

/// The searches that return a position.
const POSITIONS: [&str; 4] = ["find", "index", "rfind", "rindex"];

fn search_within(state: &mut State<'_, '_>, text: &str, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let n_characters = text.chars().count();
    let bound = |i: usize, default: usize| match arguments.get(i).filter(|bound| !bound.is_none()) {
        None => Ok::<usize, Error>(default),
        Some(bound) => {
            let wrong = || Error::new(ErrorKind::InvalidOperation, format!("str.{name} takes integers as bounds"));
            let bound = bound.as_i64().ok_or_else(wrong)?;
            let magnitude = usize::try_from(bound.unsigned_abs()).unwrap_or(usize::MAX);
            Ok(if bound < 0 { n_characters.saturating_sub(magnitude) } else { magnitude.min(n_characters) })
        }
    };
    let (start, end) = (bound(1, 0)?, bound(2, n_characters)?);
    let part: String = text.chars().take(end).skip(start).collect();
    fuel::bytes(state, part.len())?;
    let (part, wanted) = (Value::from(part), &arguments[..1]);
    let found =
        call(state, &part, name, wanted).unwrap_or_else(|| unknown_method_callback(state, &part, name, wanted))?;
    // A position counts from the beginning of the whole.
    Ok(match found.as_i64() {
        Some(at) if 0 <= at && POSITIONS.contains(&name) => Value::from(at.saturating_add_unsigned(start as u64)),
        _ => found,
    })
}

/// A string with spaces in place of its tabs.
fn expanded(state: &mut State<'_, '_>, text: &str, size: usize) -> Result<Value, Error> {
    let n_tabs = text.matches('\t').count();
    let limit = padded(state, "", size, ' ', Side::Before)?; // refuses a width that is too large
    fuel::bytes(state, n_tabs.saturating_mul(limit.as_str().map_or(0, str::len)))?;
    let (mut out, mut column) = (String::new(), 0);
    for character in text.chars() {
        match character {
            '\t' if size == 0 => {}
            '\t' => {
                let n_spaces = size - column % size;
                out.extend(std::iter::repeat_n(' ', n_spaces));
                column += n_spaces;
            }
            _ => {
                column = if matches!(character, '\n' | '\r') { 0 } else { column + 1 };
                out.push(character);
            }
        }
    }
    Ok(Value::from(out))
}

fn right_split(state: &mut State<'_, '_>, text: &str, arguments: &[Value]) -> Result<Value, Error> {
    let most = arguments.get(1).and_then(Value::as_i64).and_then(|most| usize::try_from(most).ok());
    let separator = arguments.first().and_then(Value::as_str);
    let limit = most.unwrap_or(usize::MAX).saturating_add(1);
    let mut pieces: Vec<&str> = match separator {
        Some("") => return Err(Error::new(ErrorKind::InvalidOperation, "empty separator")),
        Some(separator) => text.rsplitn(limit, separator).collect(),
        None => {
            let mut rest = text.trim_end_matches(is_space);
            let mut pieces = Vec::new();
            while !rest.is_empty() && pieces.len() + 1 < limit {
                let start = rest.rfind(is_space).map_or(0, |at| at + 1);
                let start = rest.ceil_char_boundary(start);
                pieces.push(&rest[start..]);
                rest = rest[..start].trim_end_matches(is_space);
            }
            pieces.extend(Some(rest).filter(|rest| !rest.is_empty()));
            pieces
        }
    };
    fuel::values(state, pieces.len())?;
    pieces.reverse();
    Ok(pieces.into_iter().map(Value::from).collect())
}

/// The words of a string, after `most` splits with the rest of the string.
fn split_spaces(state: &mut State<'_, '_>, text: &str, most: Option<&Value>) -> Result<Value, Error> {
    let most = most.and_then(Value::as_i64).and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        let end = if words.len() < most { rest.find(is_space) } else { None };
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        words.push(Value::from(word));
        rest = after.trim_start_matches(is_space);
    }
    fuel::values(state, words.len())?;
    Ok(Value::from(words))
}

/// The lines of a string, with their ends if these are to be kept. Python knows more line ends than the engine.
fn split_lines(state: &mut State<'_, '_>, text: &str, keeps_ends: bool) -> Result<Value, Error> {
    const ENDS: [char; 10] = ['\n', '\r', '\x0b', '\x0c', '\x1c', '\x1d', '\x1e', '\u{85}', '\u{2028}', '\u{2029}'];
    fuel::values(state, text.matches(ENDS).count())?;
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(ENDS).unwrap_or(rest.len());
        let next = match &rest[end..] {
            after if after.starts_with("\r\n") => end + 2,
            after => end + after.chars().next().map_or(0, char::len_utf8),
        };
        lines.push(Value::from(&rest[..if keeps_ends { next } else { end }]));
        rest = &rest[next..];
    }
    Ok(Value::from(lines))
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|first: char| first == '_' || first.is_alphabetic()) && text.chars().all(is_word)
}

fn swapped(character: char) -> String {
    if character.is_uppercase() { character.to_lowercase().collect() } else { character.to_uppercase().collect() }
}

/// A string with capitals at the start of each run of letters, as Python has it: `Don'T`.
fn titled(text: &str) -> String {
    let mut follows_letter = false;
    let titled = text.chars().map(|character| {
        let in_word = std::mem::replace(&mut follows_letter, character.is_alphabetic());
        if in_word { character.to_lowercase().collect::<String>() } else { character.to_uppercase().collect() }
    });
    titled.collect()
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
