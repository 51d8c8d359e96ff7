//! Calls as FunctionGemma and Gemma 4 write them: `call:get_weather{city:"Oslo",days:3}`, with control tokens as quotes.

mod grammar;
mod reader;
mod render;
mod tokens;
mod words;

use crate::notation::definition::{Notation, REASONING, REASONING_END};
use crate::notation::marker::{Marker, THINK, THINK_END};
use tokens::STRING_TOKENS;

pub(crate) use words::is_word;

pub(crate) static NOTATION: Notation = Notation {
    blocks: &[("<start_function_call>", "<end_function_call>"), ("<|tool_call>", "<tool_call|>")],
    inner: &STRING_TOKENS,
    is_in_text: false,
    has_optional_markers: false,
    control: &[
        ("<start_function_call>", Marker::BlockStart),
        ("<end_function_call>", Marker::BlockEnd),
        ("<start_function_response>", Marker::Response),
        ("<|tool_call>", Marker::BlockStart),
        ("<tool_call|>", Marker::BlockEnd),
        ("<|tool_response>", Marker::Response),
        ("<|channel>", Marker::ChannelStart),
        ("<channel|>", Marker::ReasoningEnd),
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
    untagged: None,
    grammar: grammar::GRAMMAR,
    is_shown_by: |signs| signs.has("<|tool_call>call:") || signs.has("<start_function_call>"),
    is_shown_by_markers: true,
};
