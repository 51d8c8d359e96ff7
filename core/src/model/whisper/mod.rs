//! Whisper: an encoder of windows of sound, and a decoder that writes text over what it heard.
//!
//! Both are written once, over [`SpeechOperations`]. The encoder is computed in pieces of some rows of a layer.

mod decoder;
mod encoder;
mod network;
mod operations;
mod weights;
mod whisper_model;

pub(super) use operations::{RowWindows, SpeechOperations};
pub(crate) use whisper_model::{HeardWindow, WhisperModel};
