//! Calls as Llama 3 writes them: objects of JSON with `parameters` as the whole reply. Small models of the family also write a
//! list of calls in Python.

mod grammar;
mod reader;

use crate::notation::definition::{Notation, PythonPlaces, REASONING, REASONING_END, RegularPlace, UntaggedForms};
use crate::notation::json::{self, render};
use crate::notation::marker::{Marker, THINK, THINK_END};
use crate::notation::written::Written;

pub(crate) static NOTATION: Notation = Notation {
    blocks: &[("<|python_tag|>", "")],
    inner: &[],
    is_in_text: false,
    has_optional_markers: true,
    control: &[("<|python_tag|>", Marker::BlockStart), THINK, THINK_END],
    in_text: REASONING,
    in_reasoning: REASONING_END,
    in_block: &[],
    is_tagged: false,
    only_offered: false,
    writes_identifiers: false,
    read: reader::read,
    name_of: reader::name_of,
    render: |calls, _| Some(vec![Written::Text(render::objects(calls, "parameters", "; "))]),
    untagged: Some(UntaggedForms {
        regular: RegularPlace::Bare,
        has_parameters: true,
        python_lists: PythonPlaces::Bare,
        separator: Some(b';'),
        elsewhere: Some(&json::NOTATION),
        ..json::UNTAGGED
    }),
    grammar: grammar::GRAMMAR,
    is_shown_by: |signs| signs.has("<|python_tag|>") || signs.has("<|start_header_id|>") && signs.has("\"parameters"),
    is_shown_by_markers: false,
};
