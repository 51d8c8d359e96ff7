//! Blocks between `<tool_call>` and `</tool_call>`, which hold JSON or XML: the first character of a block shows which.

use crate::notation::cursor::Opening;
use crate::notation::definition::CallBody;
use crate::notation::json::call as json;
use crate::notation::list::List;
use crate::notation::marker::{MarkerSpelling, TAG, TAG_END, THINK, THINK_END};
use crate::notation::offered::OfferedFunctions;
use crate::notation::written::Written;
use crate::notation::xml::reader as xml;

pub(crate) const BLOCKS: &[(&str, &str)] = &[(TAG.0, TAG_END.0)];
pub(crate) const MARKERS: &[MarkerSpelling] = &[TAG, TAG_END, THINK, THINK_END];
pub(crate) const IN_REASONING: &[MarkerSpelling] = &[THINK_END, TAG];
pub(crate) const IN_BLOCK: &[MarkerSpelling] = &[TAG, TAG_END];

/// Reads the calls of a block.
pub(crate) fn read(body: CallBody<'_>) -> List {
    let CallBody { block, from, offered, is_closed } = body;
    let list = if is_xml(&block.text[from..]) {
        xml::read(block.text, from, offered, is_closed)
    } else {
        json::read(block.text, from)
    };
    list.with_several()
}

/// The name of the first call in a text.
pub(crate) fn name_of(body: &str, _offered: &OfferedFunctions) -> Option<String> {
    if is_xml(body) { xml::name_of(body) } else { json::name_of(body) }
}

fn is_xml(body: &str) -> bool {
    Opening::new(body).first == Some('<')
}

/// Bodies of blocks, each between its own tags, a line end between blocks.
pub(crate) fn in_blocks(bodies: impl Iterator<Item = String>) -> Vec<Written> {
    let mut written = Vec::new();
    for body in bodies {
        if !written.is_empty() {
            written.push(Written::Text("\n".to_owned()));
        }
        written.extend([Written::Marker(TAG.0), Written::Text(body), Written::Marker(TAG_END.0)]);
    }
    written
}
