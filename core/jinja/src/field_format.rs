//! How Python prints one value in a format: width, sign, precision and the letter of the conversion.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use crate::fuel;
use crate::padding::{Side, check_width, padded};
use crate::python;

/// How a value is printed.
#[derive(Default)]
pub(super) struct FieldFormat {
    fill: Option<char>,
    /// Where the padding goes; `None` for the default of the value.
    side: Option<FieldSide>,
    /// What stands before a number that is not negative.
    sign: Option<char>,
    /// Whether an integer has a prefix that shows its base.
    is_prefixed: bool,
    /// Whether zeros pad a number after its sign.
    has_zeros: bool,
    pub(super) width: usize,
    /// What stands between groups of digits.
    separator: Option<char>,
    pub(super) precision: Option<usize>,
    /// The letter of the conversion.
    pub(super) kind: Option<char>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldSide {
    Before,
    After,
    Both,
    /// Between the sign of a number and its digits.
    AfterSign,
}

pub(super) fn unsupported(format: &str) -> Error {
    Error::new(ErrorKind::UnknownFilter, format!("the format {format:?} is not supported"))
}

impl FieldFormat {
    /// The text of a value. `side` is where padding goes by default.
    pub(super) fn apply(&self, state: &mut State<'_, '_>, value: &Value, side: Side) -> Result<String, Error> {
        // A digit takes as long as several characters.
        fuel::characters(state, self.width + 4 * self.precision.unwrap_or(0))?;
        let text = self.digits_or_text(state, value)?;
        let is_number = self.kind.map_or(value.kind() == ValueKind::Number, |kind| "diufFeEgGxXobn%".contains(kind));
        if !is_number {
            let side = match self.side {
                Some(FieldSide::Before) => Side::Before,
                Some(FieldSide::After) => Side::After,
                Some(FieldSide::Both) => Side::Both,
                Some(FieldSide::AfterSign) => return Err(unsupported("=")),
                None => side,
            };
            let fill = self.fill.unwrap_or(if self.has_zeros { '0' } else { ' ' });
            return Ok(padded(state, &text, self.width, fill, side)?.to_string());
        }
        let digits = text.strip_prefix('-').unwrap_or(&text);
        let mut sign =
            if digits.len() < text.len() { "-".to_owned() } else { self.sign.map(String::from).unwrap_or_default() };
        if self.is_prefixed
            && let Some(letter) = self.kind.filter(|kind| "xXob".contains(*kind))
        {
            sign.extend(['0', letter]);
        }
        let fills_zeros = self.has_zeros && self.side.is_none();
        let width = if fills_zeros { self.width.saturating_sub(sign.len()) } else { 0 };
        let digits = self.grouped(digits, width);
        let fill = if fills_zeros { '0' } else { self.fill.unwrap_or(if self.has_zeros { '0' } else { ' ' }) };
        let width = self.width.saturating_sub(sign.len());
        match self.side {
            None if fills_zeros => Ok(sign + &padded(state, &digits, width, fill, Side::Before)?.to_string()),
            Some(FieldSide::AfterSign) => Ok(sign + &padded(state, &digits, width, fill, Side::Before)?.to_string()),
            other => {
                let side = match other {
                    Some(FieldSide::After) => Side::After,
                    Some(FieldSide::Both) => Side::Both,
                    _ => Side::Before,
                };
                Ok(padded(state, &(sign + &digits), self.width, fill, side)?.to_string())
            }
        }
    }

    /// Digits with separators between groups, with zeros before them up to a width.
    fn grouped(&self, digits: &str, width: usize) -> String {
        let Some(separator) = self.separator.filter(|_| digits.starts_with(|c: char| c.is_ascii_hexdigit())) else {
            return digits.to_owned();
        };
        let size = if self.kind.is_some_and(|kind| "xXob".contains(kind)) { 4 } else { 3 };
        let is_digit = |c: char| if size == 4 { c.is_ascii_hexdigit() } else { c.is_ascii_digit() };
        let (whole, rest) = digits.split_at(digits.find(|c| !is_digit(c)).unwrap_or(digits.len()));
        let mut n_digits = whole.len();
        while n_digits + (n_digits - 1) / size + rest.len() < width {
            n_digits += 1;
        }
        let zeros = std::iter::repeat_n('0', n_digits - whole.len());
        let mut out = String::new();
        for (i, digit) in zeros.chain(whole.chars()).enumerate() {
            if 0 < i && (n_digits - i).is_multiple_of(size) {
                out.push(separator);
            }
            out.push(digit);
        }
        out + rest
    }

    fn digits_or_text(&self, state: &State<'_, '_>, value: &Value) -> Result<String, Error> {
        let wrong = || unsupported(&format!("%{}", self.kind.unwrap_or('s')));
        let is_flag = value.kind() == ValueKind::Bool && self.kind.is_some_and(|kind| !"sra".contains(kind));
        let value = &if is_flag { Value::from(i64::from(value.is_true())) } else { value.clone() };
        let number = || f64::try_from(value.clone()).map_err(|_| wrong());
        let limit = self.precision.unwrap_or(usize::MAX);
        Ok(match self.kind {
            None if value.kind() == ValueKind::Number && self.precision.is_some() => {
                if value.is_integer() {
                    return Err(wrong());
                }
                self.float(number()?, 'r').ok_or_else(wrong)?
            }
            None | Some('s') => python::text(state, value)?.chars().take(limit).collect(),
            Some('r') => python::repr(state, value)?.chars().take(limit).collect(),
            Some('a') => python::ascii(state, value)?.chars().take(limit).collect(),
            Some('c') => match value.as_i64() {
                Some(code) => u32::try_from(code).ok().and_then(char::from_u32).map(String::from).ok_or_else(wrong)?,
                None => value.as_str().filter(|text| text.chars().count() == 1).map(str::to_owned).ok_or_else(wrong)?,
            },
            Some('d' | 'i' | 'u' | 'n') if value.is_integer() => python::text(state, value)?.into_owned(),
            Some('n') => self.float(number()?, 'g').ok_or_else(wrong)?,
            Some('d' | 'i' | 'u') => format!("{:.0}", number()?.trunc()),
            Some(kind @ ('x' | 'X' | 'o' | 'b')) => {
                let integer = value.as_i64().ok_or_else(wrong)?;
                let (sign, magnitude) = (if integer < 0 { "-" } else { "" }, integer.unsigned_abs());
                match kind {
                    'x' => format!("{sign}{magnitude:x}"),
                    'X' => format!("{sign}{magnitude:X}"),
                    'o' => format!("{sign}{magnitude:o}"),
                    _ => format!("{sign}{magnitude:b}"),
                }
            }
            Some(kind) => self.float(number()?, kind).ok_or_else(wrong)?,
        })
    }

    /// A number with decimals or an exponent. The letter `r` stands for no letter.
    fn float(&self, number: f64, kind: char) -> Option<String> {
        if !number.is_finite() {
            let text = python::float(number) + if kind == '%' { "%" } else { "" };
            return Some(if kind.is_ascii_uppercase() { text.to_uppercase() } else { text });
        }
        let precision = self.precision.unwrap_or(6);
        Some(match kind {
            'f' | 'F' => format!("{number:.precision$}"),
            '%' => format!("{:.precision$}%", number * 100.0),
            'e' | 'E' => {
                let (digits, exponent) = scientific(number, precision)?;
                with_exponent(&digits, kind, exponent)
            }
            'g' | 'G' | 'r' => {
                let n_digits = precision.max(1);
                let (digits, exponent) = scientific(number, n_digits - 1)?;
                let n_plain = n_digits as i64 - i64::from(kind == 'r'); // at most 1024
                if (-4..n_plain).contains(&exponent) {
                    let n_decimals = (n_digits as i64 - 1 - exponent).unsigned_abs() as usize; // at most 1028
                    let plain = format!("{number:.n_decimals$}");
                    let plain = without_zeros(&plain);
                    if kind == 'r' && !plain.contains('.') { format!("{plain}.0") } else { plain.to_owned() }
                } else {
                    with_exponent(without_zeros(&digits), if kind == 'G' { 'E' } else { 'e' }, exponent)
                }
            }
            _ => return None,
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
pub(super) struct FormatReader<'a> {
    pub(super) rest: &'a str,
}

impl<'a> FormatReader<'a> {
    /// The name in brackets before a conversion.
    pub(super) fn name(&mut self) -> Result<Option<&'a str>, Error> {
        let Some(after) = self.rest.strip_prefix('(') else { return Ok(None) };
        let (name, rest) = after.split_once(')').ok_or_else(|| unsupported(self.rest))?;
        self.rest = rest;
        Ok(Some(name))
    }

    /// What follows `%`, up to the letter. `next` returns the next value, which `*` takes for a width or a precision.
    pub(super) fn percent_format(
        &mut self,
        mut next: impl FnMut() -> Result<Value, Error>,
    ) -> Result<FieldFormat, Error> {
        let mut format = FieldFormat::default();
        while let Some(flag) = self.take(|c| ['-', '0', ' ', '+', '#'].contains(&c)) {
            match flag {
                '-' => format.side = Some(FieldSide::After),
                '0' => format.has_zeros = true,
                '#' => format.is_prefixed = true,
                sign => format.sign = Some(sign),
            }
        }
        let mut size = |reader: &mut Self| {
            if reader.take(|c| c == '*').is_none() {
                return reader.number();
            }
            let size = next()?.as_i64().ok_or_else(|| unsupported("%*"))?;
            let magnitude = usize::try_from(size.unsigned_abs()).unwrap_or(usize::MAX);
            check_width(magnitude)?;
            if size < 0 { Err(unsupported("%*")) } else { Ok(magnitude) }
        };
        format.width = size(self)?;
        if self.take(|c| c == '.').is_some() {
            format.precision = Some(size(self)?);
        }
        self.take(|c| ['h', 'l', 'L'].contains(&c)); // lengths, which mean nothing in Python
        format.kind = self.take(|c| c.is_alphabetic() || c == '%');
        format.has_zeros &= format.side.is_none() && format.kind.is_some_and(|kind| !"crsa".contains(kind));
        match format.kind {
            Some(kind) if "diouxXeEfFgGcrsa%".contains(kind) => Ok(format),
            _ => Err(unsupported(&format!("%{}", self.rest))),
        }
    }

    /// What follows the colon in braces.
    pub(super) fn brace_format(&mut self) -> Result<FieldFormat, Error> {
        let whole = self.rest;
        let mut format = FieldFormat::default();
        let side = |character| match character {
            '<' => Some(FieldSide::After),
            '>' => Some(FieldSide::Before),
            '^' => Some(FieldSide::Both),
            '=' => Some(FieldSide::AfterSign),
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
        format.is_prefixed = self.take(|c| c == '#').is_some();
        format.has_zeros = self.take(|c| c == '0').is_some();
        format.width = self.number()?;
        format.separator = self.take(|c| [',', '_'].contains(&c));
        if self.take(|c| c == '.').is_some() {
            format.precision = Some(self.number()?);
        }
        format.kind = self.take(|c| "sdfFeEgGxXobcn%".contains(c));
        let groups = format.separator.is_none_or(|separator| match format.kind {
            Some('x' | 'X' | 'o' | 'b') => separator == '_',
            Some('s' | 'c' | 'n') => false,
            _ => true,
        });
        if self.rest.is_empty() && groups { Ok(format) } else { Err(unsupported(whole)) }
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
