//! What writes frames of codes: a network of one of the known kinds.

use crate::checkpoint::speech::depthformer::DepthformerCheckpoint;
use crate::checkpoint::speech::masked::MaskedCheckpoint;
use crate::error::Result;
use crate::options::FrameSampling;
use crate::weights::{Tensors, Weights};

/// How the names of tensors begin that belong to parts that speak.
const PREFIXES: [&str; 6] =
    ["depthformer.", "depth_linear.", "depth_embeddings.", "audio_embedding.", "a.gen.code.", "a.gen.wav."];

/// Whether a tensor of a model's files belongs to the parts that speak.
pub(crate) fn is_speech(name: &str) -> bool {
    PREFIXES.iter().any(|part| name.starts_with(part))
}

/// The tensors and the facts of what writes frames.
pub(crate) enum FrameCheckpoint {
    Depthformer(DepthformerCheckpoint),
    Masked(MaskedCheckpoint),
}

/// Sizes of what writes frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameSizes {
    /// Codes of a frame.
    pub(crate) n_codebooks: usize,
    /// Codes of a codebook, the last of which ends the sound.
    pub(crate) n_codes: usize,
    /// Values of a row of the decoder.
    pub(crate) hidden: usize,
}

impl FrameCheckpoint {
    /// Finds what writes frames in the files of a model, or in a file beside them; `None` if they have nothing.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for sizes that do not fit together.
    pub(crate) fn read(files: &Weights) -> Result<Option<Self>> {
        if let Some(depthformer) = DepthformerCheckpoint::read(files)? {
            return Ok(Some(Self::Depthformer(depthformer)));
        }
        Ok(MaskedCheckpoint::read(files)?.map(Self::Masked))
    }

    pub(crate) fn tensors(&self) -> &Tensors {
        match self {
            Self::Depthformer(DepthformerCheckpoint { tensors, .. })
            | Self::Masked(MaskedCheckpoint { tensors, .. }) => tensors,
        }
    }

    pub(crate) fn sizes(&self) -> FrameSizes {
        match *self {
            Self::Depthformer(DepthformerCheckpoint { n_codebooks, n_codes, hidden, .. })
            | Self::Masked(MaskedCheckpoint { n_codebooks, n_codes, hidden, .. }) => {
                FrameSizes { n_codebooks, n_codes, hidden }
            }
        }
    }

    /// How codes are drawn unless options say otherwise; `None` if it depends on the order of text and sound.
    pub(crate) fn sampling(&self) -> Option<FrameSampling> {
        match self {
            Self::Depthformer(_) => None,
            Self::Masked(masked) => Some(masked.sampling),
        }
    }
}
