//! A reply as it is pulled. Its tokens are counted even if its client does not wait for the end.

use std::sync::Arc;

use causerie::{Completion, FinishReason, MessageResponse, ResponseStream, SdkError};
use tokio::runtime::Handle;

use crate::serve::error::HttpError;
use crate::serve::metrics::Metrics;
use crate::serve::request::images::ImagePlaces;
use crate::serve::service::Service;

pub(super) type ReplyEvent = Result<MessageResponse, SdkError>;

/// A reply that is generated once it is pulled.
pub(in crate::serve) struct PendingReply {
    pub(in crate::serve) stream: ResponseStream,
    /// Text to send before it.
    pub(in crate::serve) echo: String,
    /// Whether its text is a JSON string that is sent without its quotes.
    pub(in crate::serve) is_bare_string: bool,
    pub(in crate::serve) image_places: Arc<ImagePlaces>,
}

pub(super) struct PulledReply {
    /// `None` once it has ended.
    stream: Option<ResponseStream>,
    has_begun: bool,
    pub(super) echo: String,
    metrics: Arc<Metrics>,
    image_places: Arc<ImagePlaces>,
    /// The text so far, if it is a JSON string whose quotes are not sent.
    quoted: Option<String>,
    /// The end, which is delivered after that text.
    end: Option<MessageResponse>,
}

impl PulledReply {
    pub(super) fn new(pending: PendingReply, metrics: &Arc<Metrics>) -> Self {
        let PendingReply { stream, echo, is_bare_string, image_places } = pending;
        let quoted = is_bare_string.then(String::new);
        let metrics = Arc::clone(metrics);
        Self { stream: Some(stream), has_begun: false, echo, metrics, image_places, quoted, end: None }
    }

    /// The next event. A string is sent whole, without its quotes, once it is known.
    pub(super) async fn next(&mut self) -> Option<ReplyEvent> {
        if let Some(end) = self.end.take() {
            return Some(Ok(end));
        }
        loop {
            let event = self.pull().await;
            match (&mut self.quoted, event) {
                (Some(quoted), Some(Ok(MessageResponse::Chunk(text)))) => quoted.push_str(&text),
                (Some(quoted), Some(Ok(end @ MessageResponse::Complete(_)))) => {
                    let text = unquoted(&std::mem::take(quoted));
                    if text.is_empty() {
                        return Some(Ok(end));
                    }
                    self.end = Some(end);
                    return Some(Ok(MessageResponse::Chunk(text)));
                }
                (_, event) => return event,
            }
        }
    }

    async fn pull(&mut self) -> Option<ReplyEvent> {
        let stream = self.stream.as_mut()?;
        self.has_begun = true;
        let event = stream.next().await.map(|event| event.map_err(|err| self.image_places.named(err)));
        if !matches!(&event, Some(Ok(event)) if !count(event, &self.metrics)) {
            self.stream = None;
        }
        event
    }
}

/// The text of a JSON string, also of one that was cut short, perhaps within an escape.
fn unquoted(json: &str) -> String {
    /// The longest escape: two halves of a surrogate pair.
    const MAX_ESCAPE: usize = 12;
    let json = json.trim();
    if let Ok(text) = serde_json::from_str(json) {
        return text;
    }
    let mut ends = json.char_indices().map(|(at, _)| at).chain([json.len()]).rev().take(MAX_ESCAPE);
    let text = ends.find_map(|end| serde_json::from_str(&format!("{}\"", &json[..end])).ok());
    text.unwrap_or_default()
}

/// Counts a reply that ends with this event; returns whether it does.
fn count(event: &MessageResponse, metrics: &Metrics) -> bool {
    let MessageResponse::Complete(completion) = event else { return false };
    metrics.count_tokens(&completion.stats);
    true
}

impl Drop for PulledReply {
    /// Cancels a reply that has begun and not ended, and counts what it generated.
    fn drop(&mut self) {
        let (Some(mut stream), Ok(runtime)) = (self.stream.take().filter(|_| self.has_begun), Handle::try_current())
        else {
            return;
        };
        stream.cancel();
        let metrics = Arc::clone(&self.metrics);
        runtime.spawn(async move {
            while let Some(Ok(event)) = stream.next().await {
                count(&event, &metrics);
            }
        });
    }
}

/// The next event of a reply; `None` once replies must end.
pub(super) async fn next_of(reply: &mut PulledReply, service: &Service) -> Option<ReplyEvent> {
    tokio::select! {
        biased;
        () = service.admission.replies_must_end() => None,
        event = reply.next() => event,
    }
}

/// A reply that was cancelled although its client is still there ended with the model.
pub(super) fn check_end(completion: &Completion) -> Result<(), HttpError> {
    if completion.finish_reason == FinishReason::Interrupted { Err(HttpError::draining()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_loses_its_quotes_wherever_it_is_cut() {
        for (json, expect) in [
            (r#""red""#, "red"),
            (" \"red\"\n", "red"),
            (r#""re"#, "re"),
            (r#"""#, ""),
            ("", ""),
            (r#""a\"b\n""#, "a\"b\n"),
            (r#""a\"#, "a"),
            (r#""a\u00e"#, "a"),
            (r#""a\ud83d\ude0"#, "a"),
            (r#""é"#, "é"),
        ] {
            assert_eq!(unquoted(json), expect, "{json}");
        }
    }
}
