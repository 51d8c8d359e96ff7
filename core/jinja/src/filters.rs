//! Filters of Jinja2 that the template engine lacks, or that could fill the memory there: all count what they copy, and refuse
//! large numbers.

use std::borrow::Cow;

use minijinja::value::{Kwargs, Rest, Value, ValueKind, ValueOrKwargs, from_args};
use minijinja::{Environment, Error, ErrorKind, State};

use crate::engine_filters::check_name;
use crate::fuel;
use crate::padding::{Side, check_width, padded};
use crate::wrapping::word_wrap;
use crate::{formatting, markup, methods, python};

/// Adds the filters to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("indent", indent);
    environment.add_filter("format", formatting::format_filter);
    environment.add_filter("int", int);
    environment.add_filter("float", float);
    environment.add_filter("default", default);
    environment.add_filter("d", default);
    environment.add_filter("replace", replace);
    environment.add_filter("center", |state: &mut State<'_, '_>, text: &Value, width: Option<usize>| {
        padded(state, &python::text(state, text)?, width.unwrap_or(80), ' ', Side::Both)
    });
    environment.add_filter("wordcount", |state: &mut State<'_, '_>, text: &Value| {
        let text = python::text(state, text)?;
        fuel::characters(state, text.len())?;
        Ok::<_, Error>(text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).count())
    });
    environment.add_filter("truncate", truncate);
    environment.add_filter("trim", trim);
    environment.add_filter("round", round);
    environment.add_filter("escape", markup::escape_once);
    environment.add_filter("e", markup::escape_once);
    environment.add_filter("batch", batch);
    environment.add_filter("slice", slice);
    environment.add_filter("groupby", group_by);
    environment.add_filter("urlencode", url_encode);
    environment.add_filter("forceescape", markup::escape);
    environment.add_filter("xmlattr", markup::attributes);
    environment.add_filter("striptags", markup::without_tags);
    environment.add_filter("wordwrap", word_wrap);
    environment.add_filter("filesizeformat", file_size);
    environment.add_filter("pprint", |state: &mut State<'_, '_>, value: &Value| match value.kind() {
        ValueKind::String => python::repr(state, value),
        _ => python::text(state, value).map(Cow::into_owned),
    });
}

fn indent(state: &mut State<'_, '_>, text: &Value, options: Rest<ValueOrKwargs>) -> Result<String, Error> {
    type Options = (Option<Value>, Option<bool>, Option<bool>, Kwargs);
    let (width, first, blank, options): Options = from_args(&options.into_values())?;
    let width = width.or(options.get("width")?).unwrap_or(Value::from(4));
    let first = first.or(options.get("first")?).unwrap_or(false);
    let blank = blank.or(options.get("blank")?).unwrap_or(false);
    options.assert_all_used()?;
    let indention = match (width.as_str(), width.as_usize()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(width)) => {
            check_width(width)?;
            " ".repeat(width)
        }
        _ => return Err(Error::new(ErrorKind::InvalidOperation, "indent takes a width or a string")),
    };
    check_width(indention.len())?;
    let text = python::text(state, text)?;
    let n_lines = text.lines().count();
    fuel::bytes(state, text.len().saturating_add(n_lines.saturating_mul(64 + indention.len())))?;
    let lines = text.split('\n').enumerate().map(|(i, line)| {
        let is_indented = if i == 0 { first } else { blank || !line.is_empty() };
        format!("{}{line}", if is_indented { indention.as_str() } else { "" })
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

fn truncate(state: &mut State<'_, '_>, text: &str, options: Rest<ValueOrKwargs>) -> Result<String, Error> {
    type Options = (Option<usize>, Option<bool>, Option<String>, Option<usize>, Kwargs);
    let (length, kill_words, end, leeway, options): Options = from_args(&options.into_values())?;
    let length = length.or(options.get("length")?).unwrap_or(255);
    let kill_words = kill_words.or(options.get("killwords")?).unwrap_or(false);
    let end = end.or(options.get("end")?).unwrap_or_else(|| "...".to_owned());
    let leeway = leeway.or(options.get("leeway")?).unwrap_or(5);
    options.assert_all_used()?;
    fuel::bytes(state, text.len())?;
    if text.chars().count() <= length.saturating_add(leeway) {
        return Ok(text.to_owned());
    }
    let n_kept = length.saturating_sub(end.chars().count());
    let mut kept: String = text.chars().take(n_kept).collect();
    if !kill_words && let Some(at) = kept.rfind(' ') {
        kept.truncate(at);
    }
    Ok(kept + &end)
}

fn trim(state: &mut State<'_, '_>, text: &Value, chars: Option<String>, options: Kwargs) -> Result<String, Error> {
    let chars = chars.or(options.get("chars")?);
    options.assert_all_used()?;
    let text = python::text(state, text)?;
    methods::strip(state, &text, chars.as_deref(), [true, true]).map(str::to_owned)
}

/// The first argument of a filter, by position or by name. Unlike an `Option`, it can be `none`. The filter must still `get` the
/// name from its own `Kwargs`, so that it counts as used.
fn first_argument(arguments: &[Value], name: &str) -> Result<Option<Value>, Error> {
    match arguments.split_first() {
        None => Ok(None),
        Some((first, _)) if !first.is_kwargs() => Ok(Some(first.clone())),
        Some(_) => {
            let (named,): (Kwargs,) = from_args(arguments)?;
            if named.has(name) { named.get(name).map(Some) } else { Ok(None) }
        }
    }
}

fn int(state: &mut State<'_, '_>, value: &Value, arguments: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let arguments = arguments.into_values();
    let default = first_argument(&arguments, "default")?.unwrap_or(Value::from(0));
    let (_, base, options): (Option<Value>, Option<u32>, Kwargs) = from_args(&arguments)?;
    options.get::<Option<Value>>("default")?;
    let base = base.or(options.get("base")?).unwrap_or(10);
    options.assert_all_used()?;
    if !(2..=36).contains(&base) {
        return Err(Error::new(ErrorKind::InvalidOperation, "base must be between 2 and 36"));
    }
    let whole = |float: f64| Some(float.trunc()).filter(|whole| whole.abs() < 9e18).map(|whole| whole as i64); // fits
    Ok(match value.as_str() {
        Some(text) => {
            fuel::characters(state, text.len())?;
            let text = text.trim(); // unlike strip, Python's int and float keep U+001C to U+001F
            let digits = match base {
                16 => text.trim_start_matches("0x").trim_start_matches("0X"),
                8 => text.trim_start_matches("0o"),
                2 => text.trim_start_matches("0b"),
                _ => text,
            };
            let digits = without_underscores(digits);
            let integer = digits.as_deref().and_then(|digits| i128::from_str_radix(digits, base).ok());
            let float = || text.parse::<f64>().ok().and_then(whole);
            integer.map(Value::from).or_else(|| float().map(Value::from)).unwrap_or(default)
        }
        None if value.kind() == ValueKind::Bool => Value::from(i64::from(value.is_true())),
        None if value.kind() == ValueKind::Number && !value.is_integer() => {
            f64::try_from(value.clone()).ok().and_then(whole).map_or(default, Value::from)
        }
        None if value.kind() == ValueKind::Number => value.clone(),
        None => default,
    })
}

fn float(state: &mut State<'_, '_>, value: &Value, arguments: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let arguments = arguments.into_values();
    let default = first_argument(&arguments, "default")?.unwrap_or(Value::from(0.0));
    let (_, options): (Option<Value>, Kwargs) = from_args(&arguments)?;
    options.get::<Option<Value>>("default")?;
    options.assert_all_used()?;
    let number = match value.as_str() {
        Some(text) => {
            fuel::characters(state, text.len())?;
            without_underscores(text.trim()).and_then(|text| text.parse().ok())
        }
        None if value.kind() == ValueKind::Bool => Some(f64::from(u8::from(value.is_true()))),
        None if value.kind() == ValueKind::Number => f64::try_from(value.clone()).ok(),
        None => None,
    };
    Ok(number.map_or(default, Value::from))
}

/// The text of a number without underscores, which Python allows between two digits.
fn without_underscores(text: &str) -> Option<String> {
    let is_between = |at: usize| {
        let is_digit = |character: Option<char>| character.is_some_and(|character| character.is_ascii_alphanumeric());
        is_digit(text[..at].chars().next_back()) && is_digit(text[at + 1..].chars().next())
    };
    text.match_indices('_').all(|(at, _)| is_between(at)).then(|| text.replace('_', ""))
}

/// The engine's `round`, but a number that is rounded up or down becomes a float, as in Python.
fn round(value: Value, arguments: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let (digits, method, options): (Option<i32>, Option<String>, Kwargs) = from_args(&arguments.into_values())?;
    let method = method.or(options.get("method")?).unwrap_or_else(|| "common".to_owned());
    let rounded = minijinja::filters::round(value, digits, Some(&method), options)?;
    Ok(if method == "common" { rounded } else { Value::from(f64::try_from(rounded)?) })
}

fn default(value: &Value, arguments: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let arguments = arguments.into_values();
    let default = first_argument(&arguments, "default_value")?.unwrap_or(Value::from(""));
    let (_, is_boolean, options): (Option<Value>, Option<bool>, Kwargs) = from_args(&arguments)?;
    options.get::<Option<Value>>("default_value")?;
    let is_boolean = is_boolean.or(options.get("boolean")?).unwrap_or(false);
    options.assert_all_used()?;
    let is_missing = value.is_undefined() || is_boolean && !value.is_true();
    Ok(if is_missing { default } else { value.clone() })
}

fn replace(state: &mut State<'_, '_>, text: &Value, options: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let text = &*python::text(state, text)?;
    let (old, new, count, options): (Option<String>, Option<String>, Option<usize>, Kwargs) =
        from_args(&options.into_values())?;
    let missing = || Error::new(ErrorKind::MissingArgument, "replace takes two strings");
    let old = old.or(options.get("old")?).ok_or_else(missing)?;
    let new = new.or(options.get("new")?).ok_or_else(missing)?;
    let count = count.or(options.get("count")?);
    options.assert_all_used()?;
    methods::replaced(state, text, &old, &new, count.unwrap_or(usize::MAX))
}

/// The items of a list, which are counted.
fn items(state: &mut State<'_, '_>, value: &Value) -> Result<Vec<Value>, Error> {
    let mut items = Vec::new();
    for item in value.try_iter()? {
        fuel::values(state, 1)?;
        items.push(item);
    }
    Ok(items)
}

fn batch(
    state: &mut State<'_, '_>,
    value: &Value,
    count: usize,
    fill: Option<Value>,
    options: Kwargs,
) -> Result<Value, Error> {
    let fill = fill.or(options.get("fill_with")?);
    options.assert_all_used()?;
    check_width(count)?;
    let items = items(state, value)?;
    fuel::values(state, items.len().saturating_add(count))?;
    let batches = items.chunks(count.max(1)).map(|batch| {
        let mut batch = batch.to_vec();
        if let Some(fill) = &fill {
            batch.resize(count.max(1), fill.clone());
        }
        Value::from(batch)
    });
    Ok(batches.collect())
}

fn slice(
    state: &mut State<'_, '_>,
    value: &Value,
    count: usize,
    fill: Option<Value>,
    options: Kwargs,
) -> Result<Value, Error> {
    let fill = fill.or(options.get("fill_with")?);
    options.assert_all_used()?;
    check_width(count)?;
    let items = items(state, value)?;
    fuel::values(state, items.len().saturating_add(count))?;
    let count = count.max(1);
    let (least, n_longer) = (items.len() / count, items.len() % count);
    let mut rest = &items[..];
    let slices = (0..count).map(|i| {
        let (slice, after) = rest.split_at(least + usize::from(i < n_longer));
        rest = after;
        let lacks_one = n_longer <= i && 0 < n_longer;
        Value::from(slice.iter().chain(fill.as_ref().filter(|_| lacks_one)).cloned().collect::<Vec<_>>())
    });
    Ok(slices.collect())
}

/// Pairs of an attribute's value and the items that have it, in the order of the values.
fn group_by(
    state: &mut State<'_, '_>,
    value: &Value,
    attribute: Option<&str>,
    options: Kwargs,
) -> Result<Value, Error> {
    let missing = || Error::new(ErrorKind::MissingArgument, "groupby takes an attribute");
    let attribute = attribute.or(options.get("attribute")?).ok_or_else(missing)?;
    check_name(Some(&Value::from(attribute)))?;
    let default: Option<Value> = options.get("default")?;
    let is_case_sensitive = options.get::<Option<bool>>("case_sensitive")?.unwrap_or(false);
    options.assert_all_used()?;
    let folded = |key: &Value| match key.as_str() {
        Some(text) if !is_case_sensitive => Value::from(text.to_lowercase()),
        _ => key.clone(),
    };
    let keyed = items(state, value)?.into_iter().map(|item| {
        let names = attribute.split('.');
        let key = names.into_iter().try_fold(item.clone(), |value, name| value.get_attr(name))?;
        let key = if key.is_undefined() { default.clone().unwrap_or(key) } else { key };
        Ok((key, item))
    });
    let mut keyed = keyed.collect::<Result<Vec<_>, Error>>()?;
    python::sort_cost(state, &keyed.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>())?;
    keyed.sort_by_cached_key(|(key, _)| folded(key));
    let groups = keyed.chunk_by(|(a, _), (b, _)| folded(a) == folded(b)).map(|group| {
        let list: Value = group.iter().map(|(_, item)| item.clone()).collect();
        Value::from_object(python::Group { grouper: group[0].0.clone(), list })
    });
    Ok(groups.collect())
}

fn url_encode(state: &mut State<'_, '_>, value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    if value.kind() != ValueKind::Map {
        quote(state, &mut out, value, false)?;
        return Ok(out);
    }
    for (i, key) in value.try_iter()?.enumerate() {
        out.push_str(if i == 0 { "" } else { "&" });
        quote(state, &mut out, &key, true)?;
        out.push('=');
        quote(state, &mut out, &value.get_item(&key)?, true)?;
    }
    Ok(out)
}

/// Adds the text of a value with escapes, as a part of a query or of a path.
fn quote(state: &State<'_, '_>, out: &mut String, value: &Value, is_query: bool) -> Result<(), Error> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let text = python::text(state, value)?;
    fuel::characters(state, text.len())?;
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-~".contains(byte) || !is_query && *byte == b'/';
    let n_escaped = text.bytes().filter(|byte| !is_plain(byte)).count();
    fuel::bytes(state, text.len() + 2 * n_escaped)?;
    for byte in text.bytes() {
        match byte {
            b' ' if is_query => out.push('+'),
            plain if is_plain(&plain) => out.push(char::from(plain)),
            other => {
                out.extend([b'%', DIGITS[usize::from(other >> 4)], DIGITS[usize::from(other & 15)]].map(char::from))
            }
        }
    }
    Ok(())
}

/// A number of bytes in words, with decimal or binary units.
fn file_size(value: &Value, is_binary: Option<bool>, options: Kwargs) -> Result<String, Error> {
    let is_binary = is_binary.or(options.get("binary")?).unwrap_or(false);
    options.assert_all_used()?;
    let number = || Error::new(ErrorKind::InvalidOperation, "filesizeformat takes a number");
    let n_bytes = match value.as_str() {
        Some(text) => text.trim().parse().map_err(|_| number())?,
        None => f64::try_from(value.clone()).map_err(|_| number())?,
    };
    let (base, binary) = if is_binary { (1024.0, "i") } else { (1000.0, "") };
    if n_bytes == 1.0 {
        return Ok("1 Byte".to_owned());
    }
    if n_bytes < base {
        return Ok(format!("{:.0} Bytes", n_bytes.trunc()));
    }
    let (mut size, mut unit) = (n_bytes / base, 0);
    while base <= size && unit < 7 {
        (size, unit) = (size / base, unit + 1);
    }
    let letter = &(if is_binary { "KMGTPEZY" } else { "kMGTPEZY" })[unit..=unit];
    Ok(format!("{size:.1} {letter}{binary}B"))
}
