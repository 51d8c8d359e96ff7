//! Calls in JSON, `{"name": "get_weather", "arguments": {"city": "Oslo"}}`, and JSON values.

pub(crate) mod call;
pub(crate) mod grammar;
pub(crate) mod reader;
pub(crate) mod render;

use crate::notation::definition::{Notation, PythonPlaces, RegularPlace, UntaggedForms};
use crate::notation::tool_call_tags::{self, BLOCKS, IN_BLOCK, IN_REASONING, MARKERS, in_blocks};

pub(crate) use call::{lexemes, name_of, object_at, read};
pub use reader::read_json;

pub(crate) static NOTATION: Notation = Notation {
    blocks: BLOCKS,
    inner: &[],
    is_in_text: true,
    has_optional_markers: false,
    control: MARKERS,
    in_text: MARKERS,
    in_reasoning: IN_REASONING,
    in_block: IN_BLOCK,
    is_tagged: false,
    only_offered: false,
    writes_identifiers: false,
    read: tool_call_tags::read,
    name_of: tool_call_tags::name_of,
    render: |calls, _| Some(in_blocks(calls.iter().map(|call| format!("\n{}\n", render::object(call, "arguments"))))),
    untagged: Some(UNTAGGED),
    grammar: grammar::GRAMMAR,
    // Templates for XML have the same tags.
    is_shown_by: |signs| {
        signs.has("<tool_call>") && signs.has("\"arguments") && !(signs.has("<function=") && signs.has("<parameter="))
    },
    is_shown_by_markers: false,
};

/// Objects without markers, all of them repaired: as the whole reply, in fences and in tags.
pub(crate) const UNTAGGED: UntaggedForms = UntaggedForms {
    regular: RegularPlace::Nowhere,
    word: "",
    has_names: false,
    has_parameters: false,
    python_lists: PythonPlaces::Nowhere,
    separator: None,
    languages: &["json"],
    elsewhere: None,
    objects: None,
};
