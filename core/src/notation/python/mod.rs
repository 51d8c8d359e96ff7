//! Calls in Python syntax: `[get_weather(city="Oslo", days=3), ping()]`, with literals as arguments.

mod calls;
mod closings;
mod expression;
pub(crate) mod grammar;
pub(crate) mod literal;
pub(crate) mod number;
mod reader;
mod recovery;
pub(crate) mod render;
mod string;

use crate::notation::definition::{Notation, PythonPlaces, REASONING, REASONING_END, UntaggedForms};
use crate::notation::json;
use crate::notation::marker::{Marker, THINK, THINK_END};
use crate::notation::written::Written;

pub(crate) use calls::lexemes;
pub(crate) use reader::{name_in_list, name_of, read, read_lines};

pub(crate) static NOTATION: Notation = Notation {
    blocks: &[("<|tool_call_start|>", "<|tool_call_end|>")],
    inner: &[],
    is_in_text: false,
    has_optional_markers: false,
    control: &[("<|tool_call_start|>", Marker::BlockStart), ("<|tool_call_end|>", Marker::BlockEnd), THINK, THINK_END],
    in_text: REASONING,
    in_reasoning: REASONING_END,
    in_block: &[],
    is_tagged: false,
    only_offered: false,
    writes_identifiers: true,
    read: reader::read_or_objects,
    name_of: name_in_list,
    render: |calls, spelling| {
        let list = render::list(calls);
        Some(vec![Written::Marker(spelling.start), Written::Text(list), Written::Marker(spelling.end)])
    },
    untagged: Some(UNTAGGED),
    grammar: grammar::GRAMMAR,
    is_shown_by: |signs| {
        let lists_tools = signs.has("<|tool_list_start|>") || signs.has("List of tools: ");
        lists_tools && NOTATION.has_markers(signs.has_control)
    },
    is_shown_by_markers: true,
};

/// Objects without markers, and lists of calls in Python.
pub(crate) const UNTAGGED: UntaggedForms = UntaggedForms {
    python_lists: PythonPlaces::Everywhere,
    languages: &["json", "python"],
    objects: Some(&json::NOTATION),
    ..json::UNTAGGED
};
