//! What a model's files hold of its audio part: an encoder of sound, and an adapter to rows of the decoder's embedding.

mod causal;
mod description;
mod family;
mod gemma4;
mod lfm2_audio;
mod lfm3_audio;
mod names;
mod tensors;

pub(crate) use causal::CausalEncoderCheckpoint;
pub(crate) use description::HearingArchitecture;
pub(crate) use family::{EncoderKind, HearingFamily};
#[cfg(test)]
pub(crate) use lfm3_audio::LFM3_AUDIO;
pub(crate) use names::is_sound_encoder;
