//! The events of a transcription, as they are pulled.

use crate::engine::CancelHandle;
use crate::error::Result;
use crate::transcribe::transcript::TranscriptEvent;
use crate::transcribe::transcription::{Transcription, TranscriptionStep};

/// The events of a transcription. It is computed while they are pulled, on the thread that pulls.
///
/// ```
/// use causerie::transcribe::TranscriptEvent;
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/whisper");
/// # let transcriber = causerie::transcribe::Transcriber::load(model)?;
/// # let sound = causerie::Sound::from_samples(vec![0.0; 16_000], 16_000)?;
/// for event in transcriber.stream(&sound, Default::default())? {
///     if let TranscriptEvent::Segment(segment) = event? {
///         println!("{}", segment.text);
///     }
/// }
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub struct TranscriptStream {
    transcription: Transcription,
    cancel: CancelHandle,
    is_over: bool,
}

impl TranscriptStream {
    pub(super) fn new(mut transcription: Transcription) -> Self {
        transcription.end();
        Self { transcription, cancel: CancelHandle::default(), is_over: false }
    }

    /// Cancels the transcription from any thread, within a piece of the computation. The stream then ends with a `Complete`
    /// of the segments before.
    ///
    /// ```no_run
    /// # use causerie::transcribe::TranscriptEvent;
    /// # let transcriber = causerie::transcribe::Transcriber::load("whisper-tiny")?;
    /// # let sound = causerie::Sound::from_samples(vec![0.0; 16_000], 16_000)?;
    /// let stream = transcriber.stream(&sound, Default::default())?;
    /// stream.cancel_handle().cancel();
    /// let Some(Ok(TranscriptEvent::Complete(transcript))) = stream.last() else { panic!("it ends") };
    /// assert!(transcript.was_cancelled);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }
}

impl Iterator for TranscriptStream {
    type Item = Result<TranscriptEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over {
            if self.cancel.is_cancelled(None) {
                self.is_over = true;
                return Some(Ok(self.transcription.cancel()));
            }
            match self.transcription.advance() {
                Ok(TranscriptionStep::Event(event)) => {
                    self.is_over = matches!(event, TranscriptEvent::Complete(_));
                    return Some(Ok(event));
                }
                Ok(TranscriptionStep::Worked) => {}
                Ok(TranscriptionStep::Waits | TranscriptionStep::Over) => self.is_over = true,
                Err(err) => {
                    self.is_over = true;
                    return Some(Err(err));
                }
            }
        }
        None
    }
}
