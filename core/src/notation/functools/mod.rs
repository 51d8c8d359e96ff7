//! Calls after the word `functools`, anywhere in the text: a list of JSON objects. Phi-4-mini writes them if its system message asks
//! for them.

use crate::notation::definition::{Notation, REASONING, REASONING_END, RegularPlace, UntaggedForms};
use crate::notation::json::{self, grammar, render};
use crate::notation::marker::{THINK, THINK_END};
use crate::notation::written::Written;

const WORD: &str = "functools";

pub(crate) static NOTATION: Notation = Notation {
    blocks: &[(WORD, "")],
    inner: &[],
    is_in_text: true,
    has_optional_markers: false,
    control: &[THINK, THINK_END],
    in_text: REASONING,
    in_reasoning: REASONING_END,
    in_block: &[],
    is_tagged: false,
    only_offered: true,
    writes_identifiers: false,
    read: |body| json::read(body.block.text, body.from),
    name_of: |body, _| json::name_of(body),
    render: |calls, _| {
        let list = format!("[{}]", render::objects(calls, "arguments", ", "));
        Some(vec![Written::Marker(WORD), Written::Text(list)])
    },
    untagged: Some(UntaggedForms {
        regular: RegularPlace::AfterWord,
        word: WORD,
        objects: Some(&json::NOTATION),
        ..json::UNTAGGED
    }),
    grammar: grammar::OBJECTS,
    is_shown_by: |signs| signs.has("functools["),
    is_shown_by_markers: false,
};
