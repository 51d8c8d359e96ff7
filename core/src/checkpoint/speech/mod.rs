//! The parts of a model that speak: facts and tensors of a [depthformer](FrameCheckpoint), which writes frames of codes, and of a
//! [codec](CodecCheckpoint), which turns them into sound. Both are read from GGUF files and from folders.

mod codec;
mod depthformer;
mod detokenizer;
mod frames;
mod masked;
mod mimi;
pub(super) mod parts;

pub(crate) use codec::CodecCheckpoint;
pub(crate) use depthformer::DepthformerCheckpoint;
pub(crate) use detokenizer::{CodeRows, DetokenizerCheckpoint};
pub(crate) use frames::{FrameCheckpoint, is_speech};
pub(crate) use masked::MaskedCheckpoint;
pub(crate) use mimi::MimiCheckpoint;
