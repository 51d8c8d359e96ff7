//! The routes of sound: `POST /v1/audio/transcriptions` and `/v1/audio/translations` write what is said, and `/v1/audio/speech`
//! reads a text aloud; `GET /v1/audio/models` and `/v1/audio/voices` list with what.

mod answer;
mod form;
mod languages;
mod request;
pub(super) mod speech;
pub(super) mod voices;

use std::sync::Arc;

use causerie::transcribe::SpeechTask;
use causerie::{Sound, SoundOptions};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use serde_json::{Value as Json, json};
use tokio::task::spawn_blocking;

use crate::serve::audio::answer::{RunningTranscription, response};
use crate::serve::audio::form::SoundForm;
use crate::serve::audio::request::TranscriptionRequest;
use crate::serve::body::{self, RequestBytes, RequestKind};
use crate::serve::error::HttpError;
use crate::serve::http::ResponseBody;
use crate::serve::request::RequestNotes;
use crate::serve::service::{ServedTranscriber, Service};

/// Samples per second of speech-to-text models.
const RATE: u32 = 16_000;

/// Answers a request for a transcript.
pub(super) async fn transcribe(
    service: &Arc<Service>,
    request: &mut Request<Incoming>,
    task: SpeechTask,
) -> Result<Response<ResponseBody>, HttpError> {
    let served = service.transcriber()?;
    let kind = body::kind(request.headers(), true)?;
    let RequestBytes { bytes, share } = body::read(service, request).await?;
    let mut form = match kind {
        RequestKind::Json => SoundForm::read_json(&bytes)?,
        RequestKind::Form { boundary } => SoundForm::read_parts(Bytes::from(bytes), &boundary).await?,
    };
    let TranscriptionRequest { file, model, options, format, has_segments, is_stream } =
        TranscriptionRequest::take(&mut form, task)?;
    options.check().map_err(|err| HttpError::from_engine(&err))?;
    let notes = RequestNotes {
        is_other_model: is_other_model(service, served, model.as_deref())?,
        ignored: form.into_ignored(service.settings.strict_fields)?,
    };
    let permit = service.admission.enter()?.await?;
    let sound = decode(service, file).await?;
    drop(share);
    let stream = served.transcriber.stream(&sound, options).map_err(|err| HttpError::from_engine(&err))?;
    drop(sound);
    let running = RunningTranscription::start(service, stream, permit);
    let mut answer = match is_stream {
        true => running.streamed(),
        false => response(&running.whole().await?, task, format, has_segments),
    };
    answer.headers_mut().extend(notes.headers(&served.id));
    Ok(answer)
}

/// The list of models that transcribe or speak.
pub(super) fn models(service: &Service) -> Json {
    let speaks = service.runner.get().is_some_and(|runner| runner.info().supports_speech);
    let transcriber = service.transcriber.get().map(|served| &served.id);
    let ids = transcriber.into_iter().chain(speaks.then_some(&service.model_id));
    json!({ "models": ids.map(|id| json!({ "id": id })).collect::<Vec<_>>() })
}

/// Decodes a file on a thread that answers nothing else, one after the other: a few bytes can be hours.
async fn decode(service: &Arc<Service>, file: Bytes) -> Result<Sound, HttpError> {
    let options = SoundOptions { sample_rate: Some(RATE), max_duration: service.settings.max_sound };
    let lock = Arc::clone(&service.large_body).lock_owned().await;
    let decoding = spawn_blocking(move || {
        let _lock = lock;
        Sound::read_with(&file, options)
    });
    let decoded = decoding.await.map_err(|_| HttpError::draining())?;
    decoded.map_err(|err| HttpError::value("file", format!("file cannot be read: {}", err.message())))
}

/// Whether a request names another model, or none, which only a strict server refuses.
fn is_other_model(service: &Service, served: &ServedTranscriber, model: Option<&str>) -> Result<bool, HttpError> {
    match model {
        Some(id) if id == served.id => Ok(false),
        _ if !service.settings.strict_model => Ok(true),
        Some(_) => Err(crate::serve::models::missing().at("model")),
        None => Err(HttpError::value("model", "model is required")),
    }
}
