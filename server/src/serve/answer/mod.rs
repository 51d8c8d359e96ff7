//! From replies to the wire: whole, or as a stream of server-sent events.
//!
//! The replies to a request are written one after the other. The headers wait for the first event of the first reply, so
//! that a prompt the engine refuses gets its status. They wait no longer than the keep-alive time, in the queue or after
//! it, so that clients see that their request is alive. A [`DialectWriter`] decides what is sent: each dialect has one.

use std::sync::Arc;

use async_stream::stream;
use causerie::{Completion, FinishReason, MessageResponse, ResponseStream, SdkError};
use futures_core::Stream;
use hyper::Response;
use hyper::header::HeaderValue;
use serde_json::Value as Json;
use tokio::time::{Instant, timeout, timeout_at};

use crate::serve::Service;
use crate::serve::admission::{Permit, PermitWait};
use crate::serve::error::HttpError;
use crate::serve::http::{ResponseBody, event_stream, json_response};
use crate::serve::metrics::GenerationTimer;
use crate::serve::request::Delivery;

mod choice;
mod events;
mod logprobs;
mod message;
mod pulled_reply;
mod response;
mod usage;

use pulled_reply::PulledReply;
use usage::Usage;

pub(super) use choice::{ChoiceForm, ChoiceWriter};
pub(super) use message::MessageWriter;
pub(super) use response::ResponseWriter;

/// A comment, which clients skip.
const KEEP_ALIVE: &str = ": working\n\n";
/// Limit on the names in the header `x-ignored-fields`, in bytes.
const MAX_IGNORED_BYTES: usize = 2048;

/// Writes the replies to one request in its dialect. It is given everything in order and returns the events of a stream;
/// at the end it returns the whole.
pub(super) trait DialectWriter: Send {
    /// A reply begins, after a text that is part of it.
    fn open(&mut self, echo: &str) -> Vec<String>;

    /// An event of the reply, other than its end. Text is never empty, and always whole characters.
    fn push(&mut self, event: MessageResponse) -> Vec<String>;

    /// The reply has ended.
    fn close(&mut self, completion: &Completion) -> Vec<String>;

    /// All replies have ended.
    fn end(&mut self, usage: &Usage) -> Vec<String>;

    /// A reply has failed, and nothing follows. The headers are sent already, so the error is an event.
    fn fail(&mut self, error: &HttpError) -> String;

    /// All replies that have ended, as one object.
    fn whole(&mut self, usage: &Usage) -> Json;
}

/// The replies to a request, and how they are sent.
pub(super) struct Answer {
    service: Arc<Service>,
    writer: Box<dyn DialectWriter>,
    replies: Vec<PulledReply>,
    delivery: Delivery,
    /// Fields of the request that were ignored.
    ignored: Vec<String>,
}

/// A reply that is generated once it is pulled.
pub(super) struct PendingReply {
    pub(super) stream: ResponseStream,
    /// Text to send before it.
    pub(super) echo: String,
}

type ReplyEvent = Result<MessageResponse, SdkError>;

impl Answer {
    pub(super) fn new(
        service: &Arc<Service>,
        writer: impl DialectWriter + 'static,
        replies: Vec<PendingReply>,
        delivery: Delivery,
        ignored: Vec<String>,
    ) -> Self {
        let replies = replies.into_iter().map(|reply| PulledReply::new(reply, &service.metrics)).collect();
        Self { service: Arc::clone(service), writer: Box::new(writer), replies, delivery, ignored }
    }

    /// Waits for a permit, then writes. When the client disconnects, this future is dropped, or the body that came of it,
    /// and with it the replies, which cancels them.
    pub(super) async fn send(self) -> Result<Response<ResponseBody>, HttpError> {
        let ignored = ignored_header(&self.ignored);
        let mut wait = self.service.admission.enter()?;
        let mut timer = GenerationTimer::start(&self.service.metrics);
        let mut response = if self.delivery.is_stream {
            self.stream(wait, timer).await?
        } else {
            let permit = timer.wait(&mut wait).await?;
            json_response(&self.whole(permit, timer).await?)
        };
        if let Some(ignored) = ignored {
            response.headers_mut().insert("x-ignored-fields", ignored);
        }
        Ok(response)
    }

    /// A stream, which begins with the first event, or when that takes too long.
    async fn stream(
        mut self,
        mut wait: PermitWait,
        mut timer: GenerationTimer,
    ) -> Result<Response<ResponseBody>, HttpError> {
        let until = Instant::now() + self.service.settings.keep_alive;
        let Ok(permit) = timeout_at(until, timer.wait(&mut wait)).await else {
            return Ok(event_stream(self.queued_events(wait, timer)));
        };
        let permit = permit?;
        let first = match self.replies.first_mut() {
            Some(reply) => timeout_at(until, next_of(reply, &self.service)).await.ok().flatten(),
            None => None,
        };
        if let Some(Err(err)) = &first {
            timer.end();
            return Err(HttpError::from_engine(err));
        }
        Ok(event_stream(self.events(permit, timer, first)))
    }

    async fn whole(mut self, _permit: Permit, mut timer: GenerationTimer) -> Result<Json, HttpError> {
        let mut usage = Usage::default();
        for (index, mut reply) in std::mem::take(&mut self.replies).into_iter().enumerate() {
            self.writer.open(&reply.echo);
            let completion = loop {
                match next_of(&mut reply, &self.service).await {
                    Some(Ok(MessageResponse::Complete(completion))) => break completion,
                    Some(Ok(event)) => drop(self.writer.push(event)),
                    Some(Err(err)) => {
                        timer.end();
                        return Err(HttpError::from_engine(&err));
                    }
                    None => return Err(HttpError::draining()),
                }
            };
            check_end(&completion)?;
            timer.count(&completion.stats);
            usage.add(&completion.stats, index % self.delivery.n == 0);
            self.writer.close(&completion);
        }
        timer.end();
        Ok(self.writer.whole(&usage))
    }

    /// Keep-alive comments while the request waits for a permit, and then its events.
    fn queued_events(
        mut self,
        mut wait: PermitWait,
        mut timer: GenerationTimer,
    ) -> impl Stream<Item = String> + Send + use<> {
        stream! {
            let keep_alive = self.service.settings.keep_alive;
            let permit = loop {
                yield KEEP_ALIVE.to_owned();
                if let Ok(permit) = timeout(keep_alive, timer.wait(&mut wait)).await {
                    break permit;
                }
            };
            match permit {
                Ok(permit) => {
                    for await event in self.events(permit, timer, None) {
                        yield event;
                    }
                }
                Err(error) => yield self.writer.fail(&error),
            }
        }
    }

    fn events(
        mut self,
        permit: Permit,
        mut timer: GenerationTimer,
        mut first: Option<ReplyEvent>,
    ) -> impl Stream<Item = String> + Send + use<> {
        stream! {
            let _permit = permit;
            let mut usage = Usage::default();
            let keep_alive = self.service.settings.keep_alive;
            for (index, mut reply) in std::mem::take(&mut self.replies).into_iter().enumerate() {
                for event in self.writer.open(&reply.echo) {
                    yield event;
                }
                loop {
                    let event = match first.take() {
                        Some(event) => Some(event),
                        None => match timeout(keep_alive, next_of(&mut reply, &self.service)).await {
                            Ok(event) => event,
                            Err(_) => {
                                yield KEEP_ALIVE.to_owned();
                                continue;
                            }
                        },
                    };
                    let error = match event {
                        Some(Ok(MessageResponse::Complete(completion))) => {
                            timer.count(&completion.stats);
                            usage.add(&completion.stats, index % self.delivery.n == 0);
                            match check_end(&completion) {
                                Ok(()) => {
                                    for event in self.writer.close(&completion) {
                                        yield event;
                                    }
                                    break;
                                }
                                Err(error) => error,
                            }
                        }
                        Some(Ok(event)) => {
                            for event in self.writer.push(event) {
                                yield event;
                            }
                            continue;
                        }
                        Some(Err(err)) => HttpError::from_engine(&err),
                        None => HttpError::draining(),
                    };
                    timer.end();
                    yield self.writer.fail(&error);
                    return;
                }
            }
            timer.end();
            for event in self.writer.end(&usage) {
                yield event;
            }
        }
    }
}

/// The next event of a reply; `None` once replies must end.
async fn next_of(reply: &mut PulledReply, service: &Service) -> Option<ReplyEvent> {
    tokio::select! {
        biased;
        () = service.admission.replies_must_end() => None,
        event = reply.next() => event,
    }
}

/// A reply that was cancelled although its client is still there ended with the model.
fn check_end(completion: &Completion) -> Result<(), HttpError> {
    if completion.finish_reason == FinishReason::Interrupted { Err(HttpError::draining()) } else { Ok(()) }
}

/// The names of ignored fields as a header can carry them: without line breaks, and within the limit of bytes.
fn ignored_header(ignored: &[String]) -> Option<HeaderValue> {
    let mut left = MAX_IGNORED_BYTES;
    let (mut listed, longer): (Vec<String>, Vec<String>) =
        ignored.iter().map(|name| name.escape_debug().to_string()).partition(|name| {
            let fits = name.len() <= left;
            left -= if fits { name.len() } else { 0 };
            fits
        });
    if !longer.is_empty() {
        listed.push("...".to_owned());
    }
    HeaderValue::from_str(&listed.join(", ")).ok().filter(|header| !header.is_empty())
}

/// An event without a name.
fn data(json: &Json) -> String {
    format!("data: {json}\n\n")
}

/// An event named by its `type`.
fn named(json: &Json) -> String {
    format!("event: {}\ndata: {json}\n\n", json["type"].as_str().unwrap_or_default())
}
