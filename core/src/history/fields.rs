//! The fields of a message in chat-completions form.

/// Fields of a message that correspond to a field of `ChatMessage`.
pub(super) const FIELDS: [&str; 9] = [
    "role",
    "content",
    "name",
    "tool_call_id",
    "reasoning_content",
    "tool_calls",
    "rejected_calls",
    "tools",
    "incomplete",
];
