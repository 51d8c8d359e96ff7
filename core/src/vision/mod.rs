//! Pictures for one loaded model: measured for prompts, and computed by its vision tower when a prompt comes to them.
//!
//! [`files`] finds the tower, in the model's own files or in a projector file beside them.

mod files;
mod job;
mod reader;
mod rows;
#[cfg(test)]
mod tests;

pub(crate) use files::{FoundWeights, VisionFiles, find, has_candidates, in_listing};
pub(crate) use reader::{attach, attach_markers};
