//! Sound for one loaded model: measured for prompts, and computed by its encoder when a prompt comes to it.

mod reader;
#[cfg(test)]
mod tests;

pub(crate) use reader::{attach, attach_hidden};
