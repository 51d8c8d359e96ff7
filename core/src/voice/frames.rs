//! The sound of earlier replies in prompts: the model reads its own frames again, one position for each.

use std::sync::Arc;

use crate::error::{ErrorKind, Result, SdkError};
use crate::media::sound::{SoundOpening, SpokenFrames, SpokenSound};
use crate::message::Role;
use crate::model::Voice;
use crate::model::speech::{MIXED_START, SOUND_START, TEXT_END};
use crate::position::{ContentDigest, Embedded, EmbeddedKind, EmbeddingJob, EmbeddingSource};
use crate::prompt::{NO_AUDIO, PromptRenderer, SoundReader};
use crate::tokenizer::Segment;

/// The row of one frame.
#[derive(Clone)]
struct SpokenRow {
    voice: Voice,
    codes: Vec<u32>,
}

/// Reads the sound of messages for a model that speaks: that of the model's own messages by its codes, other sound as the model
/// takes it from the user.
struct SpokenReader {
    voice: Voice,
    /// `None` for a model that does not hear.
    heard: Option<Arc<dyn SoundReader>>,
}

/// Lets the model's own messages contain the sound that it has spoken.
pub(crate) fn attach(voice: &Voice, renderer: &mut PromptRenderer) {
    let heard = renderer.sound_reader();
    renderer.set_sound_reader(Arc::new(SpokenReader { voice: voice.clone(), heard }));
}

impl SoundReader for SpokenReader {
    fn read(&self, file: &[u8], role: Role) -> Result<Vec<Segment>> {
        match (role, &self.heard) {
            (Role::Assistant, _) => {
                let spoken = SpokenSound::frames_of(file).ok_or_else(|| unsupported("a sound without its codes"))?;
                spoken_segments(&self.voice, spoken)
            }
            (_, Some(heard)) => heard.read(file, role),
            (_, None) => Err(SdkError::new(ErrorKind::UnsupportedContent, NO_AUDIO)),
        }
    }
}

/// A sound that this voice has spoken, in a prompt: the control token that began it, and a position for each frame.
///
/// # Errors
/// [`ErrorKind::UnsupportedContent`] for the sound of another voice: the model can only read its own codes.
pub(crate) fn spoken_segments(voice: &Voice, spoken: SpokenFrames) -> Result<Vec<Segment>> {
    if spoken.voice != voice.digest.bytes() {
        return Err(unsupported("the sound of another voice"));
    }
    let (n_codebooks, end) = (voice.frames.n_codebooks(), voice.frames.end_code());
    let is_valid = |frame: &Vec<u16>| frame.len() == n_codebooks && frame.iter().all(|code| u32::from(*code) <= end);
    if !spoken.frames.iter().all(is_valid) {
        return Err(unsupported("codes that the voice does not have"));
    }
    let opening = match spoken.opening {
        SoundOpening::None => None,
        SoundOpening::SoundStart => Some(SOUND_START),
        SoundOpening::TextEnd => Some(TEXT_END),
        SoundOpening::MixedStart => Some(MIXED_START),
    };
    let row = |frame: Vec<u16>| {
        let codes = frame.into_iter().map(u32::from).collect();
        Segment::Embedded(Embedded(Arc::new(SpokenRow { voice: voice.clone(), codes })))
    };
    let opening = opening.map(|spelling| Segment::Control(spelling.to_owned()));
    Ok(opening.into_iter().chain(spoken.frames.into_iter().map(row)).collect())
}

fn unsupported(found: &str) -> SdkError {
    let rule = "the sound of an assistant's message must be one that this model has spoken";
    SdkError::new(ErrorKind::UnsupportedContent, format!("{rule}, found {found}"))
}

impl EmbeddingSource for SpokenRow {
    fn digest(&self) -> ContentDigest {
        self.voice.frame_digest(&self.codes)
    }

    fn n_rows(&self) -> u32 {
        1
    }

    fn kind(&self) -> EmbeddedKind {
        EmbeddedKind::Sound
    }

    fn has_known_row(&self) -> bool {
        true
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
