//! Calls in JSON: `{"name": "get_weather", "arguments": {"city": "Oslo"}}`.

use crate::function::{Arguments, RejectionReason, Repair, SdkFunctionCall, Value};
use crate::notation::cursor::Cursor;
use crate::notation::fault::CallFault;
use crate::notation::json::reader::JsonReader;
use crate::notation::limits::MAX_DEPTH;
use crate::notation::list::{self, CallNotation, List};
use crate::notation::python::literal::{KeyRule, Literals};
use crate::notation::repairs::Repairs;

/// Objects around the arguments: the call, its `function`, and the arguments themselves.
const WRAPPERS: usize = 3;

/// Reads the calls between `from` and the end of `text`.
pub(crate) fn read(text: &str, from: usize) -> List {
    list::read(&mut JsonCalls::new(Cursor { text, at: from }))
}

/// Reads calls with `parameters`, and perhaps semicolons between calls.
pub(crate) fn read_with_parameters(text: &str, from: usize) -> List {
    list::read(&mut JsonCalls { has_parameters: true, ..JsonCalls::new(Cursor { text, at: from }) })
}

/// Reads the object that comes next, as JSON or as Python.
pub(crate) fn object_at(cursor: &mut Cursor<'_>, repairs: &mut Repairs) -> Result<Value, CallFault> {
    let mut calls = JsonCalls::new(*cursor);
    let (object, found) = calls.object()?;
    if is_deeper(&object, MAX_DEPTH + 1) {
        return Err(CallFault::new(RejectionReason::NestingTooDeep, cursor.at));
    }
    *cursor = calls.cursor;
    repairs.add_all(&found);
    Ok(object)
}

/// The arguments in the text of a single call, with numbers as strings, exactly as they are written.
pub(crate) fn lexemes(text: &str) -> Option<Arguments> {
    let max_depth = MAX_DEPTH + WRAPPERS;
    let mut json = JsonReader { keeps_lexemes: true, ..JsonReader::new(Cursor { text, at: 0 }, max_depth) };
    let object = json.value(0).ok().or_else(|| {
        let literals = Literals::new(Cursor { text, at: 0 }, max_depth);
        Literals { keeps_lexemes: true, is_json: true, ..literals }.braces(0, KeyRule::Any).ok()
    })?;
    to_call(object, &mut Repairs::default()).ok().map(|call| call.arguments)
}

/// The function name in the text of a call that could not be read: a `name` of the call itself or of its `function`, but
/// not an argument.
pub(crate) fn name_of(text: &str) -> Option<String> {
    let (mut depth, mut cursor) = (0, Cursor { text, at: 0 });
    let mut last_key = String::new();
    loop {
        cursor.eat_while(|character| !"{}[]\"".contains(character));
        match cursor.peek()? {
            '"' => {
                let mut json = JsonReader::new(cursor, 0);
                let key = json.string().ok()?;
                json.skip_space();
                let is_key = json.cursor.eat(":");
                cursor = json.cursor;
                if is_key && key == "name" && (depth == 1 || depth == 2 && last_key == "function") {
                    json.skip_space();
                    return json.string().ok().filter(|name| !name.is_empty());
                }
                if is_key && depth == 1 {
                    last_key = key;
                }
            }
            bracket => {
                cursor.at += 1;
                depth += if matches!(bracket, '{' | '[') { 1 } else { -1 };
            }
        }
    }
}

struct JsonCalls<'a> {
    cursor: Cursor<'a>,
    has_parameters: bool,
    /// Whether the last call was read, and has nothing that may belong to arguments closed too early.
    is_whole: bool,
    /// Whether white space around the calls was written as escapes.
    has_escaped_space: bool,
}

impl<'a> CallNotation<'a> for JsonCalls<'a> {
    fn cursor(&mut self) -> &mut Cursor<'a> {
        &mut self.cursor
    }

    fn skip_space(&mut self) {
        self.cursor.skip_space();
        while self.cursor.eat_escaped_space() {
            self.has_escaped_space = true;
        }
    }

    fn has_escaped_space(&self) -> bool {
        self.has_escaped_space
    }

    fn starts_call(&self, cursor: Cursor<'a>) -> bool {
        cursor.peek() == Some('{')
    }

    fn group_of(&self, cursor: Cursor<'a>) -> usize {
        cursor.at
    }

    fn call(&mut self) -> Result<SdkFunctionCall, CallFault> {
        let start = self.cursor.at;
        self.is_whole = false;
        let (object, mut repairs) = self.object()?;
        let is_whole = !has_strays(&object);
        let mut call = to_call(object, &mut repairs).map_err(|reason| CallFault::new(reason, start))?;
        call.repairs = repairs.into_sorted();
        call.repairs.retain(|repair| !self.has_parameters || *repair != Repair::AliasKey);
        self.is_whole = is_whole;
        Ok(call)
    }

    fn name_of(&self, raw_text: &str) -> Option<String> {
        name_of(raw_text)
    }

    fn separates(&self, next: char) -> bool {
        next == ',' || self.has_parameters && next == ';'
    }

    fn makes_expression(&self, _next: char) -> bool {
        false
    }

    fn stops_at_fault(&self) -> bool {
        false
    }

    fn may_have_surplus(&self) -> bool {
        self.is_whole
    }
}

impl<'a> JsonCalls<'a> {
    fn new(cursor: Cursor<'a>) -> Self {
        Self { cursor, has_parameters: false, is_whole: false, has_escaped_space: false }
    }

    /// Reads an object as JSON or, if that fails, as Python.
    fn object(&mut self) -> Result<(Value, Repairs), CallFault> {
        let max_depth = MAX_DEPTH + WRAPPERS;
        let mut json = JsonReader::new(self.cursor, max_depth);
        let fault = match json.value(0) {
            Ok(object) => {
                self.cursor = json.cursor;
                return Ok((object, json.repairs));
            }
            Err(fault) => fault,
        };
        if fault.reason != RejectionReason::MalformedSyntax {
            return Err(fault);
        }
        let mut with_paths = JsonReader { ends_with_backslash: true, ..JsonReader::new(self.cursor, max_depth) };
        if let Ok(object) = with_paths.value(0) {
            self.cursor = with_paths.cursor;
            return Ok((object, with_paths.repairs));
        }
        let mut literals = Literals { is_json: true, ..Literals::new(self.cursor, max_depth) };
        literals.repairs.add(Repair::PythonLiterals);
        match literals.braces(0, KeyRule::Any) {
            Ok(object) => {
                self.cursor = literals.cursor;
                Ok((object, literals.repairs))
            }
            Err(python_fault) => Err(more_specific(fault, python_fault)),
        }
    }
}

/// The fault to report for text that is neither JSON nor Python.
fn more_specific(json: CallFault, python: CallFault) -> CallFault {
    match python.reason {
        RejectionReason::UnsupportedExpression | RejectionReason::MalformedSyntax => json,
        _ => python,
    }
}

fn to_call(object: Value, repairs: &mut Repairs) -> Result<SdkFunctionCall, RejectionReason> {
    let Value::Object(mut outer) = object else {
        return Err(RejectionReason::MalformedSyntax);
    };
    let has_name = outer.contains_key("name");
    let (mut call, outer_id) = match outer.get_mut("function") {
        Some(Value::Object(inner)) if !has_name => (std::mem::take(inner), outer.shift_remove("id")),
        _ => (outer, None),
    };
    let name = match call.shift_remove("name") {
        Some(Value::String(name)) if !name.is_empty() => name,
        _ => return Err(RejectionReason::MissingName),
    };
    // If the arguments stand beside the name, an id may be one of them.
    let has_arguments = ["arguments", "parameters"].iter().any(|key| call.contains_key(*key));
    let inner_id = if has_arguments { call.shift_remove("id") } else { None };
    let call_id = match outer_id.or(inner_id) {
        Some(Value::String(id)) => id,
        _ => String::new(), // numbered later
    };
    let arguments = to_arguments(&mut call, repairs)?;
    Ok(SdkFunctionCall { name, arguments, call_id, ..SdkFunctionCall::default() })
}

/// Whether members that mean nothing stand beside the arguments.
fn has_strays(call: &Value) -> bool {
    const KNOWN: [&str; 5] = ["name", "arguments", "parameters", "id", "type"];
    let Value::Object(members) = call else { return false };
    let has_arguments = ["arguments", "parameters"].iter().any(|key| members.contains_key(*key));
    has_arguments && members.keys().any(|key| !KNOWN.contains(&key.as_str()))
        || members.get("function").is_some_and(has_strays)
}

fn to_arguments(call: &mut Arguments, repairs: &mut Repairs) -> Result<Arguments, RejectionReason> {
    let mut given = call.shift_remove("arguments").unwrap_or(Value::Null);
    if given == Value::Null
        && let Some(alias) = call.shift_remove("parameters")
    {
        repairs.add(Repair::AliasKey);
        given = alias;
    }
    if let Value::String(text) = &given {
        given = decode(text, repairs)?;
    }
    if matches!(&given, Value::Array(items) if items.is_empty()) {
        repairs.add(Repair::MissingArguments);
        return Ok(Arguments::new());
    }
    if given == Value::Null {
        if call.get("type") == Some(&Value::from("function")) {
            call.shift_remove("type");
        }
        let repair = if call.is_empty() { Repair::MissingArguments } else { Repair::ArgumentsBesideName };
        repairs.add(repair);
        given = Value::Object(std::mem::take(call));
    }
    match given {
        Value::Object(arguments) if arguments.values().any(|value| is_deeper(value, MAX_DEPTH)) => {
            Err(RejectionReason::NestingTooDeep)
        }
        Value::Object(arguments) => Ok(arguments),
        _ => Err(RejectionReason::ArgumentsNotObject),
    }
}

/// Reads arguments that were given as a string of JSON. A function without parameters is called with an empty string, too.
fn decode(text: &str, repairs: &mut Repairs) -> Result<Value, RejectionReason> {
    if matches!(text.trim(), "" | "null" | "[]") {
        repairs.add(Repair::ArgumentsDecoded);
        return Ok(Value::Object(Arguments::new()));
    }
    let mut json = JsonReader::new(Cursor { text, at: 0 }, MAX_DEPTH + 1);
    let value = match json.value(0) {
        Ok(object @ Value::Object(_)) => object,
        Err(CallFault { reason, .. }) if reason != RejectionReason::MalformedSyntax => return Err(reason),
        _ => return Err(RejectionReason::ArgumentsNotObject),
    };
    json.skip_space();
    if !json.cursor.rest().is_empty() {
        return Err(RejectionReason::ArgumentsNotObject);
    }
    repairs.add(Repair::ArgumentsDecoded);
    repairs.add_all(&json.repairs);
    Ok(value)
}

/// Whether more than `depth` brackets are open at once in a value.
fn is_deeper(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) if depth == 0 => true,
        Value::Array(items) => items.iter().any(|item| is_deeper(item, depth - 1)),
        Value::Object(entries) => entries.values().any(|entry| is_deeper(entry, depth - 1)),
        _ => false,
    }
}
