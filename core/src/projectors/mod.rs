//! Finds the vision part and the audio part of a model: in the model's own files, or in projector files beside them, each of which may
//! have one of them or both.

mod files;
mod listing;
mod part;

pub(crate) use files::{ModelParts, PartFiles, find, has_candidates};
pub(crate) use listing::{HEAD_BYTES, in_listing};

/// The vision part of a model.
pub(crate) type VisionFiles<'a> = PartFiles<'a, crate::checkpoint::VisionArchitecture>;
/// The audio part of a model.
pub(crate) type HearingFiles<'a> = PartFiles<'a, crate::checkpoint::HearingArchitecture>;
