//! Reads the calls of a block.

use crate::function::{Arguments, RejectionReason, Repair, SdkFunctionCall, Value};
use crate::notation::brackets::{Skipped, skip_group};
use crate::notation::cursor::Cursor;
use crate::notation::definition::CallBody;
use crate::notation::fault::CallFault;
use crate::notation::json;
use crate::notation::list::{List, ListItem, only_closes};
use crate::notation::mistral::tokens::{ARGUMENTS, CALL_ID};
use crate::notation::repairs::Repairs;

/// What models write in place of the arguments of a function without parameters.
const NO_ARGUMENTS: [&str; 3] = ["null", "\"\"", "[]"];

/// Reads the calls between `from` and the end of `text`.
pub(super) fn read(body: CallBody<'_>) -> List {
    let (text, from) = (body.block.text, body.from);
    let mut cursor = Cursor { text, at: from };
    cursor.skip_space();
    if cursor.rest().starts_with(['[', '{']) && ![CALL_ID, ARGUMENTS].iter().any(|tag| cursor.rest().starts_with(tag)) {
        return json::read(text, from);
    }
    let start = cursor.at;
    let name = cursor.eat_while(|character| !"[{".contains(character)).trim();
    let call = call(&mut cursor, name, start);
    let mut list = List { is_balanced: true, ..List::default() };
    if call.is_err() {
        let Skipped { end, is_balanced, .. } = skip_group(text, cursor.at);
        let is_group = cursor.rest().starts_with('{');
        list.is_balanced = if is_group { is_balanced } else { !cursor.rest().is_empty() };
        cursor.at = if is_group && is_balanced { end } else { text.len() };
    }
    let span = start..cursor.at;
    let raw_text = text[span.clone()].to_owned();
    let call = call.map(|call| SdkFunctionCall { raw_text, ..call });
    list.items.push(ListItem { span, name: (!name.is_empty()).then(|| name.to_owned()), call });
    list.has_surplus = list.is_sound() && only_closes(cursor.rest());
    list.trailing = (!list.has_surplus && !cursor.rest().trim().is_empty()).then_some(cursor.at);
    list
}

fn call(cursor: &mut Cursor<'_>, name: &str, start: usize) -> Result<SdkFunctionCall, CallFault> {
    let mut repairs = Repairs::default();
    let call_id = if cursor.eat(CALL_ID) { cursor.eat_while(|character| !"[{".contains(character)).trim() } else { "" };
    if !cursor.eat(ARGUMENTS) {
        repairs.add(Repair::MissingTag);
    }
    cursor.skip_space();
    if cursor.rest().is_empty() {
        return Err(CallFault::new(RejectionReason::IncompleteBlock, cursor.at));
    }
    if name.is_empty() {
        return Err(CallFault::new(RejectionReason::MissingName, start));
    }
    let has_none = NO_ARGUMENTS.contains(&cursor.rest().trim_end());
    if name.contains(char::is_whitespace) || !has_none && cursor.peek() != Some('{') {
        return Err(CallFault::new(RejectionReason::MalformedSyntax, cursor.at));
    }
    let arguments = if has_none {
        cursor.at = cursor.text.len();
        repairs.add(Repair::MissingArguments);
        Value::Object(Arguments::new())
    } else {
        json::object_at(cursor, &mut repairs)?
    };
    match arguments {
        Value::Object(arguments) => Ok(SdkFunctionCall {
            name: name.to_owned(),
            arguments,
            call_id: call_id.to_owned(),
            repairs: repairs.into_sorted(),
            ..SdkFunctionCall::default()
        }),
        _ => Err(CallFault::new(RejectionReason::ArgumentsNotObject, cursor.at)),
    }
}

/// The name of the first call in a text.
pub(super) fn name_of(text: &str) -> Option<String> {
    let text = text.trim_start();
    let name = text[..text.find(['[', '{'])?].trim();
    if name.is_empty() { json::name_of(text) } else { Some(name.to_owned()) }
}
