//! Networks that speak: from a vector of the decoder to a frame of codes, and from frames to sound. Each is a stack of layers as
//! decoders have, with other things before and after it.

mod depthformer;
mod detokenizer;
mod voice;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub(crate) use detokenizer::SpokenStream;
pub(crate) use voice::Voice;

/// The control token that begins sound in sequential replies, and the one that ends the text of interleaved replies.
pub(crate) const SOUND_START: &str = "<|audio_start|>";
pub(crate) const TEXT_END: &str = "<|text_end|>";
