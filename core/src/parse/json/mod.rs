//! Calls in JSON, and JSON values.

mod call;
mod reader;

pub(super) use call::{lexemes, name_of, read};
pub use reader::read_json;
