//! Encoders of sound: from the features of a recording to rows of the decoder's embedding.
//!
//! An encoder is written once, over [`SoundOperations`], in pieces of some rows of a layer.

mod adapter;
mod causal;
mod causal_subsampling;
#[cfg(test)]
mod causal_tests;
mod encoder;
mod fast_conformer;
mod layer;
mod local_conformer;
mod local_layer;
mod local_subsampling;
mod network;
mod operations;
mod parts;
mod reader;
mod stream;
mod subsampling;
#[cfg(test)]
mod tests;

pub(crate) use encoder::SoundEncoder;
pub(super) use operations::{DepthwiseConvolution, RelativeQueries, SoundOperations, UnfoldedGrid};
