//! The tags with a meaning outside of the tags of a block.

use crate::notation::marker::{Marker, MarkerSpelling};
use crate::notation::xml::tags::{FUNCTION, FUNCTION_END};

/// The start of a call without the tag around it.
pub(crate) const UNMARKED_START: [MarkerSpelling; 1] = [(FUNCTION, Marker::UnmarkedStart)];
pub(crate) const UNMARKED_END: [MarkerSpelling; 1] = [(FUNCTION_END, Marker::UnmarkedEnd)];
/// What starts a block at the start of a line of reasoning. A call in XML ends the reasoning: some models forget to end it before.
pub(crate) const STARTS_IN_REASONING: [MarkerSpelling; 6] = [
    ("<tool_call>\n<function=", Marker::StartInReasoning),
    ("<tool_call><function=", Marker::StartInReasoning),
    ("<tool_call>\n{", Marker::JsonInReasoning),
    ("<tool_call>{", Marker::JsonInReasoning),
    ("<tool_call>\n[", Marker::JsonInReasoning),
    ("<tool_call>[", Marker::JsonInReasoning),
];
