//! Finds the parts of a model that see and hear: in the model's own files, or in projector files beside them, each of which may
//! have one of them or both.

mod files;
mod part;

pub(crate) use files::{ModelParts, PartFiles, find, has_candidates, in_listing};

/// The part of a model that sees.
pub(crate) type VisionFiles<'a> = PartFiles<'a, crate::checkpoint::VisionArchitecture>;
/// The part of a model that hears.
pub(crate) type HearingFiles<'a> = PartFiles<'a, crate::checkpoint::HearingArchitecture>;
