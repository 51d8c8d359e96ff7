//! Markers in text that arrives in pieces.

/// What separates text, reasoning and calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    BlockStart,
    BlockEnd,
    /// The start of a function's result, where the model stops. It ends a block that has no end.
    Response,
    ReasoningStart,
    /// The start of reasoning, followed by the line `thought`.
    ChannelStart,
    ReasoningEnd,
    /// A tag that some models write in place of the right one.
    NearTag,
    /// The start of a call in XML without the tag around it.
    UnmarkedStart,
    /// The end of such a call.
    UnmarkedEnd,
    /// The start of a block in XML that also ends reasoning.
    StartInReasoning,
    /// The start of a block in JSON in the reasoning of a model whose notation is XML.
    JsonInReasoning,
}

/// Bytes that are enough for the longest marker in text.
pub(crate) const MAX_LENGTH: usize = 24;

/// How a marker is spelled.
pub(crate) type MarkerSpelling = (&'static str, Marker);

pub(crate) const THINK: MarkerSpelling = ("<think>", Marker::ReasoningStart);
pub(crate) const THINK_END: MarkerSpelling = ("</think>", Marker::ReasoningEnd);
pub(crate) const TAG: MarkerSpelling = ("<tool_call>", Marker::BlockStart);
pub(crate) const TAG_END: MarkerSpelling = ("</tool_call>", Marker::BlockEnd);

/// Tags that some models write around calls in place of the right markers, with their ends. The last are right ones in JSON.
pub(crate) const NEAR_TAGS: [(&str, &str); 4] = [
    ("<tools>", "</tools>"),
    ("<function_call>", "</function_call>"),
    ("<response>", "</response>"),
    ("<tool_call>", "</tool_call>"),
];

/// What a text starts with.
pub(crate) enum MarkerStart {
    Marker(Marker, &'static str),
    /// The text may grow into a marker.
    Prefix,
    Plain,
}

/// Looks for one of several spellings at the start of `text`.
pub(crate) fn at_start(text: &str, spellings: impl Iterator<Item = MarkerSpelling>) -> MarkerStart {
    let mut is_prefix = false;
    for (spelling, marker) in spellings {
        if text.starts_with(spelling) {
            return MarkerStart::Marker(marker, spelling);
        }
        is_prefix |= spelling.starts_with(text);
    }
    if is_prefix { MarkerStart::Prefix } else { MarkerStart::Plain }
}
