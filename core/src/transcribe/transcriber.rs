//! Models that write what they hear.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::error::{ErrorKind, Result, SdkError};
use crate::media::sound::Sound;
use crate::transcribe::live::LiveTranscription;
use crate::transcribe::loaded::{LoadedTranscriber, RATE};
use crate::transcribe::options::{TranscribeOptions, TranscriberOptions};
use crate::transcribe::stream::TranscriptStream;
use crate::transcribe::transcript::{Transcript, TranscriptEvent};
use crate::transcribe::transcription::Transcription;

/// A Whisper model in memory, which writes what it hears. Clones share it, and each can be used on any thread.
///
/// ```no_run
/// use causerie::Sound;
/// use causerie::transcribe::{TranscribeOptions, Transcriber};
///
/// let transcriber = Transcriber::load("whisper-base")?;
/// let sound = Sound::from_samples(vec![0.0; 16_000], 16_000)?;
/// let options = TranscribeOptions { language: Some("en".to_owned()), ..Default::default() };
/// println!("{}", transcriber.transcribe(&sound, options)?.text);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone)]
pub struct Transcriber(Arc<LoadedTranscriber>);

impl Transcriber {
    /// Loads a model from a Hugging Face folder, or from a file of ggml, which whisper.cpp reads.
    ///
    /// ```no_run
    /// let transcriber = causerie::transcribe::Transcriber::load("whisper-base")?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::ModelNotFound`], [`ErrorKind::ModelLoad`] or [`ErrorKind::OutOfMemory`].
    pub fn load(model: impl AsRef<Path>) -> Result<Self> {
        Self::load_with(model, TranscriberOptions::default())
    }

    /// As [`load`](Self::load), with options.
    ///
    /// ```no_run
    /// use causerie::transcribe::{Transcriber, TranscriberOptions};
    ///
    /// let options = TranscriberOptions { threads: Some(2), ..Default::default() };
    /// let transcriber = Transcriber::load_with("whisper-base", options)?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`ErrorKind::InvalidOption`].
    pub fn load_with(model: impl AsRef<Path>, options: TranscriberOptions) -> Result<Self> {
        Ok(Self(Arc::new(LoadedTranscriber::load(model.as_ref(), &options)?)))
    }

    /// The codes of the languages that the model knows.
    ///
    /// ```no_run
    /// # let transcriber = causerie::transcribe::Transcriber::load("whisper-tiny")?;
    /// assert!(transcriber.languages().contains(&"en"));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn languages(&self) -> Vec<&str> {
        match &self.0.vocabulary.tokens.languages[..] {
            [] => vec!["en"],
            languages => languages.iter().map(|(code, _)| code.as_str()).collect(),
        }
    }

    /// Transcribes a sound, on this thread.
    ///
    /// ```no_run
    /// # let transcriber = causerie::transcribe::Transcriber::load("whisper-tiny")?;
    /// # let sound = causerie::Sound::from_samples(vec![0.0; 16_000], 16_000)?;
    /// let transcript = transcriber.transcribe(&sound, Default::default())?;
    /// println!("{}: {}", transcript.language, transcript.text);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`], or [`ErrorKind::Generation`] if the computation fails.
    pub fn transcribe(&self, sound: &Sound, options: TranscribeOptions) -> Result<Transcript> {
        for event in self.stream(sound, options)? {
            if let TranscriptEvent::Complete(transcript) = event? {
                return Ok(transcript);
            }
        }
        Err(SdkError::new(ErrorKind::Internal, "a transcription must end with its transcript"))
    }

    /// Transcribes a sound while its events are pulled, on the thread that pulls them.
    ///
    /// ```no_run
    /// # let transcriber = causerie::transcribe::Transcriber::load("whisper-tiny")?;
    /// # let sound = causerie::Sound::from_samples(vec![0.0; 16_000], 16_000)?;
    /// for event in transcriber.stream(&sound, Default::default())? {
    ///     println!("{:?}", event?);
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`].
    pub fn stream(&self, sound: &Sound, options: TranscribeOptions) -> Result<TranscriptStream> {
        let mut transcription = Transcription::new(Arc::clone(&self.0), options)?;
        transcription.samples().extend_from_slice(&sound.at_rate(RATE));
        Ok(TranscriptStream::new(transcription))
    }

    /// Transcribes samples while someone speaks.
    ///
    /// ```no_run
    /// # let transcriber = causerie::transcribe::Transcriber::load("whisper-tiny")?;
    /// let mut live = transcriber.live(48_000, Default::default())?;
    /// live.push(&[0.0; 480])?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`], or [`ErrorKind::UnsupportedContent`] for a rate that no sound has.
    pub fn live(&self, sample_rate: u32, options: TranscribeOptions) -> Result<LiveTranscription> {
        LiveTranscription::new(Transcription::new(Arc::clone(&self.0), options)?, sample_rate)
    }
}

impl fmt::Debug for Transcriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transcriber").field("architecture", self.0.model.architecture()).finish_non_exhaustive()
    }
}
