//! Calls in JSON, and JSON values.

mod call;
mod reader;

pub(super) use call::{lexemes, name_of, object_at, read, read_llama};
pub use reader::read_json;
pub(super) use reader::{read_lenient, string_at};
