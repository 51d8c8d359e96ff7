//! What a model's files say of the part that sees: a tower of layers over patches of an image, and a projector to rows of the
//! decoder's embedding. `native` computes it.

mod description;
mod family;
mod names;
mod rules;

pub(crate) use description::VisionArchitecture;
pub(crate) use family::ImageTokens;
pub(crate) use names::{VisionNames, is_vision};
