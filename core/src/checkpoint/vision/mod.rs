//! What a model's files hold of its vision model: a tower of layers over patches of an image, and a projector to rows of the decoder's
//! embedding.

mod description;
mod family;
mod gemma3;
mod gemma4;
mod lfm2_vl;
mod lfm3_vl;
mod names;
mod qwen35;
mod rules;
mod siglip;
mod tensors;

pub(crate) use description::VisionArchitecture;
pub(crate) use family::{ImageTokens, PatchPlaces, RowRoles};
pub(crate) use names::is_vision;
