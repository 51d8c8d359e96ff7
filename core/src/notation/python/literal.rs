//! Python literals: the values that an argument may have. JSON's spellings are accepted as well.

use crate::function::{Arguments, RejectionReason, Repair, Value};
use crate::notation::cursor::{Cursor, starts_word};
use crate::notation::fault::CallFault;
use crate::notation::limits::MAX_DEPTH;
use crate::notation::python::closings::{Closings, ValuePosition, hides_more, starts_argument};
use crate::notation::python::string::StringOpening;
use crate::notation::python::{expression, number};
use crate::notation::repairs::Repairs;

/// Which keys a dictionary may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRule {
    /// Strings, or literals that become strings.
    Any,
    /// Only strings, because the keys become names of arguments.
    Names,
}

/// Reads literals.
pub(crate) struct Literals<'a, 'c> {
    pub(crate) cursor: Cursor<'a>,
    pub(crate) repairs: Repairs,
    /// Brackets that may be open at once.
    pub(crate) max_depth: usize,
    /// Whether numbers become strings, exactly as they are written.
    pub(crate) keeps_lexemes: bool,
    /// Whether JSON was expected here: it has no adjacent strings, and it has the escape `\/`.
    pub(crate) is_json: bool,
    /// Whether a path may end with a backslash: `"C:\Temp\"`.
    pub(crate) ends_with_backslash: bool,
    /// Set while the closing quotes of strings are searched for.
    pub(crate) closings: Option<&'c mut Closings>,
}

impl<'a> Literals<'a, '_> {
    pub(crate) fn new(cursor: Cursor<'a>, max_depth: usize) -> Self {
        Self {
            cursor,
            repairs: Repairs::default(),
            max_depth,
            keeps_lexemes: false,
            is_json: false,
            ends_with_backslash: false,
            closings: None,
        }
    }

    /// Reads a value and checks that it ends where it should.
    pub(crate) fn value(&mut self, depth: usize, position: ValuePosition) -> Result<Value, CallFault> {
        self.cursor.skip_space();
        let value = self.operand(depth, position)?;
        self.expect_end(matches!(value, Value::String(_)))?;
        Ok(value)
    }

    fn operand(&mut self, depth: usize, position: ValuePosition) -> Result<Value, CallFault> {
        if StringOpening::read(self.cursor.rest()).is_some() {
            return self.strings(position).map(Value::String);
        }
        match self.cursor.peek() {
            Some('[') => self.items("]", depth).map(|(items, _)| Value::Array(items)),
            Some('(') => self.parentheses(depth),
            Some('{') => self.braces(depth, KeyRule::Any),
            Some('0'..='9' | '+' | '-' | '.') => self.number(),
            Some(first) if starts_word(first) => self.constant(),
            Some(first) if expression::is_operator(first) => Err(self.fault(RejectionReason::UnsupportedExpression)),
            _ => Err(self.fault(RejectionReason::MalformedSyntax)),
        }
    }

    fn constant(&mut self) -> Result<Value, CallFault> {
        let start = self.cursor.at;
        match self.cursor.word() {
            "True" | "true" => Ok(Value::Bool(true)),
            "False" | "false" => Ok(Value::Bool(false)),
            "None" | "null" => Ok(Value::Null),
            word => Err(CallFault::new(word_fault(word), start)),
        }
    }

    fn number(&mut self) -> Result<Value, CallFault> {
        let start = self.cursor.at;
        let lexeme = number::lexeme(&mut self.cursor);
        let unsigned = lexeme.trim_start_matches(['+', '-']);
        let digits = unsigned.trim_start_matches('.');
        let reason = match digits.chars().next() {
            Some('0'..='9') => match number::read(lexeme, &mut self.repairs) {
                Ok(_) if self.keeps_lexemes => return Ok(Value::String(lexeme.to_owned())),
                Ok(number) => return Ok(number),
                Err(reason) => reason,
            },
            _ => word_fault(unsigned),
        };
        Err(CallFault::new(reason, start))
    }

    /// Reads items up to the closing bracket; also returns whether there was a comma.
    fn items(&mut self, close: &str, depth: usize) -> Result<(Vec<Value>, bool), CallFault> {
        self.open(depth)?;
        let (mut items, mut has_comma) = (Vec::new(), false);
        loop {
            self.cursor.skip_space();
            if self.cursor.eat(close) {
                return Ok((items, has_comma));
            }
            items.push(self.value(depth + 1, ValuePosition::Nested)?);
            if !self.comma_or(close)? {
                return Ok((items, has_comma));
            }
            has_comma = true;
        }
    }

    /// `(5)` is 5; anything else in parentheses is a tuple.
    fn parentheses(&mut self, depth: usize) -> Result<Value, CallFault> {
        let (mut items, has_comma) = self.items(")", depth)?;
        match items.pop() {
            Some(only) if items.is_empty() && !has_comma => Ok(only),
            last => {
                items.extend(last);
                self.repairs.add(Repair::TupleAsList);
                Ok(Value::Array(items))
            }
        }
    }

    /// Reads a dictionary, or a set as an array.
    pub(crate) fn braces(&mut self, depth: usize, keys: KeyRule) -> Result<Value, CallFault> {
        let is_doubled = self.is_json && self.cursor.rest().starts_with("{{");
        self.open(depth)?;
        if is_doubled {
            let object = self.braces(depth + 1, keys)?;
            self.cursor.skip_space();
            if !self.cursor.eat("}") {
                return Err(self.fault(RejectionReason::MalformedSyntax));
            }
            self.repairs.add(Repair::DoubledBraces);
            return Ok(object);
        }
        self.cursor.skip_space();
        if self.cursor.eat("}") {
            return Ok(Value::Object(Arguments::new()));
        }
        let start = self.cursor.at;
        let first = self.value(depth + 1, ValuePosition::Nested)?;
        if self.cursor.peek() == Some(':') {
            self.entries(first, start, depth, keys).map(Value::Object)
        } else {
            self.set(first, depth).map(Value::Array)
        }
    }

    /// Reads the rest of a dictionary, after its first key.
    fn entries(&mut self, first: Value, start: usize, depth: usize, keys: KeyRule) -> Result<Arguments, CallFault> {
        let mut entries = Arguments::new();
        let (mut key, mut key_start) = (first, start);
        loop {
            if !self.cursor.eat(":") {
                return Err(self.fault(RejectionReason::MalformedSyntax));
            }
            let name = self.key(key, keys).map_err(|reason| CallFault::new(reason, key_start))?;
            if entries.contains_key(&name) {
                return Err(CallFault::new(RejectionReason::DuplicateArgument, key_start));
            }
            entries.insert(name, self.value(depth + 1, ValuePosition::Nested)?);
            if !self.comma_or("}")? || self.cursor.eat("}") {
                return Ok(entries);
            }
            key_start = self.cursor.at;
            key = self.value(depth + 1, ValuePosition::Nested)?;
        }
    }

    fn key(&mut self, key: Value, keys: KeyRule) -> Result<String, RejectionReason> {
        match key {
            Value::String(name) => Ok(name),
            _ if keys == KeyRule::Names => Err(RejectionReason::InvalidUnpacking),
            Value::Array(_) | Value::Object(_) => Err(RejectionReason::UnsupportedExpression),
            literal => {
                self.repairs.add(Repair::KeyAsString);
                Ok(literal.to_string())
            }
        }
    }

    /// Reads the rest of a set, after its first item.
    fn set(&mut self, first: Value, depth: usize) -> Result<Vec<Value>, CallFault> {
        self.repairs.add(Repair::SetAsList);
        let mut items = vec![first];
        while self.comma_or("}")? && !self.cursor.eat("}") {
            items.push(self.value(depth + 1, ValuePosition::Nested)?);
        }
        Ok(items)
    }

    /// Reads strings with whitespace between them as one. If they touch, the quote was probably meant as part of the text.
    fn strings(&mut self, position: ValuePosition) -> Result<String, CallFault> {
        let mut text = self.string(position)?;
        loop {
            let after = self.cursor;
            self.cursor.skip_space();
            if StringOpening::read(self.cursor.rest()).is_none() {
                self.cursor = after;
                return Ok(text);
            }
            if self.is_json || self.cursor.at == after.at {
                return Err(self.fault(RejectionReason::MalformedSyntax).about_quotes());
            }
            self.repairs.add(Repair::ImplicitConcat);
            let neighbour = self.string(position).map_err(|fault| match fault.reason {
                // It never ends: its quote may have been meant as part of the preceding string.
                RejectionReason::MalformedSyntax => fault.about_quotes(),
                _ => fault,
            });
            text.push_str(&neighbour?);
        }
    }

    fn string(&mut self, position: ValuePosition) -> Result<String, CallFault> {
        let Cursor { text, at: start } = self.cursor;
        let malformed = CallFault::new(RejectionReason::MalformedSyntax, start);
        let opening = StringOpening::read(self.cursor.rest()).ok_or(malformed)?;
        let from = start + opening.length;
        let close = match &mut self.closings {
            Some(closings) if !opening.style.is_triple => closings.choose(text, from, opening.style, position),
            _ => opening.style.closing(text, from),
        };
        let path_end = self.ends_with_backslash.then(|| opening.path_end(text, from, close)).flatten();
        if path_end.is_some() {
            self.repairs.add(Repair::PlainBackslashes);
        }
        let close = path_end.or(close).ok_or(malformed)?;
        let written = &text[from..close];
        if let Some(closings) = &mut self.closings
            && opening.style.closing(text, from) != Some(close)
        {
            self.repairs.add(Repair::InnerQuotes);
            closings.is_doubtful |= hides_more(written);
        }
        self.cursor.at = close + opening.style.length();
        opening.decode(written, self.is_json, &mut self.repairs).map_err(|reason| CallFault::new(reason, start))
    }

    /// Takes an opening bracket, if another one may be open.
    fn open(&mut self, depth: usize) -> Result<(), CallFault> {
        if depth >= self.max_depth {
            return Err(self.fault(RejectionReason::NestingTooDeep));
        }
        self.cursor.at += 1;
        Ok(())
    }

    /// Takes a comma or the closing bracket; returns whether it was a comma.
    pub(super) fn comma_or(&mut self, close: &str) -> Result<bool, CallFault> {
        let is_comma = self.cursor.eat(",");
        if !is_comma && !self.cursor.eat(close) {
            return Err(self.fault(RejectionReason::MalformedSyntax));
        }
        if is_comma {
            self.cursor.skip_space();
        }
        Ok(is_comma)
    }

    /// Checks that the next text may follow a value.
    fn expect_end(&mut self, is_string: bool) -> Result<(), CallFault> {
        let after = self.cursor.at;
        self.cursor.skip_space();
        let Some(next) = self.cursor.peek().filter(|next| !",)]}:".contains(*next)) else {
            return Ok(());
        };
        // While closing quotes are searched for, only the first fault counts, not its kind.
        let is_expression = self.closings.is_none() && expression::continues(self.cursor);
        let is_next_argument = after < self.cursor.at && starts_argument(self.cursor);
        let is_unsupported = is_expression || expression::is_operator(next) || starts_word(next);
        let reason = if is_unsupported && !is_next_argument {
            RejectionReason::UnsupportedExpression
        } else {
            RejectionReason::MalformedSyntax
        };
        let fault = self.fault(reason);
        Err(if is_string && !is_expression && !is_next_argument { fault.about_quotes() } else { fault })
    }

    pub(super) fn fault(&self, reason: RejectionReason) -> CallFault {
        CallFault::new(reason, self.cursor.at)
    }
}

/// The reason to reject a word that is not a literal.
fn word_fault(word: &str) -> RejectionReason {
    match word {
        "inf" | "nan" | "Infinity" | "NaN" => RejectionReason::NonFiniteNumber,
        _ => RejectionReason::UnsupportedExpression,
    }
}

/// Reads a text that is one literal.
pub(crate) fn read_literal(text: &str) -> Option<(Value, Repairs)> {
    let mut literals = Literals::new(Cursor { text, at: 0 }, MAX_DEPTH);
    let value = literals.value(0, ValuePosition::Nested).ok()?;
    literals.cursor.rest().is_empty().then_some((value, literals.repairs))
}
