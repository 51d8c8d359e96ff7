//! The one internal form of a request: each dialect reads its own fields into it, and everything after is the same.

mod chat_request;
pub(super) mod content;
mod delivery;
pub(super) mod fields;
pub(super) mod foreign;
pub(super) mod format;
pub(super) mod found_images;
pub(super) mod images;
pub(super) mod json;
pub(super) mod modalities;
pub(super) mod namespaces;
mod notes;
mod prepared_chat;
mod reader;
pub(super) mod sampling;
pub(super) mod schema;
pub(super) mod tool_choice;
pub(super) mod tools;
pub(super) mod types;
pub(super) mod unknown;

pub(super) use chat_request::{ChatRequest, Thinking};
pub(super) use delivery::Delivery;
pub(super) use notes::RequestNotes;
pub(super) use prepared_chat::PreparedChat;
pub(super) use reader::must_be;
