//! What turns frames of codes into sound: a codec of one of the known kinds.

use crate::checkpoint::speech::detokenizer::DetokenizerCheckpoint;
use crate::checkpoint::speech::mimi::MimiCheckpoint;
use crate::error::Result;
use crate::weights::{Tensors, Weights};

/// The tensors and the facts of a codec.
#[expect(clippy::large_enum_variant, reason = "a model has one, for as long as it is loaded")]
pub(crate) enum CodecCheckpoint {
    Detokenizer(DetokenizerCheckpoint),
    Mimi(MimiCheckpoint),
}

impl CodecCheckpoint {
    /// Finds a codec. Parts of it may be in different files.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for sizes that do not fit together.
    pub(crate) fn read(files: &[&Weights]) -> Result<Option<Self>> {
        if let Some(detokenizer) = DetokenizerCheckpoint::read(files)? {
            return Ok(Some(Self::Detokenizer(detokenizer)));
        }
        let levels = files.iter().find_map(|files| DetokenizerCheckpoint::read_levels(files).transpose());
        if let Some(levels) = levels.transpose()? {
            return Ok(Some(Self::Detokenizer(levels)));
        }
        let mimi = files.iter().find_map(|files| MimiCheckpoint::read(files).transpose()).transpose()?;
        Ok(mimi.map(Self::Mimi))
    }

    pub(crate) fn tensors(&self) -> &Tensors {
        match self {
            Self::Detokenizer(detokenizer) => &detokenizer.tensors,
            Self::Mimi(mimi) => &mimi.tensors,
        }
    }

    /// Checks that the codec has a sound for each code of a frame but the last one of each codebook, which ends the sound. Mimi has
    /// more codebooks than models use.
    pub(crate) fn fits(&self, n_codebooks: usize, n_codes: usize) -> bool {
        match self {
            Self::Detokenizer(codec) => (codec.n_codebooks, codec.n_codes + 1) == (n_codebooks, n_codes),
            Self::Mimi(codec) => n_codebooks <= codec.n_codebooks && codec.n_codes + 1 == n_codes,
        }
    }

    /// Whether a tensor is read for frames of `n_codebooks` codes.
    pub(crate) fn reads(&self, name: &str, n_codebooks: usize) -> bool {
        let codebook = name.strip_prefix("codebooks.").and_then(|rest| rest.split('.').next()?.parse::<usize>().ok());
        codebook.is_none_or(|codebook| codebook < n_codebooks)
    }

    /// Codebooks, and codes with a sound of each.
    pub(crate) fn n_codes(&self) -> (usize, usize) {
        match self {
            Self::Detokenizer(codec) => (codec.n_codebooks, codec.n_codes),
            Self::Mimi(codec) => (codec.n_codebooks, codec.n_codes),
        }
    }
}
