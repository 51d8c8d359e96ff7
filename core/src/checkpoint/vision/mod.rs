//! What a model's files hold of its vision model: a tower of layers over patches of an image, and a projector to rows of the decoder's
//! embedding.

mod description;
mod family;
mod names;
mod rules;
mod tensors;

pub(crate) use description::VisionArchitecture;
pub(crate) use family::ImageTokens;
pub(crate) use names::is_vision;
