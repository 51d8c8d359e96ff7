//! What turns frames of codes into sound, whatever network it is.

use std::sync::Arc;

use crate::error::Result;

/// Samples per second of all known codecs.
const SAMPLE_RATE: u32 = 24_000;

/// What turns frames of codes into sound. Clones share it.
#[derive(Clone)]
pub(crate) struct Codec(Arc<dyn LoadedCodec>);

/// The sound of one reply, frame by frame.
pub(crate) trait SpokenStream: Send {
    /// The samples that are complete with this frame.
    fn push(&mut self, frame: &[u32]) -> Result<Vec<f32>>;

    /// The samples that are left.
    fn finish(&mut self) -> Vec<f32>;
}

/// A codec of any kind, with any operations.
pub(super) trait LoadedCodec: Send + Sync {
    fn begin(self: Arc<Self>) -> Result<Box<dyn SpokenStream>>;
}

impl Codec {
    pub(super) fn new(codec: impl LoadedCodec + 'static) -> Self {
        Self(Arc::new(codec))
    }

    /// Samples per second.
    pub(crate) fn sample_rate(&self) -> u32 {
        SAMPLE_RATE
    }

    /// Begins the sound of a reply.
    pub(crate) fn begin(&self) -> Result<Box<dyn SpokenStream>> {
        Arc::clone(&self.0).begin()
    }
}
