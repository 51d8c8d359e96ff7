//! Reads the calls of a block.

use crate::notation::cursor::{Opening, starts_word};
use crate::notation::definition::CallBody;
use crate::notation::list::List;
use crate::notation::offered::OfferedFunctions;
use crate::notation::{json, python};

pub(super) fn read(body: CallBody<'_>) -> List {
    if is_python(&body.block.text[body.from..]) {
        return python::read(body);
    }
    json::call::read_with_parameters(body.block.text, body.from)
}

/// The name of the first call in a text.
pub(super) fn name_of(body: &str, offered: &OfferedFunctions) -> Option<String> {
    if is_python(body) { python::name_of(body, offered) } else { json::name_of(body) }
}

fn is_python(body: &str) -> bool {
    let opening = Opening::new(body);
    opening.is_list && opening.first.is_some_and(starts_word)
}
