//! Prints template values as Python does, because chat templates are written for Python's Jinja.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use crate::fuel::{self, check_depth, refused};
use crate::literals::{python_float, write_json_string};
use crate::printable::{is_kept, is_printable};

/// The longest indent of JSON in bytes. Longer ones would only fill the memory.
pub(crate) const MAX_INDENT: usize = 16;

/// An integer too large for the template engine's own integers, by its digits.
#[derive(Debug)]
pub struct LargeInteger(pub String);

impl Object for LargeInteger {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A string that prints as a Python literal, in single quotes and with escapes. For templates it is not a string.
#[derive(Debug)]
pub struct Literal(pub String);

impl Literal {
    /// Whether a string needs escapes between quotes.
    pub fn is_needed(text: &str) -> bool {
        text.contains(|character: char| matches!(character, '\'' | '"' | '\\') || character.is_control())
    }
}

impl Object for Literal {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut literal = String::new();
        write_quoted(&mut literal, &self.0, '\'', char::is_control)?;
        f.write_str(&literal)
    }
}

/// A group of items with a common value: a tuple of two items with names.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) grouper: Value,
    pub(crate) list: Value,
}

impl Object for Group {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match (key.as_str(), key.as_usize()) {
            (Some("grouper"), _) | (_, Some(0)) => Some(self.grouper.clone()),
            (Some("list"), _) | (_, Some(1)) => Some(self.list.clone()),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(2)
    }
}

/// Format of printed JSON, with the parameter names of `json.dumps`.
#[derive(Default)]
pub(crate) struct JsonFormat {
    /// What each level is indented by; `None` prints everything on one line.
    pub(crate) indent: Option<String>,
    /// The separators between items and after keys. Default: `", "` and `": "`; with an indent, `","` and `": "`.
    pub(crate) separators: Option<(String, String)>,
    pub(crate) sort_keys: bool,
}

impl JsonFormat {
    fn between_items(&self) -> &str {
        match &self.separators {
            Some((separator, _)) => separator,
            None if self.indent.is_some() => ",",
            None => ", ",
        }
    }

    fn after_keys(&self) -> &str {
        self.separators.as_ref().map_or(": ", |(_, separator)| separator)
    }
}

/// Jinja's `tojson` as chat templates use it: `json.dumps(value, ensure_ascii=False, indent=..., separators=..., sort_keys=...)`.
pub(crate) fn json(state: &State<'_, '_>, value: &Value, format: &JsonFormat) -> Result<String, Error> {
    if format.indent.as_ref().is_some_and(|indent| MAX_INDENT < indent.len()) {
        return Err(refused("an indent must have at most 16 characters"));
    }
    let mut printer = Printer { state, format, out: String::new() };
    printer.json(value, 0)?;
    Ok(printer.out)
}

/// JSON text with escapes in place of characters beyond ASCII.
pub(crate) fn ascii_json(state: &State<'_, '_>, text: &str) -> Result<String, Error> {
    fuel::characters(state, text.len())?;
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() || is_kept(character) {
            out.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
        }
    }
    Ok(out)
}

/// Python's `str(value)`: strings unchanged, all other values as `repr` prints them.
pub(crate) fn text<'a>(state: &State<'_, '_>, value: &'a Value) -> Result<Cow<'a, str>, Error> {
    match (value.as_str(), value.kind()) {
        (Some(text), _) => Ok(text.into()),
        (None, ValueKind::Undefined) => Ok("".into()),
        _ => repr(state, value).map(Cow::from),
    }
}

/// Python's `repr(value)`.
pub(crate) fn repr(state: &State<'_, '_>, value: &Value) -> Result<String, Error> {
    let mut printer = Printer { state, format: &JsonFormat::default(), out: String::new() };
    printer.repr(value, 0)?;
    Ok(printer.out)
}

/// Python's `ascii(value)`: `repr` with escapes in place of characters beyond ASCII.
pub(crate) fn ascii(state: &State<'_, '_>, value: &Value) -> Result<String, Error> {
    let text = repr(state, value)?;
    fuel::characters(state, text.len())?;
    let mut out = String::new();
    for character in text.chars() {
        match character.is_ascii() || is_kept(character) {
            true => out.push(character),
            false => write_escape(&mut out, character)?,
        }
    }
    Ok(out)
}

/// The escape of a character that has no name.
fn write_escape(out: &mut String, character: char) -> fmt::Result {
    match u32::from(character) {
        code @ 0..0x100 => write!(out, "\\x{code:02x}"),
        code @ 0x100..0x10000 => write!(out, "\\u{code:04x}"),
        code => write!(out, "\\U{code:08x}"),
    }
}

/// Prints values, and charges each value and its text before it prints it.
struct Printer<'a, 'template, 'env> {
    state: &'a State<'template, 'env>,
    format: &'a JsonFormat,
    out: String,
}

impl Printer<'_, '_, '_> {
    /// Charges a value, and refuses one that is nested too deep.
    fn enter(&self, value: &Value, level: usize) -> Result<(), Error> {
        check_depth(level)?;
        fuel::values(self.state, 1)?;
        fuel::characters(self.state, value.as_str().map_or(0, str::len))
    }

    fn json(&mut self, value: &Value, level: usize) -> Result<(), Error> {
        self.enter(value, level)?;
        match value.kind() {
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::String => write_json_string(&mut self.out, value.as_str().unwrap_or_default())?,
            ValueKind::Seq | ValueKind::Iterable => {
                self.items(['[', ']'], value.try_iter()?, level, |printer, item| printer.json(&item, level + 1))?;
            }
            ValueKind::Map => {
                let mut keys: Vec<Value> = value.try_iter()?.collect();
                if self.format.sort_keys {
                    sort_cost(self.state, &keys)?;
                    keys.sort();
                }
                self.items(['{', '}'], keys.into_iter(), level, |printer, key| {
                    match key.as_str() {
                        Some(text) => {
                            fuel::characters(printer.state, text.len())?;
                            write_json_string(&mut printer.out, text)?;
                        }
                        None => {
                            let text = json(printer.state, &key, &JsonFormat::default())?;
                            write_json_string(&mut printer.out, &text)?;
                        }
                    }
                    printer.separator(printer.format.after_keys())?;
                    printer.json(&value.get_item(&key)?, level + 1)
                })?;
            }
            _ => match (value.downcast_object_ref::<Literal>(), number(value)) {
                (Some(literal), _) => {
                    fuel::characters(self.state, literal.0.len())?;
                    write_json_string(&mut self.out, &literal.0)?;
                }
                (None, Some(number)) => self.out.push_str(&number),
                (None, None) => {
                    let message = format!("a value of kind {} cannot be printed as JSON", value.kind());
                    return Err(Error::new(ErrorKind::InvalidOperation, message));
                }
            },
        }
        Ok(())
    }

    fn repr(&mut self, value: &Value, level: usize) -> Result<(), Error> {
        self.enter(value, level)?;
        match value.kind() {
            ValueKind::None => self.out.push_str("None"),
            ValueKind::Undefined => self.out.push_str("Undefined"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "True" } else { "False" }),
            ValueKind::String => write_string_repr(&mut self.out, value.as_str().unwrap_or_default())?,
            ValueKind::Seq if is_tuple(value) => {
                self.items(['(', ')'], value.try_iter()?, level, |printer, item| printer.repr(&item, level + 1))?;
                // A tuple of one item has a comma after it.
                if value.len() == Some(1) {
                    self.out.insert(self.out.len() - 1, ',');
                }
            }
            ValueKind::Seq | ValueKind::Iterable => {
                self.items(['[', ']'], value.try_iter()?, level, |printer, item| printer.repr(&item, level + 1))?;
            }
            ValueKind::Map => {
                self.items(['{', '}'], value.try_iter()?, level, |printer, key| {
                    printer.repr(&key, level + 1)?;
                    printer.out.push_str(": ");
                    printer.repr(&value.get_item(&key)?, level + 1)
                })?;
            }
            ValueKind::Number if !value.is_integer() => self.out.push_str(&float(f64::try_from(value.clone())?)),
            _ => match number(value) {
                Some(number) => self.out.push_str(&number),
                None => write!(self.out, "{value}")?,
            },
        }
        Ok(())
    }

    fn items<T>(
        &mut self,
        brackets: [char; 2],
        items: impl Iterator<Item = T>,
        level: usize,
        mut print: impl FnMut(&mut Self, T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.out.push(brackets[0]);
        let mut is_empty = true;
        for item in items {
            if !is_empty {
                self.separator(self.format.between_items())?;
            }
            is_empty = false;
            self.line(level + 1)?;
            print(self, item)?;
        }
        if !is_empty {
            self.line(level)?;
        }
        self.out.push(brackets[1]);
        Ok(())
    }

    /// Prints a separator, which a template may choose.
    fn separator(&mut self, separator: &str) -> Result<(), Error> {
        fuel::bytes(self.state, separator.len())?;
        self.out.push_str(separator);
        Ok(())
    }

    /// Begins a line, if the format has any.
    fn line(&mut self, level: usize) -> Result<(), Error> {
        if let Some(indent) = &self.format.indent {
            fuel::bytes(self.state, indent.len() * level)?;
            self.out.push('\n');
            self.out.push_str(&indent.repeat(level));
        }
        Ok(())
    }
}

/// Charges the comparisons of a sort.
pub(crate) fn sort_cost<'a>(
    state: &State<'_, '_>,
    values: impl IntoIterator<Item = &'a Value, IntoIter: ExactSizeIterator>,
) -> Result<(), Error> {
    let mut values = values.into_iter();
    // Each value is compared with about log2(n) others.
    let n_rounds = (usize::BITS - values.len().leading_zeros()) as usize; // at most 64
    values.try_for_each(|value| fuel::visit_times(state, value, n_rounds))
}

/// Python's `repr` of a float. JSON has other spellings for numbers that are not finite.
pub(crate) fn float(number: f64) -> String {
    match number {
        _ if number.is_nan() => "nan".to_owned(),
        f64::INFINITY => "inf".to_owned(),
        f64::NEG_INFINITY => "-inf".to_owned(),
        _ => python_float(number),
    }
}

/// White space as Python has it: also the four separators of ASCII.
pub(crate) fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\x1c'..='\x1f').contains(&character)
}

/// Whether a value is a tuple in Python.
pub(crate) fn is_tuple(value: &Value) -> bool {
    value.is_tuple() || value.downcast_object_ref::<Group>().is_some()
}

/// Python uses single quotes, except for strings that contain single but no double quotes.
fn write_string_repr(out: &mut String, text: &str) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    write_quoted(out, text, quote, |character| !is_printable(character) && !is_kept(character))
}

fn write_quoted(out: &mut String, text: &str, quote: char, is_escaped: impl Fn(char) -> bool) -> fmt::Result {
    out.push(quote);
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            escaped if is_escaped(escaped) => write_escape(out, escaped)?,
            other if other == quote => out.extend(['\\', other]),
            other => out.push(other),
        }
    }
    out.push(quote);
    Ok(())
}

fn number(value: &Value) -> Option<String> {
    if let Some(large) = value.downcast_object_ref::<LargeInteger>() {
        return Some(large.0.clone());
    }
    match value.kind() {
        ValueKind::Number if value.is_integer() => Some(value.to_string()),
        ValueKind::Number => f64::try_from(value.clone()).ok().map(python_float),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::with_state;

    fn printed(value: &Value, format: &JsonFormat) -> Result<String, Error> {
        with_state(|state| json(state, value, format))
    }

    fn sample() -> Value {
        let list: Value = [Value::from(1), 2.0.into(), ().into(), true.into(), "it's".into()].into_iter().collect();
        Value::from_pairs([("a", list), ("b", minijinja::context! {}), ("c", "x\"y'\n".into())])
    }

    #[test]
    fn str_matches_python() {
        assert_eq!(
            with_state(|state| text(state, &sample()).unwrap().into_owned()),
            r#"{'a': [1, 2.0, None, True, "it's"], 'b': {}, 'c': 'x"y\'\n'}"#
        );
        assert_eq!(with_state(|state| text(state, &Value::from("it's")).unwrap().into_owned()), "it's");
    }

    /// The expected texts come from Python's `json.dumps`.
    #[test]
    fn json_matches_python() {
        let indented = |indent: usize| JsonFormat { indent: Some(" ".repeat(indent)), ..JsonFormat::default() };
        assert_eq!(
            printed(&sample(), &JsonFormat::default()).unwrap(),
            r#"{"a": [1, 2.0, null, true, "it's"], "b": {}, "c": "x\"y'\n"}"#
        );
        assert_eq!(
            printed(&Value::from(vec![Value::from(vec![1]), Value::from(Vec::<i64>::new())]), &indented(2)).unwrap(),
            "[\n  [\n    1\n  ],\n  []\n]"
        );
        assert!(printed(&sample(), &indented(17)).is_err());
    }

    #[test]
    fn json_uses_the_separators_of_the_template() {
        let inner = Value::from_pairs([("z", 1), ("Z", 2), ("é", 3)]);
        let value = Value::from_pairs([("b", Value::from(vec![1, 2])), ("a", inner)]);
        let separators = Some((",".to_owned(), ":".to_owned()));
        let compact = JsonFormat { separators: separators.clone(), ..JsonFormat::default() };
        assert_eq!(printed(&value, &compact).unwrap(), r#"{"b":[1,2],"a":{"z":1,"Z":2,"é":3}}"#);
        let sorted = JsonFormat { sort_keys: true, ..JsonFormat::default() };
        assert_eq!(printed(&value, &sorted).unwrap(), r#"{"a": {"Z": 2, "z": 1, "é": 3}, "b": [1, 2]}"#);
        let all = JsonFormat { indent: Some(" ".to_owned()), separators, sort_keys: true };
        assert_eq!(
            printed(&value, &all).unwrap(),
            "{\n \"a\":{\n  \"Z\":2,\n  \"z\":1,\n  \"é\":3\n },\n \"b\":[\n  1,\n  2\n ]\n}"
        );
    }
}
