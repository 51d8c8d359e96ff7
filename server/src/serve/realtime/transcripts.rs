//! What users say, written down by the server's model for that, beside the conversation.

use std::sync::Arc;

use causerie::transcribe::TranscribeOptions;
use causerie::{Sound, SoundOptions};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::serve::error::HttpError;
use crate::serve::realtime::settings::TranscriptionSettings;
use crate::serve::service::Service;

/// Samples per second of models that transcribe.
const RATE: u32 = 16_000;

/// The transcriptions of a session.
pub(super) struct Transcripts {
    service: Arc<Service>,
    sender: mpsc::UnboundedSender<Transcribed>,
    receiver: mpsc::UnboundedReceiver<Transcribed>,
}

/// The end of a transcription.
pub(super) struct Transcribed {
    pub(super) item_id: String,
    /// The text, and the seconds of sound.
    pub(super) result: Result<(String, f64), HttpError>,
}

impl Transcripts {
    pub(super) fn new(service: &Arc<Service>) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { service: Arc::clone(service), sender, receiver }
    }

    /// Begins to write down the sound of an item.
    pub(super) fn start(&self, item_id: String, file: Vec<u8>, settings: Option<&TranscriptionSettings>) {
        let options = TranscribeOptions {
            language: settings.and_then(|settings| settings.language.clone()),
            prompt: settings.and_then(|settings| settings.prompt.clone()),
            ..TranscribeOptions::default()
        };
        let (service, sender) = (Arc::clone(&self.service), self.sender.clone());
        tokio::spawn(async move {
            let result = tokio::select! {
                result = transcribe(service, file, options) => result,
                () = sender.closed() => return,
            };
            let _ = sender.send(Transcribed { item_id, result }); // fails if the session has ended
        });
    }

    /// The next end of a transcription.
    pub(super) async fn next(&mut self) -> Transcribed {
        match self.receiver.recv().await {
            Some(transcribed) => transcribed,
            None => std::future::pending().await, // never: there is a sender
        }
    }
}

async fn transcribe(
    service: Arc<Service>,
    file: Vec<u8>,
    options: TranscribeOptions,
) -> Result<(String, f64), HttpError> {
    let permit = service.admission.enter()?.await?;
    let work = spawn_blocking(move || -> Result<(String, f64), HttpError> {
        let _permit = permit;
        let served = service.transcriber.get().ok_or_else(HttpError::loading)?;
        let from_engine = |err| HttpError::from_engine(&err);
        let rate = SoundOptions { sample_rate: Some(RATE), ..SoundOptions::default() };
        let sound = Sound::read_with(&file, rate).map_err(from_engine)?;
        let transcript = served.transcriber.transcribe(&sound, options).map_err(from_engine)?;
        Ok((transcript.text, sound.duration().as_secs_f64()))
    });
    work.await.map_err(|_| HttpError::draining())?
}
