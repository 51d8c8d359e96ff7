//! Calls in XML: `<function=get_weather><parameter=city>Oslo</parameter></function>`, with raw text as values.
//!
//! The types of values come from the declared functions, because the text of a value does not show them.

mod grammar;
mod markers;
pub(crate) mod reader;
mod render;
mod tags;
mod tracker;
mod types;

use crate::notation::definition::Notation;
use crate::notation::tool_call_tags::{self, BLOCKS, IN_BLOCK, IN_REASONING, MARKERS, in_blocks};

pub(crate) use markers::{STARTS_IN_REASONING, UNMARKED_END, UNMARKED_START};
pub(crate) use tags::{FUNCTION, tag_name};
pub(crate) use tracker::ValueTracker;

pub(crate) static NOTATION: Notation = Notation {
    blocks: BLOCKS,
    inner: &[],
    is_in_text: true,
    has_optional_markers: false,
    control: MARKERS,
    in_text: MARKERS,
    in_reasoning: IN_REASONING,
    in_block: IN_BLOCK,
    is_tagged: true,
    only_offered: false,
    writes_identifiers: false,
    read: tool_call_tags::read,
    name_of: tool_call_tags::name_of,
    render: |calls, _| {
        let bodies: Option<Vec<String>> = calls.iter().map(render::render).collect();
        Some(in_blocks(bodies?.into_iter()))
    },
    untagged: None,
    grammar: grammar::GRAMMAR,
    is_shown_by: |signs| signs.has("<tool_call>") && signs.has("<function=") && signs.has("<parameter="),
    is_shown_by_markers: false,
};
