//! The parts of a loaded model that speak, whatever computes them.

use std::sync::Arc;

use crate::checkpoint::{CodecCheckpoint, FrameCheckpoint, invalid};
use crate::error::Result;
use crate::model::operations::Operations;
use crate::model::speech::depthformer::{Depthformer, FrameNetwork};
use crate::model::speech::detokenizer::Codec;

/// Writes frames of codes and turns them into sound. Clones share it.
#[derive(Clone)]
pub(crate) struct Voice {
    pub(crate) frames: Arc<dyn FrameNetwork>,
    pub(crate) codec: Codec,
}

impl Voice {
    /// Loads both parts, each with operations of its own.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for parts that do not fit each other or the decoder, whose rows have
    /// `hidden` values.
    pub(crate) fn load<O: Operations>(
        operations: impl Fn() -> O,
        frames: &FrameCheckpoint,
        codec: &CodecCheckpoint,
        hidden: usize,
    ) -> Result<Self> {
        if frames.hidden != hidden {
            return Err(invalid(format!("the depthformer must read rows of {hidden} values, found {}", frames.hidden)));
        }
        if (codec.n_codebooks, codec.n_codes + 1) != (frames.n_codebooks, frames.n_codes) {
            return Err(invalid(format!(
                "the detokenizer must have {} codebooks of {} codes, as the depthformer, found {} of {}",
                frames.n_codebooks,
                frames.n_codes.saturating_sub(1),
                codec.n_codebooks,
                codec.n_codes
            )));
        }
        Ok(Self {
            frames: Arc::new(Depthformer::load(operations(), frames)?),
            codec: Codec::load(operations(), codec)?,
        })
    }
}
