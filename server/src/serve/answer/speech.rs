//! A text that is read aloud: its sound as a file that is sent while it is spoken, or as server-sent events.

use std::sync::Arc;

use async_stream::stream;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use causerie::{Completion, MessageResponse, ResponseStream, Sound, SoundFileWriter, SoundFormat, TelephoneLaw};
use hyper::body::Bytes;
use hyper::{Response, StatusCode};
use serde_json::{Value as Json, json};

use crate::serve::admission::Permit;
use crate::serve::answer::dialect_writer::data;
use crate::serve::answer::pulled_reply::{PendingReply, PulledReply, check_end, next_of};
use crate::serve::budget::BodyShare;
use crate::serve::dialect::Dialect;
use crate::serve::error::HttpError;
use crate::serve::http::{ResponseBody, byte_response, byte_stream, event_stream};
use crate::serve::metrics::GenerationTimer;
use crate::serve::request::RequestNotes;
use crate::serve::service::Service;

/// How the sound is sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::serve) struct SpeechForm {
    pub(in crate::serve) format: SoundFormat,
    /// Server-sent events, instead of the file.
    pub(in crate::serve) is_events: bool,
    /// The file is sent once it is complete.
    pub(in crate::serve) is_whole: bool,
}

impl SpeechForm {
    fn content_type(self) -> &'static str {
        match self.format {
            SoundFormat::Wav => "audio/wav",
            SoundFormat::Flac => "audio/flac",
            SoundFormat::Pcm => "audio/pcm",
            SoundFormat::Telephone(TelephoneLaw::Mu) => "audio/pcmu",
            SoundFormat::Telephone(TelephoneLaw::A) => "audio/pcma",
        }
    }
}

/// The sound of a text, and how it is sent.
pub(in crate::serve) struct SpeechAnswer {
    service: Arc<Service>,
    reply: PulledReply,
    form: SpeechForm,
    notes: RequestNotes,
}

impl SpeechAnswer {
    pub(in crate::serve) fn new(
        service: &Arc<Service>,
        stream: ResponseStream,
        form: SpeechForm,
        notes: RequestNotes,
    ) -> Self {
        let pending = PendingReply { stream, echo: String::new(), is_bare_string: false, image_places: Arc::default() };
        Self { service: Arc::clone(service), reply: PulledReply::new(pending, &service.metrics), form, notes }
    }

    /// Waits for a permit and for the first sound, so that what prevents it gets its status. When the client disconnects, the body
    /// is dropped, and with it the reply, which cancels it.
    pub(in crate::serve) async fn send(self, share: BodyShare) -> Result<Response<ResponseBody>, HttpError> {
        let Self { service, reply, form, notes } = self;
        let mut wait = service.admission.enter()?;
        let mut timer = GenerationTimer::start(&service.metrics);
        let permit = timer.wait(&mut wait).await?;
        drop(share);
        let headers = notes.headers(&service.model_id);
        let mut sound = RunningSpeech { service, reply, timer: Some(timer), _permit: permit };
        let SpeechPiece::Samples(samples, sample_rate) = sound.next().await? else { return Err(no_sound()) };
        let encoder = SoundFileWriter::new(form.format, sample_rate);
        let mut response = match form {
            SpeechForm { is_events: true, .. } => sound.events(samples, encoder),
            SpeechForm { is_whole: true, .. } => sound.whole(samples, sample_rate, form).await?,
            _ => sound.file(samples, encoder, form),
        };
        response.headers_mut().extend(headers);
        Ok(response)
    }
}

/// A reply without sound: what a model writes is up to it.
fn no_sound() -> HttpError {
    let message = "the model wrote text instead of speaking";
    HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, "no_speech", message)
}

enum SpeechPiece {
    /// Samples, and their number per second.
    Samples(Vec<f32>, u32),
    End(Box<Completion>),
}

/// The sound while it is spoken.
struct RunningSpeech {
    service: Arc<Service>,
    reply: PulledReply,
    /// `None` once the reply has ended or failed.
    timer: Option<GenerationTimer>,
    /// Returns to the queue with this value.
    _permit: Permit,
}

impl RunningSpeech {
    /// The next samples, or the end. Text is passed over.
    async fn next(&mut self) -> Result<SpeechPiece, HttpError> {
        let piece = loop {
            match next_of(&mut self.reply, &self.service).await {
                Some(Ok(MessageResponse::AudioSample { samples, sample_rate })) if !samples.is_empty() => {
                    return Ok(SpeechPiece::Samples(samples, sample_rate));
                }
                Some(Ok(MessageResponse::Complete(completion))) => break check_end(&completion).map(|()| completion),
                Some(Ok(_)) => {}
                Some(Err(err)) => break Err(HttpError::from_engine(&err)),
                None => break Err(HttpError::draining()),
            }
        };
        if let Some(mut timer) = self.timer.take() {
            piece.iter().for_each(|completion| timer.count(&completion.stats));
            timer.end();
        }
        piece.map(SpeechPiece::End)
    }

    /// The whole file.
    async fn whole(
        mut self,
        mut samples: Vec<f32>,
        sample_rate: u32,
        form: SpeechForm,
    ) -> Result<Response<ResponseBody>, HttpError> {
        while let SpeechPiece::Samples(more, _) = self.next().await? {
            samples.extend(more);
        }
        let sound = Sound::from_samples(samples, sample_rate).map_err(|err| HttpError::from_engine(&err))?;
        Ok(byte_response(form.content_type(), sound.encode(form.format)))
    }

    /// The file, piece by piece. It ends early if the reply fails, as bytes of sound have no place for an error.
    fn file(mut self, first: Vec<f32>, mut encoder: SoundFileWriter, form: SpeechForm) -> Response<ResponseBody> {
        let pieces = stream! {
            let mut samples = first;
            loop {
                let bytes = encoder.push(&samples);
                if !bytes.is_empty() {
                    yield Bytes::from(bytes);
                }
                match self.next().await {
                    Ok(SpeechPiece::Samples(more, _)) => samples = more,
                    Ok(SpeechPiece::End(_)) | Err(_) => break,
                }
            }
            let rest = encoder.finish();
            if !rest.is_empty() {
                yield Bytes::from(rest);
            }
        };
        byte_stream(form.content_type(), pieces)
    }

    /// The file in events, whose bytes joined are the file.
    fn events(mut self, first: Vec<f32>, mut encoder: SoundFileWriter) -> Response<ResponseBody> {
        let delta = |bytes: Vec<u8>| data(&json!({ "type": "speech.audio.delta", "audio": STANDARD.encode(bytes) }));
        let events = stream! {
            let mut samples = first;
            loop {
                let bytes = encoder.push(&samples);
                if !bytes.is_empty() {
                    yield delta(bytes);
                }
                match self.next().await {
                    Ok(SpeechPiece::Samples(more, _)) => samples = more,
                    Ok(SpeechPiece::End(completion)) => {
                        let rest = encoder.finish();
                        if !rest.is_empty() {
                            yield delta(rest);
                        }
                        yield data(&json!({ "type": "speech.audio.done", "usage": usage(&completion) }));
                        return;
                    }
                    Err(error) => {
                        yield data(&error.json(Dialect::Speech, None));
                        return;
                    }
                }
            }
        };
        event_stream(events)
    }
}

fn usage(completion: &Completion) -> Json {
    let stats = &completion.stats;
    json!({
        "input_tokens": stats.prompt_tokens,
        "output_tokens": stats.completion_tokens,
        "total_tokens": stats.prompt_tokens + stats.completion_tokens,
    })
}
