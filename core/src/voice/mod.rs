//! Speech for one loaded model: [`files`] finds the parts that speak, [`listing`] the parts of a model elsewhere, and [`frames`] puts
//! the sound of earlier replies into prompts.

mod files;
mod frames;
mod listing;
#[cfg(test)]
mod tests;

pub(crate) use files::{VoiceFiles, find, find_with_files, has_candidates};
pub(crate) use frames::attach;
#[cfg(test)]
pub(crate) use frames::spoken_segments;
pub(crate) use listing::in_listing;
