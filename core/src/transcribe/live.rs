//! Transcription while someone speaks.

use crate::engine::CancelHandle;
use crate::error::Result;
use crate::media::sound::{Resampler, Sound};
use crate::transcribe::loaded::RATE;
use crate::transcribe::transcript::TranscriptEvent;
use crate::transcribe::transcription::{Transcription, TranscriptionStep};

/// A transcription of samples that are pushed as they come.
///
/// [`push`](Self::push) only keeps samples. The events are computed while they are pulled, on the thread that pulls: segments
/// that do not change any more, and the text after them so far.
///
/// ```
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/whisper");
/// # let transcriber = causerie::transcribe::Transcriber::load(model)?;
/// # let microphone = [vec![0.0; 4_800]];
/// let mut live = transcriber.live(48_000, Default::default())?;
/// for samples in microphone {
///     live.push(&samples)?;
///     while let Some(event) = live.next_event()? {
///         println!("{event:?}");
///     }
/// }
/// live.end();
/// while let Some(event) = live.next_event()? {
///     println!("{event:?}");
/// }
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub struct LiveTranscription {
    transcription: Transcription,
    /// `None` after the end.
    resampler: Option<Resampler>,
    sample_rate: u32,
    cancel: CancelHandle,
    is_over: bool,
}

impl LiveTranscription {
    pub(super) fn new(transcription: Transcription, sample_rate: u32) -> Result<Self> {
        Sound::from_samples([], sample_rate)?; // checks the rate
        let resampler = Some(Resampler::new(sample_rate, RATE));
        Ok(Self { transcription, resampler, sample_rate, cancel: CancelHandle::default(), is_over: false })
    }

    /// Cancels the transcription from any thread, within a piece of the computation. The next event is then a `Complete` of the
    /// segments before.
    ///
    /// ```
    /// use causerie::transcribe::TranscriptEvent;
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/whisper");
    /// # let transcriber = causerie::transcribe::Transcriber::load(model)?;
    /// # let mut live = transcriber.live(48_000, Default::default())?;
    /// live.cancel_handle().cancel();
    /// let Some(TranscriptEvent::Complete(transcript)) = live.next_event()? else { panic!("it ends") };
    /// assert!(transcript.was_cancelled);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// Adds samples of one channel. After the end, they are ignored.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/whisper");
    /// # let transcriber = causerie::transcribe::Transcriber::load(model)?;
    /// # let mut live = transcriber.live(48_000, Default::default())?;
    /// live.push(&[0.0; 480])?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`](crate::ErrorKind::UnsupportedContent) if a sample is NaN or infinite.
    pub fn push(&mut self, samples: &[f32]) -> Result<()> {
        let sound = Sound::from_samples(samples, self.sample_rate)?;
        if let Some(resampler) = &mut self.resampler {
            resampler.push(sound.samples(), self.transcription.samples());
        }
        Ok(())
    }

    /// Says that no more samples come.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/whisper");
    /// # let transcriber = causerie::transcribe::Transcriber::load(model)?;
    /// # let mut live = transcriber.live(48_000, Default::default())?;
    /// live.end();
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn end(&mut self) {
        if let Some(resampler) = self.resampler.take() {
            resampler.finish(self.transcription.samples());
        }
        self.transcription.end();
    }

    /// The next event, once it is computed; `None` if more samples are needed, or after the last event.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/whisper");
    /// # let transcriber = causerie::transcribe::Transcriber::load(model)?;
    /// # let mut live = transcriber.live(48_000, Default::default())?;
    /// while let Some(event) = live.next_event()? {
    ///     println!("{event:?}");
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Generation`](crate::ErrorKind::Generation) if the computation fails. The transcription is over then.
    pub fn next_event(&mut self) -> Result<Option<TranscriptEvent>> {
        while !self.is_over {
            if self.cancel.is_cancelled(None) {
                self.is_over = true;
                return Ok(Some(self.transcription.cancel()));
            }
            match self.transcription.advance() {
                Ok(TranscriptionStep::Event(event)) => {
                    self.is_over = matches!(event, TranscriptEvent::Complete(_));
                    return Ok(Some(event));
                }
                Ok(TranscriptionStep::Worked) => {}
                Ok(TranscriptionStep::Waits) => return Ok(None),
                Ok(TranscriptionStep::Over) => self.is_over = true,
                Err(err) => {
                    self.is_over = true;
                    return Err(err);
                }
            }
        }
        Ok(None)
    }
}
