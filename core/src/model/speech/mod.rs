//! Networks that speak: from a vector of the decoder to a frame of codes, and from frames to sound. Most are stacks of layers as
//! decoders have, with other things before and after them.

mod codec;
mod depthformer;
mod detokenizer;
mod frames;
mod masked;
mod mimi;
mod operations;
mod voice;
#[cfg(test)]
pub(crate) mod lfm3_testing;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub(crate) use codec::SpokenStream;
pub(crate) use frames::FrameChooser;
pub(crate) use operations::CodecOperations;
pub(crate) use voice::Voice;

/// The control token that begins sound, the one that ends the text of interleaved replies, and the one that begins interleaving in models
/// that say so themselves.
pub(crate) const SOUND_START: &str = "<|audio_start|>";
pub(crate) const TEXT_END: &str = "<|text_end|>";
pub(crate) const MIXED_START: &str = "<|mixed_start|>";
