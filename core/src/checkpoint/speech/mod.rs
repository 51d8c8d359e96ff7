//! The parts of a model that speak: facts and tensors of a [depthformer](FrameCheckpoint), which writes frames of codes, and of a
//! [detokenizer](CodecCheckpoint), which turns them into sound. Both are read from GGUF files and from folders.

mod codec;
mod frames;
mod parts;

pub(crate) use codec::CodecCheckpoint;
pub(crate) use frames::{FrameCheckpoint, is_speech};
