//! Pictures for one loaded model: measured for prompts, and computed by its vision tower when a prompt comes to them.

mod reader;
#[cfg(test)]
mod tests;

pub(crate) use reader::{attach, attach_markers};
