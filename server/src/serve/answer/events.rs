//! What events of a reply mean, the same in all dialects.

use std::borrow::Cow;

use causerie::{Completion, Diagnostic, MessageResponse, RejectedCall, SdkFunctionCall, Value, render_calls};
use serde_json::{Map, Value as Json, json};

/// The text that an event adds. Where no function can be called, a call is text.
pub(in crate::serve) fn text_of(event: &MessageResponse, has_functions: bool) -> Option<Cow<'_, str>> {
    match event {
        MessageResponse::Chunk(text) => Some(text.into()),
        MessageResponse::FunctionCalls(calls) if !has_functions => Some(render_calls(calls).into()),
        _ => None,
    }
}

/// The arguments as JSON text, with numbers as the model wrote them.
pub(in crate::serve) fn arguments(call: &SdkFunctionCall) -> String {
    Value::Object(call.arguments.clone()).to_string()
}

/// Calls that could not be read: a field of our own, in the form that histories have.
pub(super) fn rejected_calls(rejected: &[RejectedCall]) -> Json {
    let describe = |call: &RejectedCall| json!({ "reason": call.reason.code(), "name": call.name, "raw_text": call.raw_text, "message": call.message });
    rejected.iter().map(describe).collect()
}

/// The rejected calls of a whole reply and the remarks about it, each if there are any: fields of our own.
pub(in crate::serve) fn remarks(completion: &Completion) -> Map<String, Json> {
    let rejected = rejected_calls(&completion.full_message.rejected_calls);
    let remarks = [("rejected_calls", rejected), ("diagnostics", diagnostics(&completion.diagnostics))];
    let found = remarks.into_iter().filter(|(_, list)| list.as_array().is_some_and(|list| !list.is_empty()));
    found.map(|(name, list)| (name.to_owned(), list)).collect()
}

/// Remarks about a reply as a whole: a field of our own.
pub(super) fn diagnostics(diagnostics: &[Diagnostic]) -> Json {
    let describe = |found: &Diagnostic| json!({ "code": found.code.code(), "message": found.message });
    diagnostics.iter().map(describe).collect()
}
