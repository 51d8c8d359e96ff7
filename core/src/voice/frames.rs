//! The sound of earlier replies in prompts: the model reads its own frames again, one position for each.

use std::sync::Arc;

use crate::error::{ErrorKind, Result, SdkError};
use crate::media::sound::SpokenSound;
use crate::model::Voice;
use crate::position::{ContentDigest, Embedded, EmbeddingJob, EmbeddingSource};

/// The row of one frame.
#[derive(Clone)]
struct SpokenRow {
    voice: Voice,
    codes: Vec<u32>,
}

/// The positions of a sound that this voice has spoken, from the WAV file in a message.
///
/// # Errors
/// [`ErrorKind::UnsupportedContent`] for any other file: the model can only read what it has spoken itself.
pub(crate) fn spoken_positions(voice: &Voice, file: &[u8]) -> Result<Vec<Embedded>> {
    let unsupported = |found: &str| {
        let rule = "the sound of an assistant's message must be one that this model has spoken";
        SdkError::new(ErrorKind::UnsupportedContent, format!("{rule}, found {found}"))
    };
    let (name, frames) = SpokenSound::frames_of(file).ok_or_else(|| unsupported("a sound without its codes"))?;
    if name != voice.digest.bytes() {
        return Err(unsupported("the sound of another voice"));
    }
    let n_codebooks = voice.frames.n_codebooks();
    let is_valid = |code: &u16| u32::from(*code) <= voice.frames.end_code();
    if frames.iter().any(|frame| frame.len() != n_codebooks || !frame.iter().all(is_valid)) {
        return Err(unsupported("codes that the voice does not have"));
    }
    let row = |frame: Vec<u16>| {
        let codes = frame.into_iter().map(u32::from).collect();
        Embedded(Arc::new(SpokenRow { voice: voice.clone(), codes }))
    };
    Ok(frames.into_iter().map(row).collect())
}

impl EmbeddingSource for SpokenRow {
    fn digest(&self) -> ContentDigest {
        self.voice.frame_digest(&self.codes)
    }

    fn n_rows(&self) -> u32 {
        1
    }

    fn begin(&self) -> Result<Box<dyn EmbeddingJob>> {
        Ok(Box::new(self.clone()))
    }
}

impl EmbeddingJob for SpokenRow {
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>> {
        Ok(Some(self.voice.frames.row(&self.codes)?.into()))
    }
}
