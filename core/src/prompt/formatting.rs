//! Python's formatting of values: the operator `%`, the filter `format` and the method `str.format`.

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Error, ErrorKind, State};

use crate::prompt::budget::spend;
use crate::prompt::filters::{Side, check_width, padded};
use crate::prompt::python;

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
    let template = &*python::text(template)?;
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
    let mut values = positional.iter();
    // Python takes a value with keys or indices for names.
    let has_keys = |value: &Value| match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => !python::is_tuple(value),
        kind => matches!(kind, ValueKind::Map | ValueKind::Undefined),
    };
    let mut is_named = positional.is_empty() || named.is_some_and(has_keys);
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let mut reader = FormatReader { rest: &rest[at + 1..] };
        let name = reader.name()?;
        let format = reader.percent_format()?;
        let missing = || Error::new(ErrorKind::MissingArgument, "format has fewer values than conversions");
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
            Some(value) => out.push_str(&format.apply(state, &value, Side::Before)?),
            None => out.push('%'),
        }
        spend(state, out.len())?;
        rest = reader.rest;
    }
    if !is_named && values.next().is_some() {
        return Err(Error::new(ErrorKind::TooManyArguments, "format has more values than conversions"));
    }
    out.push_str(rest);
    spend(state, out.len())?;
    Ok(out)
}

/// Python's `str.format`, with format specifications: `{}`, `{0}`, `{role!r}`, `{:>5}`, `{:.2f}`.
pub(super) fn format_method(state: &mut State<'_, '_>, template: &str, arguments: &[Value]) -> Result<Value, Error> {
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
        let end = after.find('}').filter(|_| brace == "{").ok_or_else(|| unsupported(template))?;
        let field = &after[..end];
        let (target, specification) = field.split_once(':').unwrap_or((field, ""));
        let (name, conversion) = target.split_once('!').map_or((target, None), |(name, kind)| (name, Some(kind)));
        let (name, path) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
        let value = match (name, name.parse::<usize>()) {
            ("", _) => {
                next += 1;
                positional.get(next - 1).cloned()
            }
            (_, Ok(at)) => positional.get(at).cloned(),
            (name, Err(_)) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                named.and_then(|named| named.get_attr(name).ok()).filter(|value| !value.is_undefined())
            }
            _ => return Err(unsupported(template)),
        };
        let value = value.map(|value| member(value, path).ok_or_else(|| unsupported(template))).transpose()?;
        let value = value.filter(|value| !value.is_undefined());
        let missing = || Error::new(ErrorKind::MissingArgument, format!("str.format lacks the value of {{{field}}}"));
        let value = value.ok_or_else(missing)?;
        let value = match conversion {
            None => value,
            Some("r") => Value::from(python::repr(&value)?),
            Some("a") => Value::from(python::ascii(&value)?),
            Some("s") => Value::from(python::text(&value)?),
            Some(_) => return Err(unsupported(template)),
        };
        let mut reader = FormatReader { rest: specification };
        let format = reader.brace_format()?;
        let side = if value.kind() == ValueKind::Number { Side::Before } else { Side::After };
        out.push_str(&format.apply(state, &value, side)?);
        spend(state, out.len())?;
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    spend(state, out.len())?;
    Ok(Value::from(out))
}

/// What the rest of a field's name refers to: `.name`, `[name]` or `[0]`, repeatedly. `None` if it is not such a path.
fn member(mut value: Value, mut path: &str) -> Option<Value> {
    while !path.is_empty() {
        let (name, rest) = match path.strip_prefix('[') {
            Some(after) => after.split_once(']')?,
            None => {
                path.strip_prefix('.').map(|after| after.split_at(after.find(['.', '[']).unwrap_or(after.len())))?
            }
        };
        let key = name.parse::<usize>().map_or_else(|_| Value::from(name), Value::from);
        value = value.get_item(&key).ok().filter(|_| !name.is_empty())?;
        path = rest;
    }
    Some(value)
}

fn unsupported(format: &str) -> Error {
    Error::new(ErrorKind::UnknownFilter, format!("the format {format:?} is not supported"))
}

/// How a value is printed.
#[derive(Default)]
struct FieldFormat {
    fill: Option<char>,
    /// Where the padding goes; `None` for the default of the value.
    side: Option<Side>,
    /// What stands before a number that is not negative.
    sign: Option<char>,
    /// Whether zeros pad a number after its sign.
    has_zeros: bool,
    width: usize,
    precision: Option<usize>,
    /// The letter of the conversion.
    kind: Option<char>,
}

impl FieldFormat {
    fn apply(&self, state: &mut State<'_, '_>, value: &Value, side: Side) -> Result<String, Error> {
        let text = self.digits_or_text(value)?;
        let is_number =
            matches!(self.kind, Some('d' | 'i' | 'u' | 'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'x' | 'X' | 'o'))
                || self.kind.is_none() && value.kind() == ValueKind::Number;
        let sign = self.sign.filter(|_| is_number && !text.starts_with('-')).map(String::from).unwrap_or_default();
        let text = sign + &text;
        let (sign, digits) = text.split_at(usize::from(text.starts_with(['-', '+', ' ']) && is_number));
        let has_zeros = self.has_zeros && is_number && self.side.is_none();
        if has_zeros {
            let width = self.width.saturating_sub(sign.len());
            return Ok(format!("{sign}{}", padded(state, digits, width, '0', Side::Before)?));
        }
        Ok(padded(state, &text, self.width, self.fill.unwrap_or(' '), self.side.unwrap_or(side))?.to_string())
    }

    fn digits_or_text(&self, value: &Value) -> Result<String, Error> {
        let wrong = || unsupported(&format!("%{}", self.kind.unwrap_or('s')));
        let number = || f64::try_from(value.clone()).map_err(|_| wrong());
        let integer = || value.as_i64().ok_or_else(wrong);
        let limit = self.precision.unwrap_or(usize::MAX);
        Ok(match self.kind {
            None if value.kind() == ValueKind::Number && self.precision.is_some() => return Err(wrong()),
            None | Some('s') => python::text(value)?.chars().take(limit).collect(),
            Some('r') => python::repr(value)?.chars().take(limit).collect(),
            Some('a') => python::ascii(value)?.chars().take(limit).collect(),
            Some('c') => value.as_str().map(str::to_owned).ok_or_else(wrong)?,
            Some('d' | 'i' | 'u') if value.is_integer() => python::text(value)?,
            Some('d' | 'i' | 'u') => format!("{:.0}", number()?.trunc()),
            Some('f' | 'F') => format!("{:.*}", self.precision.unwrap_or(6), number()?),
            Some(kind @ ('e' | 'E')) => {
                let (digits, exponent) = scientific(number()?, self.precision.unwrap_or(6)).ok_or_else(wrong)?;
                with_exponent(&digits, kind, exponent)
            }
            Some(kind @ ('g' | 'G')) => {
                let n_digits = self.precision.unwrap_or(6).max(1);
                let (digits, exponent) = scientific(number()?, n_digits - 1).ok_or_else(wrong)?;
                if (-4..n_digits as i64).contains(&exponent) {
                    let n_decimals = (n_digits as i64 - 1 - exponent).unsigned_abs() as usize; // at most 1028
                    without_zeros(&format!("{:.*}", n_decimals, number()?)).to_owned()
                } else {
                    with_exponent(without_zeros(&digits), if kind == 'g' { 'e' } else { 'E' }, exponent)
                }
            }
            Some('x') => format!("{:x}", integer()?),
            Some('X') => format!("{:X}", integer()?),
            Some('o') => format!("{:o}", integer()?),
            Some(_) => return Err(wrong()),
        })
    }
}

/// The digits of a number with this many decimals, and its decimal exponent. `None` for numbers that are not finite.
fn scientific(number: f64, n_decimals: usize) -> Option<(String, i64)> {
    let text = format!("{number:.n_decimals$e}");
    let (digits, exponent) = text.split_once('e')?;
    Some((digits.to_owned(), exponent.parse().ok()?))
}

fn with_exponent(digits: &str, letter: char, exponent: i64) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}{letter}{sign}{:0>2}", exponent.unsigned_abs())
}

/// A decimal number without zeros at the end of its fraction.
fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Reads formats.
struct FormatReader<'a> {
    rest: &'a str,
}

impl<'a> FormatReader<'a> {
    /// The name in brackets before a conversion.
    fn name(&mut self) -> Result<Option<&'a str>, Error> {
        let Some(after) = self.rest.strip_prefix('(') else { return Ok(None) };
        let (name, rest) = after.split_once(')').ok_or_else(|| unsupported(self.rest))?;
        self.rest = rest;
        Ok(Some(name))
    }

    /// What follows `%`, up to the letter.
    fn percent_format(&mut self) -> Result<FieldFormat, Error> {
        let mut format = FieldFormat::default();
        while let Some(flag) = self.take(|c| ['-', '0', ' ', '+'].contains(&c)) {
            match flag {
                '-' => format.side = Some(Side::After),
                '0' => format.has_zeros = true,
                sign => format.sign = Some(sign),
            }
        }
        self.size(&mut format)?;
        format.kind = self.take(|c| c.is_alphabetic() || c == '%');
        if format.kind.is_none() { Err(unsupported(&format!("%{}", self.rest))) } else { Ok(format) }
    }

    /// What follows the colon in braces.
    fn brace_format(&mut self) -> Result<FieldFormat, Error> {
        let whole = self.rest;
        let mut format = FieldFormat::default();
        let side = |character| match character {
            '<' => Some(Side::After),
            '>' => Some(Side::Before),
            '^' => Some(Side::Both),
            _ => None,
        };
        let mut characters = whole.chars();
        if let (Some(fill), Some(aligned)) = (characters.next(), characters.next().and_then(side)) {
            (format.fill, format.side) = (Some(fill), Some(aligned));
            self.rest = characters.as_str();
        } else if let Some(aligned) = self.take(|c| side(c).is_some()) {
            format.side = side(aligned);
        }
        format.sign = self.take(|c| ['-', ' ', '+'].contains(&c)).filter(|sign| *sign != '-');
        format.has_zeros = self.take(|c| c == '0').is_some();
        self.size(&mut format)?;
        format.kind = self.take(|c| "sdfFeEgGxXo".contains(c));
        if self.rest.is_empty() { Ok(format) } else { Err(unsupported(whole)) }
    }

    /// The width and the precision.
    fn size(&mut self, format: &mut FieldFormat) -> Result<(), Error> {
        format.width = self.number()?;
        if self.take(|c| c == '.').is_some() {
            format.precision = Some(self.number()?);
        }
        Ok(())
    }

    fn number(&mut self) -> Result<usize, Error> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        let number = if digits.is_empty() { 0 } else { digits.parse().unwrap_or(usize::MAX) };
        check_width(number)?;
        Ok(number)
    }

    fn take(&mut self, is_wanted: impl Fn(char) -> bool) -> Option<char> {
        let first = self.rest.chars().next().filter(|first| is_wanted(*first))?;
        self.rest = &self.rest[first.len_utf8()..];
        Some(first)
    }
}
