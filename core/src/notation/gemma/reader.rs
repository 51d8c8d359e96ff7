//! Reads the calls of a block.

use crate::function::{Arguments, RejectionReason, Repair, SdkFunctionCall, Value};
use crate::notation::block_text::BlockText;
use crate::notation::cursor::Cursor;
use crate::notation::definition::CallBody;
use crate::notation::fault::CallFault;
use crate::notation::gemma::tokens::STRING_TOKENS;
use crate::notation::json::reader as json;
use crate::notation::limits::{MAX_CALLS, MAX_DEPTH};
use crate::notation::list::{List, ListItem};
use crate::notation::python::literal::read_literal;
use crate::notation::python::number;
use crate::notation::quoted::QuoteStyle;
use crate::notation::repairs::Repairs;

const CALL: &str = "call:";
/// What ends a bare word.
const PUNCTUATION: &str = ",:{}[]";

/// Reads the calls of a block.
pub(super) fn read(body: CallBody<'_>) -> List {
    let cursor = Cursor { text: body.block.text, at: body.from };
    let list = List { is_balanced: true, ..List::default() };
    let mut reader = GemmaReader { cursor, block: body.block, list, repairs: Repairs::default() };
    reader.read_all();
    reader.list.with_several()
}

/// The name of the first call in a text.
pub(super) fn name_of(text: &str) -> Option<String> {
    let (name, _) = text.trim_start().strip_prefix(CALL)?.split_once('{')?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

struct GemmaReader<'a> {
    cursor: Cursor<'a>,
    block: BlockText<'a>,
    list: List,
    repairs: Repairs,
}

impl<'a> GemmaReader<'a> {
    fn read_all(&mut self) {
        while self.list.is_balanced && self.list.items.len() <= MAX_CALLS {
            let after_items = self.cursor.at;
            self.cursor.skip_space();
            let rest = self.cursor.rest();
            if rest.is_empty() {
                return;
            }
            if !self.list.items.is_empty() && !rest.starts_with(CALL) {
                self.list.trailing = Some(after_items);
                return;
            }
            self.item();
        }
    }

    fn item(&mut self) {
        let start = self.cursor.at;
        let mut name = None;
        self.repairs = Repairs::default();
        let call = self.call(&mut name);
        if call.is_err() {
            self.skip_call(start);
        }
        let span = start..self.cursor.at;
        let raw_text = self.cursor.text[span.clone()].to_owned();
        let call = call.map(|call| SdkFunctionCall { raw_text, ..call });
        self.list.items.push(ListItem { span, name, call });
    }

    fn call(&mut self, named: &mut Option<String>) -> Result<SdkFunctionCall, CallFault> {
        if !self.cursor.eat(CALL) {
            return Err(self.fault(RejectionReason::MalformedSyntax));
        }
        let start = self.cursor.at;
        let name = self.cursor.eat_while(|character| character != '{').trim();
        if self.cursor.rest().is_empty() {
            return Err(self.cut());
        }
        if name.is_empty() {
            return Err(CallFault::new(RejectionReason::MissingName, start));
        }
        if name.contains(char::is_whitespace) || self.block.next_control(start).is_some_and(|at| at < self.cursor.at) {
            return Err(CallFault::new(RejectionReason::MalformedSyntax, start));
        }
        *named = Some(name.to_owned());
        let arguments = self.object(0)?;
        let repairs = std::mem::take(&mut self.repairs).into_sorted();
        Ok(SdkFunctionCall { name: name.to_owned(), arguments, repairs, ..SdkFunctionCall::default() })
    }

    fn value(&mut self, depth: usize) -> Result<Value, CallFault> {
        self.cursor.skip_space();
        if let Some(string) = self.string()? {
            return Ok(Value::String(string));
        }
        match self.cursor.peek() {
            Some('{') => self.object(depth).map(Value::Object),
            Some('[') => self.array(depth).map(Value::Array),
            _ => self.bare(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Arguments, CallFault> {
        let mut entries = Arguments::new();
        self.open(depth)?;
        while !self.closes("}")? {
            let start = self.cursor.at;
            let key = self.key()?;
            self.cursor.skip_space();
            if !self.cursor.eat(":") {
                return Err(self.unexpected());
            }
            if entries.contains_key(&key) {
                return Err(CallFault::new(RejectionReason::DuplicateArgument, start));
            }
            entries.insert(key, self.value(depth + 1)?);
            self.expect_comma_or("}")?;
        }
        Ok(entries)
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Value>, CallFault> {
        let mut items = Vec::new();
        self.open(depth)?;
        while !self.closes("]")? {
            items.push(self.value(depth + 1)?);
            self.expect_comma_or("]")?;
        }
        Ok(items)
    }

    fn open(&mut self, depth: usize) -> Result<(), CallFault> {
        if depth >= MAX_DEPTH {
            return Err(self.fault(RejectionReason::NestingTooDeep));
        }
        self.cursor.at += 1;
        Ok(())
    }

    /// Takes a closing bracket, if it comes next.
    fn closes(&mut self, close: &str) -> Result<bool, CallFault> {
        self.cursor.skip_space();
        if self.cursor.rest().is_empty() { Err(self.cut()) } else { Ok(self.cursor.eat(close)) }
    }

    /// Takes a comma, unless the closing bracket comes next.
    fn expect_comma_or(&mut self, close: &str) -> Result<(), CallFault> {
        self.cursor.skip_space();
        let is_next = self.cursor.rest().starts_with(close) || self.cursor.eat(",");
        if is_next { Ok(()) } else { Err(self.unexpected()) }
    }

    fn key(&mut self) -> Result<String, CallFault> {
        if let Some(key) = self.string()? {
            return Ok(key);
        }
        let key = self.word();
        if key.is_empty() { Err(self.unexpected()) } else { Ok(key.to_owned()) }
    }

    /// Reads a string between string tokens, or in quotes; `None` if something else comes next.
    fn string(&mut self) -> Result<Option<String>, CallFault> {
        if let Some(length) = self.string_token() {
            let from = self.cursor.at + length;
            let end = self.block.next_control(from).ok_or_else(|| self.cut())?;
            self.cursor.at = end;
            self.cursor.at += self.string_token().unwrap_or(0);
            return Ok(Some(self.cursor.text[from..end].to_owned()));
        }
        match self.cursor.peek() {
            Some('\'') => Ok(self.single_quoted()),
            Some('`') => Ok(self.in_backticks()),
            Some('"') => {
                self.repairs.add(Repair::StringDelimiters);
                json::string_at(&mut self.cursor).map(Some).ok_or_else(|| self.unexpected())
            }
            _ => Ok(None),
        }
    }

    /// Reads a string between backticks, one or three on each side; `None` for a word that begins with one. It has no escapes.
    fn in_backticks(&mut self) -> Option<String> {
        let rest = self.cursor.rest();
        let limit = self.block.next_control(self.cursor.at).map_or(rest.len(), |at| at - self.cursor.at);
        let delimiter = if rest.starts_with("```") { "```" } else { "`" };
        let length = rest[delimiter.len()..limit].find(delimiter)?;
        crate::notation::work::count(length + 1);
        let string = &rest[delimiter.len()..][..length];
        let end = length + 2 * delimiter.len();
        if !ends_value(&rest[end..]) {
            return None;
        }
        self.cursor.at += end;
        self.repairs.add(Repair::StringDelimiters);
        Some(string.to_owned())
    }

    /// Reads a string in single quotes; `None` for a word that begins with an apostrophe.
    fn single_quoted(&mut self) -> Option<String> {
        let rest = self.cursor.rest();
        let end = QuoteStyle::single(rest)?.end(rest, 0)?;
        let (value, repairs) = read_literal(&rest[..end]).filter(|_| ends_value(&rest[end..]))?;
        self.cursor.at += end;
        self.repairs.add_all(&repairs);
        self.repairs.add(Repair::StringDelimiters);
        value.as_str().map(str::to_owned)
    }

    /// The length of the string token that comes next.
    fn string_token(&self) -> Option<usize> {
        let is_control = self.block.has_control(self.cursor.at);
        let token = STRING_TOKENS.into_iter().find(|token| is_control && self.cursor.rest().starts_with(token));
        token.map(str::len)
    }

    /// Reads a number, a constant, or a word that should have been a string.
    fn bare(&mut self) -> Result<Value, CallFault> {
        let start = self.cursor.at;
        let word = self.word();
        match word {
            "" => return Err(self.unexpected()),
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "null" => return Ok(Value::Null),
            _ => {}
        }
        if let "True" | "False" | "None" = word {
            self.repairs.add(Repair::PythonLiterals);
            return Ok(if word == "None" { Value::Null } else { Value::Bool(word == "True") });
        }
        if word.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) {
            let mut repairs = Repairs::default();
            match number::read(word, &mut repairs) {
                Ok(number) => {
                    self.repairs.add_all(&repairs);
                    return Ok(number);
                }
                Err(RejectionReason::MalformedSyntax | RejectionReason::UnsupportedExpression) => {}
                Err(reason) => return Err(CallFault::new(reason, start)),
            }
        }
        self.repairs.add(Repair::StringDelimiters);
        Ok(Value::from(word))
    }

    /// Takes text up to punctuation or a string token, without the space around it.
    fn word(&mut self) -> &'a str {
        let rest = self.cursor.rest();
        let limit = self.block.next_control(self.cursor.at).map_or(rest.len(), |at| at - self.cursor.at);
        let end = rest[..limit].find(|character| PUNCTUATION.contains(character)).unwrap_or(limit);
        crate::notation::work::count(end + 1);
        self.cursor.at += end;
        rest[..end].trim()
    }

    /// Goes to the end of a call that could not be read: after the bracket that closes its first one.
    fn skip_call(&mut self, start: usize) {
        let text = self.cursor.text;
        let mut depth = 0;
        let mut at = start;
        while let Some(&byte) = text.as_bytes().get(at) {
            crate::notation::work::count(1);
            if self.block.has_control(at) {
                let Some(end) = self.block.next_control(at + 1) else { break };
                at = end;
            }
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 1 => {
                    self.cursor.at = at + 1;
                    return;
                }
                b'}' | b']' if depth > 0 => depth -= 1,
                _ => {}
            }
            at += 1;
        }
        self.list.is_balanced = depth == 0 && self.list.is_balanced;
        self.cursor.at = text.len();
    }

    /// The fault of a text that ends, or that goes on in an unexpected way.
    fn unexpected(&mut self) -> CallFault {
        if self.cursor.rest().is_empty() { self.cut() } else { self.fault(RejectionReason::MalformedSyntax) }
    }

    fn cut(&mut self) -> CallFault {
        self.list.is_balanced = false;
        self.fault(RejectionReason::IncompleteBlock)
    }

    fn fault(&self, reason: RejectionReason) -> CallFault {
        CallFault::new(reason, self.cursor.at)
    }
}

/// Whether a text that follows a string begins with what may follow a value or a key.
fn ends_value(after: &str) -> bool {
    after.trim_start().starts_with([',', ':', '}', ']'])
}
