//! The parts of a loaded model that speak, whatever computes them.

use std::sync::Arc;

use crate::checkpoint::{CodecCheckpoint, FrameCheckpoint, invalid};
use crate::error::Result;
use crate::model::speech::codec::Codec;
use crate::model::speech::depthformer::Depthformer;
use crate::model::speech::detokenizer::Detokenizer;
use crate::model::speech::frames::FrameNetwork;
use crate::model::speech::masked::MaskedFrames;
use crate::model::speech::mimi::Mimi;
use crate::model::speech::operations::CodecOperations;
use crate::options::FrameSampling;
use crate::position::{ContentDigest, Position};

/// Writes frames of codes and turns them into sound. Clones share it.
#[derive(Clone)]
pub(crate) struct Voice {
    pub(crate) frames: Arc<dyn FrameNetwork>,
    pub(crate) codec: Codec,
    /// Names the voice among others: codes have another meaning to each.
    pub(crate) digest: ContentDigest,
    /// How codes are drawn unless options say otherwise; `None` if it depends on the order of text and sound.
    pub(crate) sampling: Option<FrameSampling>,
    /// Whether control tokens of the model's own say where speech begins, as in LFM3-Audio.
    pub(crate) marks_speech: bool,
}

impl Voice {
    /// Loads both parts, each with operations of its own.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for parts that do not fit each other or the decoder, whose rows have
    /// `hidden` values.
    pub(crate) fn load<O: CodecOperations>(
        operations: impl Fn() -> O,
        frames: &FrameCheckpoint,
        codec: &CodecCheckpoint,
        hidden: usize,
    ) -> Result<Self> {
        let sizes = frames.sizes();
        if sizes.hidden != hidden {
            return Err(invalid(format!("the depthformer must read rows of {hidden} values, found {}", sizes.hidden)));
        }
        if !codec.fits(sizes.n_codebooks, sizes.n_codes) {
            let (n_codebooks, n_codes) = codec.n_codes();
            return Err(invalid(format!(
                "the detokenizer must have {} codebooks of {} codes, as the depthformer, found {n_codebooks} of {n_codes}",
                sizes.n_codebooks,
                sizes.n_codes.saturating_sub(1)
            )));
        }
        let codec = match codec {
            CodecCheckpoint::Detokenizer(codec) => Codec::new(Detokenizer::load(operations(), codec)?),
            CodecCheckpoint::Mimi(codec) => Codec::new(Mimi::load(operations(), codec, sizes.n_codebooks)?),
        };
        let (sampling, marks_speech) = (frames.sampling(), matches!(frames, FrameCheckpoint::Masked(_)));
        let frames: Arc<dyn FrameNetwork> = match frames {
            FrameCheckpoint::Depthformer(frames) => Arc::new(Depthformer::load(operations(), frames)?),
            FrameCheckpoint::Masked(frames) => Arc::new(MaskedFrames::load(operations(), frames)?),
        };
        let row = frames.row(&vec![0; frames.n_codebooks()])?;
        let row: Vec<u8> = row.iter().flat_map(|value| value.to_le_bytes()).collect();
        Ok(Self { digest: ContentDigest::from_parts(&[&row]), frames, codec, sampling, marks_speech })
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
