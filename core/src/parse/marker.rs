//! Markers in text that arrives in pieces.

use crate::options::FunctionCallParser;

/// What separates text, reasoning and calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    BlockStart,
    BlockEnd,
    ReasoningStart,
    ReasoningEnd,
    /// A tag that some models write in place of the right one.
    NearTag,
}

/// Bytes that are enough for the longest marker.
pub(super) const LONGEST: usize = 20;

/// How a marker is spelled.
pub(super) type MarkerSpelling = (&'static str, Marker);

const REASONING_START: MarkerSpelling = ("<think>", Marker::ReasoningStart);
const REASONING_END: MarkerSpelling = ("</think>", Marker::ReasoningEnd);
const PYTHON: (&str, &str) = FunctionCallParser::DefaultFunctionCallParser.markers();
const JSON: (&str, &str) = FunctionCallParser::JsonStyleFunctionCallParser.markers();
const PYTHON_START: MarkerSpelling = (PYTHON.0, Marker::BlockStart);
const PYTHON_END: MarkerSpelling = (PYTHON.1, Marker::BlockEnd);
pub(super) const JSON_START: MarkerSpelling = (JSON.0, Marker::BlockStart);
pub(super) const JSON_END: MarkerSpelling = (JSON.1, Marker::BlockEnd);

/// Tags that some models write around calls in JSON, with their ends.
pub(super) const NEAR_TAGS: [(&str, &str); 3] =
    [("<tools>", "</tools>"), ("<function_call>", "</function_call>"), ("<response>", "</response>")];

/// All markers of a parser.
pub(super) fn spellings(parser: FunctionCallParser) -> [MarkerSpelling; 4] {
    match parser {
        FunctionCallParser::DefaultFunctionCallParser => [PYTHON_START, PYTHON_END, REASONING_START, REASONING_END],
        FunctionCallParser::JsonStyleFunctionCallParser => [JSON_START, JSON_END, REASONING_START, REASONING_END],
    }
}

/// The marker that a control token stands for, by the token's spelling.
pub(super) fn of_control(parser: FunctionCallParser, spelling: &str) -> Option<Marker> {
    spellings(parser).into_iter().find(|(known, _)| *known == spelling).map(|(_, marker)| marker)
}

/// The markers that text can spell. The control tokens around Python calls are not among them: text that looks like
/// one was typed.
pub(super) fn in_text(parser: FunctionCallParser, has_near_tags: bool) -> &'static [MarkerSpelling] {
    const JSON_MARKERS: [MarkerSpelling; 7] = [
        JSON_START,
        JSON_END,
        REASONING_START,
        REASONING_END,
        (NEAR_TAGS[0].0, Marker::NearTag),
        (NEAR_TAGS[1].0, Marker::NearTag),
        (NEAR_TAGS[2].0, Marker::NearTag),
    ];
    match parser {
        FunctionCallParser::DefaultFunctionCallParser => &[REASONING_START, REASONING_END],
        FunctionCallParser::JsonStyleFunctionCallParser if has_near_tags => &JSON_MARKERS,
        FunctionCallParser::JsonStyleFunctionCallParser => &[JSON_START, JSON_END, REASONING_START, REASONING_END],
    }
}

/// The markers that count inside reasoning: its end, and what looks like the start of a block.
pub(super) fn in_reasoning(parser: FunctionCallParser) -> &'static [MarkerSpelling] {
    match parser {
        FunctionCallParser::DefaultFunctionCallParser => &[REASONING_END],
        FunctionCallParser::JsonStyleFunctionCallParser => &[REASONING_END, JSON_START],
    }
}

/// The markers that text can spell inside a block.
pub(super) fn in_block(parser: FunctionCallParser) -> &'static [MarkerSpelling] {
    match parser {
        FunctionCallParser::DefaultFunctionCallParser => &[],
        FunctionCallParser::JsonStyleFunctionCallParser => &[JSON_START, JSON_END],
    }
}

/// The end marker of a block, if text can spell it.
pub(super) fn end_in_text(parser: FunctionCallParser) -> Option<&'static str> {
    in_block(parser).iter().find(|(_, marker)| *marker == Marker::BlockEnd).map(|(spelling, _)| *spelling)
}

/// What a text starts with.
pub(super) enum MarkerStart {
    Marker(Marker, &'static str),
    /// The text may grow into a marker.
    Prefix,
    Plain,
}

/// Looks for one of `spellings` at the start of `text`.
pub(super) fn at_start(text: &str, spellings: &[MarkerSpelling]) -> MarkerStart {
    let marker = spellings.iter().find(|(spelling, _)| text.starts_with(spelling));
    if let Some((spelling, marker)) = marker {
        return MarkerStart::Marker(*marker, spelling);
    }
    if spellings.iter().any(|(spelling, _)| spelling.starts_with(text)) {
        MarkerStart::Prefix
    } else {
        MarkerStart::Plain
    }
}
