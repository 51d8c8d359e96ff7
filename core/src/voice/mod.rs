//! Speech for one loaded model: [`files`] finds the parts that speak, [`listing`] the parts of a model elsewhere, [`frames`] puts the
//! sound of earlier replies into prompts, and [`played`] cuts replies to what was heard.

mod files;
mod frames;
mod listing;
mod played;
#[cfg(test)]
mod tests;

pub(crate) use files::{VoiceFiles, find, find_with_files, has_candidates};
pub(crate) use frames::attach;
#[cfg(test)]
pub(crate) use frames::spoken_segments;
pub(crate) use listing::in_listing;
pub(crate) use played::PlayedSound;
