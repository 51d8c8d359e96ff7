//! The parts of a loaded model that speak, whatever computes them.

use std::sync::Arc;

use crate::checkpoint::{CodecCheckpoint, FrameCheckpoint, invalid};
use crate::error::Result;
use crate::model::operations::Operations;
use crate::model::speech::depthformer::{Depthformer, FrameNetwork};
use crate::model::speech::detokenizer::Codec;
use crate::position::{ContentDigest, Position};

/// Writes frames of codes and turns them into sound. Clones share it.
#[derive(Clone)]
pub(crate) struct Voice {
    pub(crate) frames: Arc<dyn FrameNetwork>,
    pub(crate) codec: Codec,
    /// Names the voice among others: codes have another meaning to each.
    pub(crate) digest: ContentDigest,
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
        let frames = Depthformer::load(operations(), frames)?;
        let row = frames.row(&vec![0; frames.n_codebooks()])?;
        let row: Vec<u8> = row.iter().flat_map(|value| value.to_le_bytes()).collect();
        Ok(Self {
            digest: ContentDigest::from_parts(&[&row]),
            frames: Arc::new(frames),
            codec: Codec::load(operations(), codec)?,
        })
    }

    /// The position of a frame in a sequence of the decoder.
    pub(crate) fn position(&self, frame: &[u32]) -> Position {
        Position::Embedded { digest: self.frame_digest(frame), row: 0 }
    }

    /// Names a frame, with all that its row depends on.
    pub(crate) fn frame_digest(&self, frame: &[u32]) -> ContentDigest {
        let codes: Vec<u8> = frame.iter().flat_map(|code| code.to_le_bytes()).collect();
        ContentDigest::from_parts(&[&self.digest.bytes(), &codes])
    }
}
