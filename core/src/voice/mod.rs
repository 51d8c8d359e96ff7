//! Speech for one loaded model: [`files`] finds the parts that speak, [`frames`] puts the sound of earlier replies into prompts, and
//! [`played`] cuts replies to what was heard.

mod files;
mod frames;
mod played;
#[cfg(test)]
mod tests;

pub(crate) use files::{VoiceFiles, find};
pub(crate) use frames::attach;
#[cfg(test)]
pub(crate) use frames::spoken_segments;
pub(crate) use played::PlayedSound;
