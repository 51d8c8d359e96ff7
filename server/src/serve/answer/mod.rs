//! From replies to the wire: whole, or as a stream of server-sent events.
//!
//! The replies to a request are written one after the other. Nothing is sent before the first event of the first reply,
//! so that a prompt the engine refuses gets its status; but not longer than the keep-alive time, in the queue or behind it,
//! so that clients see that their request is not forgotten. What is sent is up to a [`Writer`]: one for each form of reply that clients
//! know.

use std::convert::Infallible;
use std::sync::Arc;

use async_stream::stream;
use causerie::{Completion, FinishReason, MessageResponse, ResponseStream, SdkError};
use futures_core::Stream;
use http_body_util::StreamBody;
use hyper::Response;
use hyper::body::{Bytes, Frame};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use serde_json::Value as Json;
use tokio::time::{Instant, timeout, timeout_at};

use crate::serve::Service;
use crate::serve::admission::{Slot, Turn};
use crate::serve::fault::Fault;
use crate::serve::metrics::Generating;
use crate::serve::options::Delivery;
use crate::serve::route::{Body, json_response};

mod choice;
mod logprobs;
mod message;
mod piece;
mod reply;
mod response;
mod usage;

use reply::Reply;
use usage::Usage;

pub(super) use choice::{Choices, Form};
pub(super) use message::MessageWriter;
pub(super) use response::ResponseWriter;

/// A comment: clients pass over it.
const KEEP_ALIVE: &str = ": working\n\n";

/// Writes the replies to one request in the form of its route. It is told of everything in order and gives the events of
/// a stream; the whole it gives at the end.
pub(super) trait Writer: Send {
    /// A reply begins, behind a text that is part of it.
    fn open(&mut self, echo: &str) -> Vec<String>;

    /// Something of it has come, other than its end. Text is never empty, and always whole characters.
    fn push(&mut self, event: MessageResponse) -> Vec<String>;

    /// The reply has ended.
    fn close(&mut self, completion: &Completion) -> Vec<String>;

    /// All replies have ended.
    fn end(&mut self, usage: &Usage) -> Vec<String>;

    /// A reply has failed, and nothing follows. The headers are sent: the error is an event.
    fn fail(&mut self, fault: &Fault) -> String;

    /// All replies that have ended, as one object.
    fn whole(&mut self, usage: &Usage) -> Json;
}

/// Replies that have been asked for, and how they are wanted.
pub(super) struct Answer {
    service: Arc<Service>,
    writer: Box<dyn Writer>,
    replies: Vec<Reply>,
    delivery: Delivery,
}

/// A reply that is generated once it is pulled.
pub(super) struct PendingReply {
    pub(super) stream: ResponseStream,
    /// Text to put before it.
    pub(super) echo: String,
}

type Event = Result<MessageResponse, SdkError>;

impl Answer {
    pub(super) fn new(
        service: &Arc<Service>,
        writer: impl Writer + 'static,
        replies: Vec<PendingReply>,
        delivery: Delivery,
    ) -> Self {
        let replies = replies.into_iter().map(|reply| Reply::new(reply, &service.metrics)).collect();
        Self { service: Arc::clone(service), writer: Box::new(writer), replies, delivery }
    }

    /// Waits for a slot, then writes. When the client goes away this future is dropped, or the body that came of it, and
    /// with it the replies, which cancels them.
    pub(super) async fn send(self) -> Result<Response<Body>, Fault> {
        let ignored = self.delivery.ignored_names();
        let mut turn = self.service.admission.enter()?;
        let mut generating = Generating::start(&self.service.metrics);
        let mut response = if self.delivery.is_stream {
            self.stream(turn, generating).await?
        } else {
            let slot = generating.enter(&mut turn).await?;
            json_response(&self.whole(slot, generating).await?)
        };
        if let Some(ignored) = HeaderValue::from_str(&ignored).ok().filter(|ignored| !ignored.is_empty()) {
            response.headers_mut().insert("x-ignored-fields", ignored);
        }
        Ok(response)
    }

    /// A stream, begun once there is a first event, or when that takes too long.
    async fn stream(mut self, mut turn: Turn, mut generating: Generating) -> Result<Response<Body>, Fault> {
        let until = Instant::now() + self.service.settings.keep_alive;
        let Ok(slot) = timeout_at(until, generating.enter(&mut turn)).await else {
            return Ok(event_stream(self.queued_events(turn, generating)));
        };
        let slot = slot?;
        let first = match self.replies.first_mut() {
            Some(reply) => timeout_at(until, next_of(reply, &self.service)).await.ok().flatten(),
            None => None,
        };
        if let Some(Err(err)) = &first {
            generating.end();
            return Err(Fault::of(err));
        }
        Ok(event_stream(self.events(slot, generating, first)))
    }

    async fn whole(mut self, _slot: Slot, mut generating: Generating) -> Result<Json, Fault> {
        let mut usage = Usage::default();
        for (index, mut reply) in std::mem::take(&mut self.replies).into_iter().enumerate() {
            self.writer.open(&reply.echo);
            let completion = loop {
                match next_of(&mut reply, &self.service).await {
                    Some(Ok(MessageResponse::Complete(completion))) => break completion,
                    Some(Ok(event)) => drop(self.writer.push(event)),
                    Some(Err(err)) => {
                        generating.end();
                        return Err(Fault::of(&err));
                    }
                    None => return Err(Fault::draining()),
                }
            };
            check_end(&completion)?;
            generating.count(&completion.stats);
            usage.add(&completion.stats, index % self.delivery.n == 0);
            self.writer.close(&completion);
        }
        generating.end();
        Ok(self.writer.whole(&usage))
    }

    /// Signs of life while the request waits, and then its events.
    fn queued_events(
        mut self,
        mut turn: Turn,
        mut generating: Generating,
    ) -> impl Stream<Item = String> + Send + use<> {
        stream! {
            let keep_alive = self.service.settings.keep_alive;
            let slot = loop {
                yield KEEP_ALIVE.to_owned();
                if let Ok(slot) = timeout(keep_alive, generating.enter(&mut turn)).await {
                    break slot;
                }
            };
            match slot {
                Ok(slot) => {
                    for await event in self.events(slot, generating, None) {
                        yield event;
                    }
                }
                Err(fault) => yield self.writer.fail(&fault),
            }
        }
    }

    fn events(
        mut self,
        slot: Slot,
        mut generating: Generating,
        mut first: Option<Event>,
    ) -> impl Stream<Item = String> + Send + use<> {
        stream! {
            let _slot = slot;
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
                    let fault = match event {
                        Some(Ok(MessageResponse::Complete(completion))) => {
                            generating.count(&completion.stats);
                            usage.add(&completion.stats, index % self.delivery.n == 0);
                            match check_end(&completion) {
                                Ok(()) => {
                                    for event in self.writer.close(&completion) {
                                        yield event;
                                    }
                                    break;
                                }
                                Err(fault) => fault,
                            }
                        }
                        Some(Ok(event)) => {
                            for event in self.writer.push(event) {
                                yield event;
                            }
                            continue;
                        }
                        Some(Err(err)) => Fault::of(&err),
                        None => Fault::draining(),
                    };
                    generating.end();
                    yield self.writer.fail(&fault);
                    return;
                }
            }
            generating.end();
            for event in self.writer.end(&usage) {
                yield event;
            }
        }
    }
}

/// The next event of a reply; none where replies are to end.
async fn next_of(reply: &mut Reply, service: &Service) -> Option<Event> {
    tokio::select! {
        biased;
        () = service.admission.given_up() => None,
        event = reply.next() => event,
    }
}

/// A reply that was cancelled, though its client is still there, ended with the model.
fn check_end(completion: &Completion) -> Result<(), Fault> {
    if completion.finish_reason == FinishReason::Interrupted { Err(Fault::draining()) } else { Ok(()) }
}

/// An event without a name.
fn data(json: &Json) -> String {
    format!("data: {json}\n\n")
}

/// An event whose name is that of its `type`.
fn named(json: &Json) -> String {
    format!("event: {}\ndata: {json}\n\n", json["type"].as_str().unwrap_or_default())
}

fn event_stream(events: impl Stream<Item = String> + Send + 'static) -> Response<Body> {
    let frames = stream! {
        for await event in events {
            yield Ok::<_, Infallible>(Frame::data(Bytes::from(event)));
        }
    };
    let mut response = Response::new(Body::new(StreamBody::new(frames)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
