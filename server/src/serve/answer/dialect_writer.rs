//! What writes replies in a dialect, and the form of its events.

use causerie::{Completion, MessageResponse};
use serde_json::Value as Json;

use crate::serve::answer::usage::Usage;
use crate::serve::error::HttpError;

/// Writes the replies to one request in its dialect. It is given everything in order and returns the events of a stream;
/// at the end it returns the whole.
pub(in crate::serve) trait DialectWriter: Send {
    /// A reply begins, after a text that is part of it.
    fn open(&mut self, echo: &str) -> Vec<String>;

    /// An event of the reply, other than its end. Text is never empty, and always whole characters.
    fn push(&mut self, event: MessageResponse) -> Vec<String>;

    /// The reply has ended.
    fn close(&mut self, completion: &Completion) -> Vec<String>;

    /// All replies have ended.
    fn end(&mut self, usage: &Usage) -> Vec<String>;

    /// A reply has failed, and nothing follows. The headers are sent already, so the error is an event.
    fn fail(&mut self, error: &HttpError) -> String;

    /// All replies that have ended, as one object.
    fn whole(&mut self, usage: &Usage) -> Json;
}

/// An event without a name.
pub(super) fn data(json: &Json) -> String {
    format!("data: {json}\n\n")
}

/// An event named by its `type`.
pub(super) fn named(json: &Json) -> String {
    format!("event: {}\ndata: {json}\n\n", json["type"].as_str().unwrap_or_default())
}
