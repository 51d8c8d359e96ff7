//! Calls as Mistral's models write them: `get_weather[ARGS]{"city": "Oslo"}`, in some with `[CALL_ID]` and an id before the
//! arguments, in older ones a list of JSON objects.

mod grammar;
mod reader;
mod render;
mod tokens;

use crate::notation::definition::{Notation, REASONING, REASONING_END, UntaggedForms};
use crate::notation::json;
use crate::notation::marker::{Marker, THINK, THINK_END};

pub(crate) use tokens::{ARGUMENTS, CALL_ID};

pub(crate) static NOTATION: Notation = Notation {
    blocks: &[("[TOOL_CALLS]", "")],
    inner: &[CALL_ID, ARGUMENTS],
    is_in_text: false,
    has_optional_markers: false,
    control: &[
        ("[TOOL_CALLS]", Marker::BlockStart),
        ("[THINK]", Marker::ReasoningStart),
        ("[/THINK]", Marker::ReasoningEnd),
        THINK,
        THINK_END,
    ],
    in_text: REASONING,
    in_reasoning: REASONING_END,
    in_block: &[],
    is_tagged: false,
    only_offered: false,
    writes_identifiers: false,
    read: reader::read,
    name_of: |body, _| reader::name_of(body),
    render: render::render,
    untagged: Some(UntaggedForms { has_names: true, objects: Some(&json::NOTATION), ..json::UNTAGGED }),
    grammar: grammar::GRAMMAR,
    is_shown_by: |signs| signs.has("[TOOL_CALLS]"),
    is_shown_by_markers: true,
};
