//! From the events of a transcription to its answer: whole, or as a stream of server-sent events.
//!
//! A transcription is computed on a thread of its own. When the client leaves, what reads its events is dropped, which
//! cancels it.

use std::sync::Arc;

use async_stream::stream;
use causerie::CancelHandle;
use causerie::transcribe::{SpeechTask, Transcript, TranscriptEvent, TranscriptStream};
use hyper::Response;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::serve::admission::Permit;
use crate::serve::audio::languages;
use crate::serve::audio::request::TranscriptFormat;
use crate::serve::dialect::Dialect;
use crate::serve::error::HttpError;
use crate::serve::http::{ResponseBody, event_stream, json_response, text_response};
use crate::serve::service::Service;

/// Events that may wait for their reader.
const WAITING_EVENTS: usize = 64;
/// A comment, which clients skip.
const KEEP_ALIVE: &str = ": working\n\n";

/// The events of a transcription on another thread.
pub(super) struct RunningTranscription {
    events: mpsc::Receiver<Result<TranscriptEvent, HttpError>>,
    cancel: CancelHandle,
    service: Arc<Service>,
    /// Returns to the queue with this value.
    _permit: Permit,
}

impl Drop for RunningTranscription {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl RunningTranscription {
    pub(super) fn start(service: &Arc<Service>, stream: TranscriptStream, permit: Permit) -> Self {
        let cancel = stream.cancel_handle();
        let (sender, events) = mpsc::channel(WAITING_EVENTS);
        spawn_blocking(move || {
            for event in stream {
                let event = event.map_err(|err| HttpError::from_engine(&err));
                if !matches!(event, Ok(TranscriptEvent::Partial(_))) && sender.blocking_send(event).is_err() {
                    return; // nobody reads
                }
            }
        });
        Self { events, cancel, service: Arc::clone(service), _permit: permit }
    }

    /// The next event. A server that stops ends the transcription.
    async fn next(&mut self) -> Result<TranscriptEvent, HttpError> {
        let event = tokio::select! {
            biased;
            () = self.service.admission.replies_must_end() => None,
            event = self.events.recv() => event,
        };
        event.unwrap_or_else(|| Err(HttpError::draining()))
    }

    /// Waits for the end.
    pub(super) async fn whole(mut self) -> Result<Transcript, HttpError> {
        loop {
            if let TranscriptEvent::Complete(transcript) = self.next().await? {
                return Ok(transcript);
            }
        }
    }

    /// Sends the text of each segment once it does not change any more.
    pub(super) fn streamed(mut self) -> Response<ResponseBody> {
        let events = stream! {
            let mut has_text = false;
            loop {
                let keep_alive = self.service.settings.keep_alive;
                match timeout(keep_alive, self.next()).await {
                    Err(_) => yield KEEP_ALIVE.to_owned(),
                    Ok(Ok(TranscriptEvent::Segment(segment))) => {
                        let delta = if has_text { &segment.text } else { segment.text.trim_start() };
                        if !delta.is_empty() {
                            has_text = true;
                            yield event(&json!({ "type": "transcript.text.delta", "delta": delta }));
                        }
                    }
                    Ok(Ok(TranscriptEvent::Complete(transcript))) => {
                        yield event(&json!({
                            "type": "transcript.text.done",
                            "text": transcript.text,
                            "usage": usage(&transcript),
                        }));
                        return;
                    }
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => {
                        yield event(&error.json(Dialect::Transcriptions, None));
                        return;
                    }
                }
            }
        };
        event_stream(events)
    }
}

/// The answer with a whole transcript.
pub(super) fn response(
    transcript: &Transcript,
    task: SpeechTask,
    format: TranscriptFormat,
    has_segments: bool,
) -> Response<ResponseBody> {
    let plain = |text| text_response("text/plain; charset=utf-8", text);
    match format {
        TranscriptFormat::Json => json_response(&json!({ "text": transcript.text, "usage": usage(transcript) })),
        TranscriptFormat::Text => plain(format!("{}\n", transcript.text)),
        TranscriptFormat::Srt => plain(transcript.to_srt()),
        TranscriptFormat::Vtt => text_response("text/vtt; charset=utf-8", transcript.to_vtt()),
        TranscriptFormat::VerboseJson => json_response(&verbose(transcript, task, has_segments)),
    }
}

fn verbose(transcript: &Transcript, task: SpeechTask, has_segments: bool) -> Json {
    let mut json: Json = serde_json::from_str(&transcript.to_json()).unwrap_or_default(); // it is JSON
    json["language"] = json!(languages::name(&transcript.language));
    json["task"] = json!(match task {
        SpeechTask::Transcribe => "transcribe",
        SpeechTask::Translate => "translate",
    });
    json["usage"] = usage(transcript);
    if let Json::Object(fields) = &mut json
        && !has_segments
    {
        fields.remove("segments");
    }
    json
}

fn usage(transcript: &Transcript) -> Json {
    json!({ "type": "duration", "seconds": transcript.duration.as_millis() as f64 / 1_000.0 }) // exact up to 2^53
}

fn event(json: &Json) -> String {
    format!("data: {json}\n\n")
}
