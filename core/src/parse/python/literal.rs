//! Literals of Python: what an argument may be. JSON's spellings are understood among them.

use crate::function::{Arguments, RejectionReason, Repair, Value};
use crate::parse::cursor::{Cursor, starts_word};
use crate::parse::fault::Fault;
use crate::parse::python::quotes::{self, Closings, starts_argument};
use crate::parse::python::string::{self, Opening};
use crate::parse::python::{expression, number};
use crate::parse::repairs::Repairs;

/// Where a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::parse) enum Place {
    /// Behind `name=`.
    Argument,
    /// In a list or a dictionary.
    Inside,
}

/// What the keys of a dictionary may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::parse) enum Keys {
    /// Strings, or literals that become strings.
    Any,
    /// Strings only, as they are to be names of arguments.
    Names,
}

/// Reads literals.
pub(in crate::parse) struct Literals<'a, 'c> {
    pub(in crate::parse) cursor: Cursor<'a>,
    pub(in crate::parse) repairs: Repairs,
    /// How many brackets may be open at once.
    pub(in crate::parse) deepest: usize,
    /// Whether numbers are texts, as they are written.
    pub(in crate::parse) keeps_lexemes: bool,
    /// Whether they stand where JSON was to stand, which knows no strings side by side, and `\\/`.
    pub(in crate::parse) is_json: bool,
    /// Set when the closing quotes of strings are tried out.
    pub(in crate::parse) closings: Option<&'c mut Closings>,
}

impl<'a> Literals<'a, '_> {
    pub(in crate::parse) fn new(cursor: Cursor<'a>, deepest: usize) -> Self {
        Self { cursor, repairs: Repairs::default(), deepest, keeps_lexemes: false, is_json: false, closings: None }
    }

    /// Reads a value, and makes sure that it ends there.
    pub(in crate::parse) fn value(&mut self, depth: usize, place: Place) -> Result<Value, Fault> {
        self.cursor.skip_space();
        let value = self.operand(depth, place)?;
        self.expect_end(matches!(value, Value::String(_)))?;
        Ok(value)
    }

    fn operand(&mut self, depth: usize, place: Place) -> Result<Value, Fault> {
        if Opening::read(self.cursor.rest()).is_some() {
            return self.strings(place).map(Value::String);
        }
        match self.cursor.peek() {
            Some('[') => self.items("]", depth).map(|(items, _)| Value::Array(items)),
            Some('(') => self.parentheses(depth),
            Some('{') => self.braces(depth, Keys::Any),
            Some('0'..='9' | '+' | '-' | '.') => self.number(),
            Some(first) if starts_word(first) => self.constant(),
            Some(first) if expression::is_operator(first) => Err(self.fault(RejectionReason::UnsupportedExpression)),
            _ => Err(self.fault(RejectionReason::MalformedSyntax)),
        }
    }

    fn constant(&mut self) -> Result<Value, Fault> {
        let start = self.cursor.at;
        match self.cursor.word() {
            "True" | "true" => Ok(Value::Bool(true)),
            "False" | "false" => Ok(Value::Bool(false)),
            "None" | "null" => Ok(Value::Null),
            word => Err(Fault::new(word_fault(word), start)),
        }
    }

    fn number(&mut self) -> Result<Value, Fault> {
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
        Err(Fault::new(reason, start))
    }

    /// Reads items up to the closing bracket, and tells whether a comma stood among them.
    fn items(&mut self, close: &str, depth: usize) -> Result<(Vec<Value>, bool), Fault> {
        self.open(depth)?;
        let (mut items, mut has_comma) = (Vec::new(), false);
        loop {
            self.cursor.skip_space();
            if self.cursor.eat(close) {
                return Ok((items, has_comma));
            }
            items.push(self.value(depth + 1, Place::Inside)?);
            if !self.comma_or(close)? {
                return Ok((items, has_comma));
            }
            has_comma = true;
        }
    }

    /// `(5)` is 5; anything else in parentheses is a tuple.
    fn parentheses(&mut self, depth: usize) -> Result<Value, Fault> {
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

    /// Reads a dictionary, or a set as a list.
    pub(in crate::parse) fn braces(&mut self, depth: usize, keys: Keys) -> Result<Value, Fault> {
        self.open(depth)?;
        self.cursor.skip_space();
        if self.cursor.eat("}") {
            return Ok(Value::Object(Arguments::new()));
        }
        let start = self.cursor.at;
        let first = self.value(depth + 1, Place::Inside)?;
        if self.cursor.peek() == Some(':') {
            self.entries(first, start, depth, keys).map(Value::Object)
        } else {
            self.set(first, depth).map(Value::Array)
        }
    }

    /// The rest of a dictionary, from behind its first key.
    fn entries(&mut self, first: Value, start: usize, depth: usize, keys: Keys) -> Result<Arguments, Fault> {
        let mut entries = Arguments::new();
        let (mut key, mut key_start) = (first, start);
        loop {
            if !self.cursor.eat(":") {
                return Err(self.fault(RejectionReason::MalformedSyntax));
            }
            let name = self.key(key, keys).map_err(|reason| Fault::new(reason, key_start))?;
            if entries.contains_key(&name) {
                return Err(Fault::new(RejectionReason::DuplicateArgument, key_start));
            }
            entries.insert(name, self.value(depth + 1, Place::Inside)?);
            if !self.comma_or("}")? || self.cursor.eat("}") {
                return Ok(entries);
            }
            key_start = self.cursor.at;
            key = self.value(depth + 1, Place::Inside)?;
        }
    }

    fn key(&mut self, key: Value, keys: Keys) -> Result<String, RejectionReason> {
        match key {
            Value::String(name) => Ok(name),
            _ if keys == Keys::Names => Err(RejectionReason::InvalidUnpacking),
            Value::Array(_) | Value::Object(_) => Err(RejectionReason::UnsupportedExpression),
            literal => {
                self.repairs.add(Repair::KeyAsString);
                Ok(literal.to_string())
            }
        }
    }

    /// The rest of a set, from behind its first item.
    fn set(&mut self, first: Value, depth: usize) -> Result<Vec<Value>, Fault> {
        self.repairs.add(Repair::SetAsList);
        let mut items = vec![first];
        while self.comma_or("}")? && !self.cursor.eat("}") {
            items.push(self.value(depth + 1, Place::Inside)?);
        }
        Ok(items)
    }

    /// Reads strings with space between them as one. Where they touch, a quote was rather meant as part of the text.
    fn strings(&mut self, place: Place) -> Result<String, Fault> {
        let mut text = self.string(place)?;
        loop {
            let behind = self.cursor;
            self.cursor.skip_space();
            if Opening::read(self.cursor.rest()).is_none() {
                self.cursor = behind;
                return Ok(text);
            }
            if self.is_json || self.cursor.at == behind.at {
                return Err(self.fault(RejectionReason::MalformedSyntax).about_quotes());
            }
            self.repairs.add(Repair::ImplicitConcat);
            let neighbour = self.string(place).map_err(|fault| match fault.reason {
                // It never ends: its quote may have been meant as part of the string before.
                RejectionReason::MalformedSyntax => fault.about_quotes(),
                _ => fault,
            });
            text.push_str(&neighbour?);
        }
    }

    fn string(&mut self, place: Place) -> Result<String, Fault> {
        let Cursor { text, at: start } = self.cursor;
        let malformed = Fault::new(RejectionReason::MalformedSyntax, start);
        let opening = Opening::read(self.cursor.rest()).ok_or(malformed)?;
        let from = start + opening.length;
        let close = match &mut self.closings {
            Some(closings) if !opening.is_triple => closings.choose(text, from, opening.quote, place),
            _ => string::closing(text, from, opening.quote, opening.is_triple),
        };
        let close = close.ok_or(malformed)?;
        let written = &text[from..close];
        if let Some(closings) = &mut self.closings
            && string::closing(text, from, opening.quote, opening.is_triple) != Some(close)
        {
            self.repairs.add(Repair::InnerQuotes);
            closings.is_doubtful |= quotes::hides_more(written);
        }
        self.cursor.at = close + opening.closing_length();
        opening.decode(written, self.is_json, &mut self.repairs).map_err(|reason| Fault::new(reason, start))
    }

    /// Takes an opening bracket, if one more may be open.
    fn open(&mut self, depth: usize) -> Result<(), Fault> {
        if depth >= self.deepest {
            return Err(self.fault(RejectionReason::NestingTooDeep));
        }
        self.cursor.at += 1;
        Ok(())
    }

    /// Takes a comma, and says so, or the closing bracket.
    pub(super) fn comma_or(&mut self, close: &str) -> Result<bool, Fault> {
        let is_comma = self.cursor.eat(",");
        if !is_comma && !self.cursor.eat(close) {
            return Err(self.fault(RejectionReason::MalformedSyntax));
        }
        if is_comma {
            self.cursor.skip_space();
        }
        Ok(is_comma)
    }

    /// Makes sure that what follows a value can follow one.
    fn expect_end(&mut self, is_string: bool) -> Result<(), Fault> {
        let behind = self.cursor.at;
        self.cursor.skip_space();
        let Some(next) = self.cursor.peek().filter(|next| !",)]}:".contains(*next)) else {
            return Ok(());
        };
        // While quotes are tried out, only the first fault counts, not its kind.
        let is_expression = self.closings.is_none() && expression::continues(self.cursor);
        let is_next_argument = behind < self.cursor.at && starts_argument(self.cursor);
        let is_unsupported = is_expression || expression::is_operator(next) || starts_word(next);
        let reason = if is_unsupported && !is_next_argument {
            RejectionReason::UnsupportedExpression
        } else {
            RejectionReason::MalformedSyntax
        };
        let fault = self.fault(reason);
        Err(if is_string && !is_expression && !is_next_argument { fault.about_quotes() } else { fault })
    }

    pub(super) fn fault(&self, reason: RejectionReason) -> Fault {
        Fault::new(reason, self.cursor.at)
    }
}

/// What is wrong with a word that is no literal.
fn word_fault(word: &str) -> RejectionReason {
    match word {
        "inf" | "nan" | "Infinity" | "NaN" => RejectionReason::NonFiniteNumber,
        _ => RejectionReason::UnsupportedExpression,
    }
}
