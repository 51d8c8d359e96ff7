//! Reads the calls of a block.

use crate::function::Repair;
use crate::notation::cursor::Opening;
use crate::notation::definition::CallBody;
use crate::notation::json;
use crate::notation::list::List;
use crate::notation::offered::OfferedFunctions;
use crate::notation::python::calls::{self, CallSeparator};
use crate::notation::python::recovery::recover;

/// Reads a list of calls, or objects in its place.
pub(super) fn read_or_objects(body: CallBody<'_>) -> List {
    if is_object(&body.block.text[body.from..]) {
        return json::read(body.block.text, body.from).repaired(&[(true, Repair::JsonBody)]);
    }
    read(body)
}

/// Reads calls that are the statements of a program, a list of calls, or objects in their place.
pub(crate) fn read_lines(body: CallBody<'_>) -> List {
    if is_object(&body.block.text[body.from..]) { read_or_objects(body) } else { read_with(body, CallSeparator::Line) }
}

/// The name of the first call in a text with a list of calls, or objects in its place.
pub(crate) fn name_in_list(body: &str, offered: &OfferedFunctions) -> Option<String> {
    if is_object(body) { json::name_of(body) } else { name_of(body, offered) }
}

fn is_object(body: &str) -> bool {
    Opening::new(body).first == Some('{')
}

/// Reads a list of calls.
pub(crate) fn read(body: CallBody<'_>) -> List {
    let list = read_with(body, CallSeparator::Comma);
    let candidates = [
        (!list.has_brackets, Repair::MissingBrackets),
        (list.lacks_separator, Repair::MissingSeparator),
        (list.has_neighbour, Repair::AdjacentLists),
    ];
    list.repaired(&candidates)
}

fn read_with(body: CallBody<'_>, separator: CallSeparator) -> List {
    let CallBody { block, from, offered, is_closed } = body;
    let list = calls::read(block.text, from, offered, separator);
    if list.is_sound() || !is_closed {
        return list; // in a block that was cut off, the missing end could be what decides
    }
    let list = calls::read_paths(block.text, from, offered, separator).unwrap_or(list);
    let is_quoted_wrong = list.items.iter().any(|item| item.call.as_ref().is_err_and(|fault| fault.is_about_quotes));
    let recovered = is_quoted_wrong.then(|| recover(block.text, from, offered, separator)).flatten();
    recovered.unwrap_or(list)
}

/// The name of the first call in a text.
pub(crate) fn name_of(body: &str, offered: &OfferedFunctions) -> Option<String> {
    calls::name_of(body.trim_start_matches(|character: char| character == '[' || character.is_whitespace()), offered)
}
