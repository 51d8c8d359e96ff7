//! Vision towers: from the pixels of an image to rows of the decoder's embedding.
//!
//! A tower is written once, over [`TowerOperations`], in pieces of some rows of a layer.

mod clipped;
mod head;
mod layer;
mod loading;
mod network;
mod norm;
mod operations;
mod patches;
mod reader;
mod stream;
mod vision_tower;
mod weights;

pub(super) use clipped::ClippedLinear;
pub(super) use norm::TowerNorm;
pub(super) use operations::{PatchGridConvolution, TowerActivation, TowerOperations};
pub(crate) use vision_tower::VisionTower;
