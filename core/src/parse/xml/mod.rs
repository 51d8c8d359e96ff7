//! Calls in XML: `<function=get_weather><parameter=city>Oslo</parameter></function>`, with raw text as values.
//!
//! The types of values come from the declared functions, because the text of a value does not show them.

mod reader;
mod render;
mod tags;
mod tracker;
mod types;

pub(super) use reader::{name_of, read};
pub(super) use render::render;
pub(super) use tags::{FUNCTION, tag_name};
pub(super) use tracker::ValueTracker;
