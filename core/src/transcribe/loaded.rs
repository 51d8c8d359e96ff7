//! A model in memory with what it needs to hear and to write.

use std::path::Path;

use crate::checkpoint::WhisperCheckpoint;
use crate::error::{ErrorKind, Result, SdkError};
use crate::media::sound::{MelFilters, MelRules};
use crate::model::{Compute, WhisperModel};
use crate::options::LoadOptions;
use crate::tokenizer::ModelTokenizer;
use crate::transcribe::options::{SpeechTask, TranscribeOptions, TranscriberOptions};
use crate::transcribe::quantised::quantise;
use crate::transcribe::vocabulary::SpeechVocabulary;
use crate::weights::SpeechFiles;

/// Samples per second that the models hear.
pub(super) const RATE: u32 = 16_000;
/// Samples from a frame to the next.
const HOP: usize = 160;

/// A model that all transcriptions share.
pub(super) struct LoadedTranscriber {
    pub(super) model: WhisperModel,
    pub(super) vocabulary: SpeechVocabulary,
    filters: MelFilters,
}

impl LoadedTranscriber {
    pub(super) fn load(model: &Path, options: &TranscriberOptions) -> Result<Self> {
        let TranscriberOptions { device, threads, cache_type, quantize } = options.clone();
        let compute_options = LoadOptions { device, threads, cache_type, ..LoadOptions::default() };
        compute_options.check()?;
        let files = SpeechFiles::open(model)?;
        let mut checkpoint = WhisperCheckpoint::read(&files)?;
        let tokenizer = match &files {
            SpeechFiles::Ggml(file) => ModelTokenizer::of_ranks(&file.tokens)?,
            SpeechFiles::Other(weights) => ModelTokenizer::load(weights)?,
        };
        if let Some(quantize) = quantize {
            quantise(&mut checkpoint, quantize)?;
        }
        let whisper = Compute::new(&compute_options)?.load_whisper(&checkpoint)?;
        files.check_unchanged()?;
        let filters = MelFilters::new(MelRules::whisper(checkpoint.architecture.n_bins));
        Ok(Self { model: whisper, vocabulary: SpeechVocabulary::new(tokenizer, checkpoint.tokens)?, filters })
    }

    /// Samples of a window.
    pub(super) fn n_samples(&self) -> u64 {
        (self.model.architecture().n_frames() * HOP) as u64
    }

    /// The spectrogram of a window. Frames after the sound are zeros, as in the original, and not what silence gives: with that,
    /// fewer words are wrong.
    pub(super) fn features(&self, samples: &[f32]) -> Vec<f32> {
        let n_values = samples.len() / HOP * self.model.architecture().n_bins;
        let mut samples = samples.to_vec();
        samples.resize(self.n_samples() as usize, 0.0);
        let mut frames = self.filters.features(&samples).values;
        frames.iter_mut().skip(n_values).for_each(|value| *value = 0.0);
        frames
    }

    /// The token of a language; `None` in a model of English only.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`] if the model does not have the language.
    pub(super) fn language(&self, code: &str) -> Result<Option<u32>> {
        let languages = &self.vocabulary.tokens.languages;
        let unknown = |known: String| {
            let message = format!("language must be {known}, found {code:?}");
            Err(SdkError::new(ErrorKind::InvalidOption("language"), message))
        };
        match languages.iter().find(|(known, _)| known == code) {
            Some((_, token)) => Ok(Some(*token)),
            None if languages.is_empty() && code == "en" => Ok(None),
            None if languages.is_empty() => unknown("en, which alone this model knows".to_owned()),
            None => unknown(format!(
                "one of {}",
                languages.iter().map(|(code, _)| code.as_str()).collect::<Vec<_>>().join(", ")
            )),
        }
    }

    /// Refuses what the model, or this version, cannot do.
    pub(super) fn check(&self, options: &TranscribeOptions) -> Result<()> {
        let refused = |name: &'static str, message: &str| Err(SdkError::new(ErrorKind::InvalidOption(name), message));
        if options.has_word_times {
            return refused("has_word_times", "has_word_times is not supported yet");
        }
        match options.task {
            SpeechTask::Translate if self.vocabulary.tokens.languages.is_empty() => {
                refused("task", "task must be to transcribe, since this model knows English only")
            }
            _ => Ok(()),
        }
    }
}
