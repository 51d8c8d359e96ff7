//! Reads JSON values, with integers that are exact at any size.

use crate::function::{Arguments, RejectionReason, Repair, Value};
use crate::notation::cursor::Cursor;
use crate::notation::escape::{hexadecimal, utf16};
use crate::notation::fault::CallFault;
use crate::notation::python::number;
use crate::notation::repairs::Repairs;

/// How deep the values of [`read_json`] may nest.
const MAX_VALUE_DEPTH: usize = 128;

/// Reads JSON text into a value. Integers are exact at any size, and members keep their order. Returns `None` for text that
/// is not valid JSON, for duplicate keys, and for values nested deeper than 128.
///
/// ```
/// use causerie::read_json;
/// let value = read_json("[9007199254740993, -0.0]").unwrap();
/// assert_eq!(value.to_string(), "[9007199254740993, -0.0]");
/// ```
pub fn read_json(text: &str) -> Option<Value> {
    let mut json = JsonReader::new(Cursor { text, at: 0 }, MAX_VALUE_DEPTH);
    json.is_lenient = false;
    let value = json.value(0).ok()?;
    json.skip_space();
    json.cursor.rest().is_empty().then_some(value)
}

/// Reads a text that is one value, with the repairs that it needs.
pub(crate) fn read_lenient(text: &str, max_depth: usize) -> Option<(Value, Repairs)> {
    let mut json = JsonReader::new(Cursor { text, at: 0 }, max_depth);
    let value = json.value(0).ok()?;
    json.cursor.rest().is_empty().then_some((value, json.repairs))
}

/// Reads the string that comes next.
pub(crate) fn string_at(cursor: &mut Cursor<'_>) -> Option<String> {
    let mut json = JsonReader::new(*cursor, 0);
    let string = json.string().ok()?;
    *cursor = json.cursor;
    Some(string)
}

/// Reads JSON. Near misses with one reading are repaired: a comma after the last item, doubled braces, `\n` between values. Raw
/// control characters in strings are kept.
pub(super) struct JsonReader<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) repairs: Repairs,
    pub(super) max_depth: usize,
    pub(super) is_lenient: bool,
    /// Whether numbers become strings, exactly as they are written.
    pub(super) keeps_lexemes: bool,
    /// Whether a path may end with a backslash: `"C:\Temp\"`.
    pub(super) ends_with_backslash: bool,
}

impl<'a> JsonReader<'a> {
    pub(super) fn new(cursor: Cursor<'a>, max_depth: usize) -> Self {
        Self {
            cursor,
            repairs: Repairs::default(),
            max_depth,
            is_lenient: true,
            keeps_lexemes: false,
            ends_with_backslash: false,
        }
    }

    pub(super) fn value(&mut self, depth: usize) -> Result<Value, CallFault> {
        self.skip_space();
        match self.cursor.peek() {
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some('"') => self.string().map(Value::String),
            Some('-' | '0'..='9') => self.number(),
            _ if self.cursor.eat("true") => Ok(Value::Bool(true)),
            _ if self.cursor.eat("false") => Ok(Value::Bool(false)),
            _ if self.cursor.eat("null") => Ok(Value::Null),
            _ => Err(self.fault(RejectionReason::MalformedSyntax)),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, CallFault> {
        if self.is_lenient && self.cursor.rest().starts_with("{{") {
            return self.doubled_object(depth);
        }
        let mut entries = Arguments::new();
        let mut goes_on = self.open("}", depth)?;
        while goes_on {
            self.skip_space();
            let start = self.cursor.at;
            let key = self.string()?;
            self.skip_space();
            if !self.cursor.eat(":") {
                return Err(self.fault(RejectionReason::MalformedSyntax));
            }
            if entries.contains_key(&key) {
                return Err(CallFault::new(RejectionReason::DuplicateArgument, start));
            }
            entries.insert(key, self.value(depth + 1)?);
            goes_on = self.comma_or("}")?;
        }
        Ok(Value::Object(entries))
    }

    /// Reads an object whose braces are doubled, which no value of JSON begins with.
    fn doubled_object(&mut self, depth: usize) -> Result<Value, CallFault> {
        if depth >= self.max_depth {
            return Err(self.fault(RejectionReason::NestingTooDeep));
        }
        self.cursor.at += 1;
        let object = self.object(depth + 1)?;
        self.skip_space();
        if !self.cursor.eat("}") {
            return Err(self.fault(RejectionReason::MalformedSyntax));
        }
        self.repairs.add(Repair::DoubledBraces);
        Ok(object)
    }

    fn array(&mut self, depth: usize) -> Result<Value, CallFault> {
        let mut items = Vec::new();
        let mut goes_on = self.open("]", depth)?;
        while goes_on {
            items.push(self.value(depth + 1)?);
            goes_on = self.comma_or("]")?;
        }
        Ok(Value::Array(items))
    }

    /// Takes an opening bracket. If its partner follows, takes that as well; returns whether an item follows.
    fn open(&mut self, close: &str, depth: usize) -> Result<bool, CallFault> {
        if depth >= self.max_depth {
            return Err(self.fault(RejectionReason::NestingTooDeep));
        }
        self.cursor.at += 1;
        self.skip_space();
        Ok(!self.cursor.eat(close))
    }

    /// Takes a comma or the closing bracket; returns whether another item follows.
    fn comma_or(&mut self, close: &str) -> Result<bool, CallFault> {
        self.skip_space();
        if self.cursor.eat(close) {
            return Ok(false);
        }
        if !self.cursor.eat(",") {
            return Err(self.fault(RejectionReason::MalformedSyntax));
        }
        self.skip_space();
        if self.is_lenient && self.cursor.eat(close) {
            self.repairs.add(Repair::TrailingComma);
            return Ok(false);
        }
        Ok(true)
    }

    pub(super) fn string(&mut self) -> Result<String, CallFault> {
        if !self.cursor.eat("\"") {
            return Err(self.fault(RejectionReason::MalformedSyntax));
        }
        let start = self.cursor;
        let mut text = String::new();
        loop {
            let is_plain = |character: char| character != '"' && character != '\\';
            let plain = self.cursor.eat_while(is_plain);
            if !self.is_lenient && plain.contains(|character| character < ' ') {
                return Err(self.fault(RejectionReason::MalformedSyntax));
            }
            text.push_str(plain);
            if self.cursor.eat("\"") {
                return Ok(text);
            }
            match self.escape() {
                Some(escaped) => text.push(escaped),
                None if self.is_lenient && !is_python_escape(self.cursor.rest()) => {
                    self.cursor = start;
                    return self.string_of_backslashes();
                }
                None => return Err(self.fault(RejectionReason::MalformedSyntax)),
            }
        }
    }

    /// Reads the rest of a string with an escape that does not exist: no backslash was meant as one, except before a quote.
    fn string_of_backslashes(&mut self) -> Result<String, CallFault> {
        let start = self.cursor.at;
        loop {
            self.cursor.eat_while(|character| character != '"' && character != '\\');
            let end = self.cursor.at;
            if self.cursor.eat("\"") {
                self.repairs.add(Repair::PlainBackslashes);
                return Ok(self.cursor.text[start..end].replace("\\\"", "\""));
            }
            if !self.cursor.eat("\\") {
                return Err(self.fault(RejectionReason::MalformedSyntax));
            }
            if self.ends_with_backslash && self.is_last_quote() {
                let path = &self.cursor.text[start..self.cursor.at];
                self.cursor.at += 1;
                self.repairs.add(Repair::PlainBackslashes);
                return Ok(path.to_owned());
            }
            self.cursor.at += self.cursor.peek().map_or(0, char::len_utf8);
        }
    }

    /// Whether a quote comes next that something follows which may follow a string.
    fn is_last_quote(&self) -> bool {
        let after = self.cursor.rest().strip_prefix('"');
        after.is_some_and(|after| after.trim_start().starts_with([',', '}', ']', ':']))
    }

    fn escape(&mut self) -> Option<char> {
        let rest = self.cursor.rest().strip_prefix('\\')?;
        let (character, length) = match rest.chars().next()? {
            plain @ ('"' | '\\' | '/') => (plain, 1),
            'b' => ('\u{8}', 1),
            'f' => ('\u{c}', 1),
            'n' => ('\n', 1),
            'r' => ('\r', 1),
            't' => ('\t', 1),
            'u' => utf16(&rest[1..], &mut self.repairs).map(|(character, length)| (character, length + 1))?,
            _ => return None,
        };
        self.cursor.at += 1 + length;
        Some(character)
    }

    fn number(&mut self) -> Result<Value, CallFault> {
        let start = self.cursor.at;
        let is_negative = self.cursor.eat("-");
        let whole = self.digits();
        let is_integer = !self.cursor.rest().starts_with(['.', 'e', 'E']);
        let has_fraction = !self.cursor.eat(".") || !self.digits().is_empty();
        let has_exponent = !(self.cursor.eat("e") || self.cursor.eat("E")) || {
            let _signed = self.cursor.eat("+") || self.cursor.eat("-");
            !self.digits().is_empty()
        };
        let has_whole = whole == "0" || !whole.is_empty() && !whole.starts_with('0');
        if !(has_whole && has_fraction && has_exponent) {
            return Err(CallFault::new(RejectionReason::MalformedSyntax, start));
        }
        if self.keeps_lexemes {
            return Ok(Value::String(self.cursor.text[start..self.cursor.at].to_owned()));
        }
        if is_integer {
            return Ok(number::integer(whole, is_negative));
        }
        number::float(&self.cursor.text[start..self.cursor.at]).map_err(|reason| CallFault::new(reason, start))
    }

    pub(super) fn skip_space(&mut self) {
        self.cursor.eat_while(|character| matches!(character, ' ' | '\t' | '\n' | '\r'));
        while self.is_lenient && self.cursor.eat_escaped_space() {
            self.repairs.add(Repair::EscapedSpace);
        }
    }

    fn digits(&mut self) -> &'a str {
        self.cursor.eat_while(|character| character.is_ascii_digit())
    }

    fn fault(&self, reason: RejectionReason) -> CallFault {
        CallFault::new(reason, self.cursor.at)
    }
}

/// Whether a text starts with an escape that JSON lacks and Python has. The string is then read as Python.
fn is_python_escape(text: &str) -> bool {
    let after = text.strip_prefix('\\').unwrap_or_default();
    after.starts_with('\'') || after.strip_prefix('x').is_some_and(|digits| hexadecimal(digits, 2).is_some())
}
