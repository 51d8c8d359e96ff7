//! Events as they are written: a type, an id, and the fields of the type.

use serde_json::{Value as Json, json};

use crate::serve::dialect::Dialect;
use crate::serve::error::HttpError;
use crate::serve::id;

/// An event of the server. `fields` is an object.
pub(super) fn event(kind: &str, mut fields: Json) -> String {
    fields["type"] = json!(kind);
    fields["event_id"] = json!(format!("event_{}", id::unique()));
    fields.to_string()
}

/// The event that an event of the client is refused with.
pub(super) fn error_event(error: &HttpError, client_event: Option<&str>) -> String {
    let mut body = error.json(Dialect::Realtime, None);
    body["error"]["event_id"] = json!(client_event);
    event("error", json!({ "error": body["error"].take() }))
}

/// An id of something in a session: `item_…`, for example.
pub(super) fn new_id(kind: &str) -> String {
    format!("{kind}_{}", id::unique())
}
