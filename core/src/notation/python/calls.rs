//! Reads lists of Python calls.

use crate::function::{Arguments, RejectionReason, Repair, SdkFunctionCall, Value};
use crate::notation::cursor::{Cursor, starts_word};
use crate::notation::fault::CallFault;
use crate::notation::limits::MAX_DEPTH;
use crate::notation::list::{self, CallNotation, List};
use crate::notation::offered::OfferedFunctions;
use crate::notation::python::closings::{Closings, ValuePosition, starts_argument};
use crate::notation::python::expression::is_operator;
use crate::notation::python::literal::{KeyRule, Literals};
use crate::notation::repairs::Repairs;

/// What separates calls besides commas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallSeparator {
    Comma,
    /// The end of a line, or a semicolon.
    Line,
}

/// Reads the calls between `from` and the end of `text`.
pub(super) fn read(text: &str, from: usize, offered: &OfferedFunctions, separator: CallSeparator) -> List {
    let literals = Literals::new(Cursor { text, at: from }, MAX_DEPTH);
    list::read(&mut PythonCalls { literals, offered: Some(offered), separator })
}

/// Reads the calls like [`read`], if paths that end with a backslash are all that is wrong with them.
pub(super) fn read_paths(
    text: &str,
    from: usize,
    offered: &OfferedFunctions,
    separator: CallSeparator,
) -> Option<List> {
    let literals = Literals::new(Cursor { text, at: from }, MAX_DEPTH);
    let literals = Literals { ends_with_backslash: true, ..literals };
    let list = list::read(&mut PythonCalls { literals, offered: Some(offered), separator });
    list.is_sound().then_some(list)
}

/// The arguments in the text of a single call, with numbers as strings, exactly as they are written.
pub(crate) fn lexemes(text: &str) -> Option<Arguments> {
    let literals = Literals::new(Cursor { text, at: 0 }, MAX_DEPTH);
    let literals = Literals { keeps_lexemes: true, ..literals };
    let mut calls = PythonCalls { literals, offered: None, separator: CallSeparator::Comma };
    let start = calls.literals.cursor;
    calls.starts_call(start).then(|| calls.call().ok()).flatten().map(|call| call.arguments)
}

/// Reads calls with the closing quotes that `closings` chooses; also returns the position that was reached.
pub(super) fn read_with(
    text: &str,
    from: usize,
    offered: &OfferedFunctions,
    separator: CallSeparator,
    closings: &mut Closings,
) -> (List, usize) {
    let literals = Literals { closings: Some(closings), ..Literals::new(Cursor { text, at: from }, MAX_DEPTH) };
    let mut calls = PythonCalls { literals, offered: Some(offered), separator };
    let list = list::read(&mut calls);
    (list, calls.literals.cursor.at)
}

/// The name of the call that starts the text.
pub(super) fn name_of(text: &str, offered: &OfferedFunctions) -> Option<String> {
    let name = call_name(&mut Cursor { text, at: 0 }, Some(offered));
    (!name.is_empty()).then(|| name.to_owned())
}

/// Reads the name of a function: one that Python can write, perhaps with hyphens, or any of an offered function. Without
/// offered functions, it may be any valid name.
fn call_name<'a>(cursor: &mut Cursor<'a>, offered: Option<&OfferedFunctions>) -> &'a str {
    let mut plain = *cursor;
    let name = plain.name();
    let written = cursor.eat_while(|character| character.is_ascii_alphanumeric() || "_-.".contains(character));
    if name.len() < written.len() && offered.is_none_or(|offered| offered.named(written).is_some()) {
        return written;
    }
    *cursor = plain;
    name
}

/// Whether calls can use this text as the name of an argument.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && Cursor { text, at: 0 }.name() == text
}

struct PythonCalls<'a, 'c, 'o> {
    literals: Literals<'a, 'c>,
    offered: Option<&'o OfferedFunctions>,
    separator: CallSeparator,
}

impl<'a> CallNotation<'a> for PythonCalls<'a, '_, '_> {
    fn cursor(&mut self) -> &mut Cursor<'a> {
        &mut self.literals.cursor
    }

    fn skip_space(&mut self) {
        self.literals.cursor.skip_space();
        while self.separator == CallSeparator::Line && self.literals.cursor.eat("#") {
            self.literals.cursor.eat_while(|character| character != '\n');
            self.literals.cursor.skip_space();
        }
    }

    fn starts_call(&self, mut cursor: Cursor<'a>) -> bool {
        let name = call_name(&mut cursor, self.offered);
        cursor.skip_space();
        !name.is_empty() && cursor.peek() == Some('(')
    }

    fn group_of(&self, mut cursor: Cursor<'a>) -> usize {
        call_name(&mut cursor, self.offered);
        cursor.skip_space();
        cursor.at
    }

    fn call(&mut self) -> Result<SdkFunctionCall, CallFault> {
        self.literals.repairs = Repairs::default();
        let name = call_name(&mut self.literals.cursor, self.offered).to_owned();
        let arguments = self.arguments()?;
        let repairs = std::mem::take(&mut self.literals.repairs).into_sorted();
        Ok(SdkFunctionCall { name, arguments, repairs, ..SdkFunctionCall::default() })
    }

    fn name_of(&self, raw_text: &str) -> Option<String> {
        let name = call_name(&mut Cursor { text: raw_text, at: 0 }, self.offered);
        (!name.is_empty()).then(|| name.to_owned())
    }

    fn separates(&self, next: char) -> bool {
        next == ',' || next == ';' && self.separator == CallSeparator::Line
    }

    fn makes_expression(&self, next: char) -> bool {
        is_operator(next)
    }

    fn stops_at_fault(&self) -> bool {
        self.literals.closings.is_some()
    }
}

impl PythonCalls<'_, '_, '_> {
    fn arguments(&mut self) -> Result<Arguments, CallFault> {
        let mut arguments = Arguments::new();
        self.literals.cursor.skip_space();
        self.literals.cursor.eat("(");
        self.literals.cursor.skip_space();
        while !self.literals.cursor.eat(")") {
            self.argument(&mut arguments)?;
            self.literals.cursor.skip_space();
            if !self.literals.comma_or(")")? {
                break;
            }
        }
        Ok(arguments)
    }

    fn argument(&mut self, arguments: &mut Arguments) -> Result<(), CallFault> {
        let start = self.literals.cursor;
        if self.literals.cursor.eat("**") {
            return self.unpacked(arguments);
        }
        if !starts_argument(start) {
            return Err(CallFault::new(unnamed_fault(start), start.at));
        }
        let name = self.literals.cursor.name();
        if arguments.contains_key(name) {
            return Err(CallFault::new(RejectionReason::DuplicateArgument, start.at));
        }
        self.literals.cursor.skip_space();
        self.literals.cursor.eat("=");
        arguments.insert(name.to_owned(), self.literals.value(0, ValuePosition::Argument)?);
        Ok(())
    }

    /// Merges the dictionary after `**`.
    fn unpacked(&mut self, arguments: &mut Arguments) -> Result<(), CallFault> {
        self.literals.cursor.skip_space();
        let invalid = self.literals.fault(RejectionReason::InvalidUnpacking);
        if self.literals.cursor.peek() != Some('{') {
            return Err(invalid);
        }
        let Value::Object(entries) = self.literals.braces(0, KeyRule::Names)? else {
            return Err(invalid);
        };
        for (name, value) in entries {
            if arguments.insert(name, value).is_some() {
                return Err(CallFault { reason: RejectionReason::DuplicateArgument, ..invalid });
            }
        }
        self.literals.repairs.add(Repair::KwargsUnpacked);
        Ok(())
    }
}

/// What is wrong with an argument that does not start with `name=`.
fn unnamed_fault(mut cursor: Cursor<'_>) -> RejectionReason {
    match cursor.peek() {
        Some('*') => RejectionReason::InvalidUnpacking,
        Some('\'' | '"' | '0'..='9' | '+' | '-' | '.' | '(' | '[' | '{') => RejectionReason::PositionalArgument,
        Some(first) if starts_word(first) => {
            cursor.name();
            cursor.skip_space();
            match cursor.peek() {
                Some(':') => RejectionReason::MalformedSyntax,
                _ => RejectionReason::PositionalArgument,
            }
        }
        _ => RejectionReason::MalformedSyntax,
    }
}
