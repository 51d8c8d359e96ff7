//! Functions as a list in a system message, for templates that do not take functions in a variable.

use std::borrow::Cow;

use crate::function::SdkFunction;
use crate::message::{ChatMessage, Role};
use crate::prompt::capabilities::ToolListForm;
use crate::schema::{function_schema, tool_schema};

/// The messages, with the list of functions appended to the message that carries them, as in LFM2's training data.
pub(super) fn with_tool_list<'a>(
    messages: &'a [ChatMessage],
    functions: &[&SdkFunction],
    form: ToolListForm,
) -> Cow<'a, [ChatMessage]> {
    let Some(carrier) = messages.iter().position(|message| !message.functions.is_empty()) else {
        return Cow::Borrowed(messages);
    };
    let text = messages[carrier].text();
    let joint = if text.is_empty() { "" } else { "\n" };
    let list = tool_list(functions.iter().copied(), form);
    let mut messages = messages.to_vec();
    messages[carrier] = ChatMessage::system(format!("{text}{joint}List of tools: {list}"));
    Cow::Owned(messages)
}

/// A JSON array of functions.
pub(super) fn tool_list<'a>(functions: impl IntoIterator<Item = &'a SdkFunction>, form: ToolListForm) -> String {
    let entries = functions.into_iter().map(|function| match form {
        ToolListForm::Bare => function_schema(function).to_string(),
        ToolListForm::Wrapped => tool_schema(function).to_string(),
    });
    format!("[{}]", entries.collect::<Vec<_>>().join(", "))
}

/// Whether a system message only carries functions. Templates read functions from the variable `tools`.
pub(super) fn only_carries_functions(message: &ChatMessage) -> bool {
    message.role == Role::System && message.content.is_empty()
}
