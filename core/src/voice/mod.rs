//! Speech for one loaded model: [`files`] finds the parts that speak, and [`frames`] puts the sound of earlier replies into prompts.

mod files;
mod frames;
#[cfg(test)]
mod tests;

pub(crate) use files::{VoiceFiles, find};
pub(crate) use frames::attach;
#[cfg(test)]
pub(crate) use frames::spoken_segments;
