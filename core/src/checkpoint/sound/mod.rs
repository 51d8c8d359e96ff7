//! What a model's files hold of its audio part: an encoder of sound, and an adapter to rows of the decoder's embedding.

mod description;
mod family;
mod names;
mod tensors;

pub(crate) use description::HearingArchitecture;
pub(crate) use names::is_sound_encoder;
