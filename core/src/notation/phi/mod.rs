//! Calls as Phi-4-mini writes them between control tokens: a list of JSON objects.

use crate::notation::definition::{Notation, REASONING, REASONING_END, UntaggedForms};
use crate::notation::json::{self, grammar, render};
use crate::notation::marker::{Marker, THINK, THINK_END};
use crate::notation::written::Written;

pub(crate) static NOTATION: Notation = Notation {
    blocks: &[("<|tool_call|>", "<|/tool_call|>")],
    inner: &[],
    is_in_text: false,
    has_optional_markers: false,
    control: &[("<|tool_call|>", Marker::BlockStart), ("<|/tool_call|>", Marker::BlockEnd), THINK, THINK_END],
    in_text: REASONING,
    in_reasoning: REASONING_END,
    in_block: &[],
    is_tagged: false,
    only_offered: false,
    writes_identifiers: false,
    read: |body| json::read(body.block.text, body.from),
    name_of: |body, _| json::name_of(body),
    render: |calls, spelling| {
        let list = format!("[{}]", render::objects(calls, "arguments", ", "));
        Some(vec![Written::Marker(spelling.start), Written::Text(list), Written::Marker(spelling.end)])
    },
    untagged: Some(UntaggedForms { word: "functools", objects: Some(&json::NOTATION), ..json::UNTAGGED }),
    grammar: grammar::OBJECTS,
    is_shown_by: |signs| signs.has("<|tool_call|>"),
    is_shown_by_markers: true,
};
