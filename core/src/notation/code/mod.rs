//! Calls in Python between `<code>` and `</code>`, one in a line, as SmolLM3 writes them if it gets functions as `python_tools`.
//!
//! The tags are also found in prose and around other programs, so that a block that calls no offered function is text.

mod grammar;

use crate::notation::definition::Notation;
use crate::notation::marker::{Marker, MarkerSpelling, THINK, THINK_END};
use crate::notation::python::{self, render};
use crate::notation::written::Written;

const START: MarkerSpelling = ("<code>", Marker::BlockStart);
const END: MarkerSpelling = ("</code>", Marker::BlockEnd);

pub(crate) static NOTATION: Notation = Notation {
    blocks: &[(START.0, END.0)],
    inner: &[],
    is_in_text: true,
    has_optional_markers: false,
    control: &[START, END, THINK, THINK_END],
    in_text: &[START, END, THINK, THINK_END],
    in_reasoning: &[THINK_END],
    in_block: &[START, END],
    is_tagged: false,
    only_offered: true,
    writes_identifiers: true,
    read: python::read_lines,
    name_of: python::name_in_list,
    render: |calls, _| {
        let lines: String = calls.iter().map(|call| render::call(call) + "\n").collect();
        Some(vec![Written::Marker(START.0), Written::Text(format!("\n{lines}")), Written::Marker(END.0)])
    },
    untagged: Some(python::UNTAGGED),
    grammar: grammar::GRAMMAR,
    // The template of SmolLM3 has these tags and the tags of JSON, and prints the functions that it gets as `tools` for JSON.
    is_shown_by: |signs| signs.has(START.0) && signs.has(END.0) && !signs.has("<tool_call>"),
    is_shown_by_markers: false,
};
