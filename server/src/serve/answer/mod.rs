//! From replies to the wire: whole, or as a stream of server-sent events.
//!
//! The choices of a request are written one after the other. Nothing is sent before the first event of the first reply,
//! so that a prompt the engine refuses gets its status; but not longer than the keep-alive time, so that clients see
//! that their request is being worked on.

use std::convert::Infallible;
use std::sync::Arc;

use async_stream::stream;
use causerie::{Completion, FinishReason, MessageResponse, ResponseStream, SdkError};
use futures_core::Stream;
use http_body_util::StreamBody;
use hyper::Response;
use hyper::body::{Bytes, Frame};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use serde_json::{Map, Value as Json, json};
use tokio::time::timeout;

use crate::serve::admission::Slot;
use crate::serve::fault::Fault;
use crate::serve::metrics::Generating;
use crate::serve::options::Delivery;
use crate::serve::route::{Body, json_response};
use crate::serve::{Service, id};

mod choice;
mod usage;

use choice::Choice;
use usage::Usage;

pub(super) use choice::Form;

/// A comment: clients pass over it.
const KEEP_ALIVE: &str = ": working\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// Replies that have been asked for, and how they are wanted.
pub(super) struct Answer {
    service: Arc<Service>,
    form: Form,
    replies: Vec<PendingReply>,
    delivery: Delivery,
    id: String,
    created: u64,
}

/// A reply that is generated once it is pulled.
pub(super) struct PendingReply {
    pub(super) stream: ResponseStream,
    /// Text to put before it.
    pub(super) echo: String,
}

type Event = Result<MessageResponse, SdkError>;

impl Answer {
    pub(super) fn new(service: &Arc<Service>, form: Form, replies: Vec<PendingReply>, delivery: Delivery) -> Self {
        Self { service: Arc::clone(service), form, replies, delivery, id: id::unique(), created: id::now() }
    }

    /// Waits for a slot, then writes. When the client goes away this future is dropped, or the body that came of it, and
    /// with it the replies, which cancels them.
    pub(super) async fn send(mut self) -> Result<Response<Body>, Fault> {
        let ignored = self.delivery.ignored.join(", ");
        let slot = self.service.admission.enter().await?;
        let generating = Generating::start(&self.service.metrics);
        let mut response = if self.delivery.is_stream {
            let first = match self.replies.first_mut() {
                Some(reply) => timeout(self.service.settings.keep_alive, reply.stream.next()).await.ok().flatten(),
                None => None,
            };
            if let Some(Err(err)) = &first {
                generating.end();
                return Err(Fault::of(err));
            }
            event_stream(self.events(slot, generating, first))
        } else {
            json_response(&self.whole(slot, generating).await?)
        };
        if let Some(ignored) = HeaderValue::from_str(&ignored).ok().filter(|ignored| !ignored.is_empty()) {
            response.headers_mut().insert("x-ignored-fields", ignored);
        }
        Ok(response)
    }

    async fn whole(mut self, _slot: Slot, mut generating: Generating) -> Result<Json, Fault> {
        let (mut choices, mut usage) = (Vec::new(), Usage::default());
        for (index, mut reply) in std::mem::take(&mut self.replies).into_iter().enumerate() {
            let mut choice = self.choice(index);
            let completion = loop {
                match reply.stream.next().await {
                    Some(Ok(MessageResponse::Complete(completion))) => break completion,
                    Some(Ok(event)) => choice.gather(&event),
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
            choices.push(choice.whole(&completion, &reply.echo));
        }
        generating.end();
        let mut body = self.head(self.form.object());
        body.insert("choices".to_owned(), Json::Array(choices));
        body.insert("usage".to_owned(), usage.json());
        body.insert("timings".to_owned(), usage.timings());
        Ok(Json::Object(body))
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
                let mut choice = self.choice(index);
                for piece in choice.opening(&reply.echo) {
                    yield self.chunk(piece);
                }
                loop {
                    let event = match first.take() {
                        Some(event) => Some(event),
                        None => match timeout(keep_alive, reply.stream.next()).await {
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
                                    for piece in choice.closing(&completion) {
                                        yield self.chunk(piece);
                                    }
                                    break;
                                }
                                Err(fault) => fault,
                            }
                        }
                        Some(Ok(event)) => {
                            for piece in choice.pieces(event) {
                                yield self.chunk(piece);
                            }
                            continue;
                        }
                        Some(Err(err)) => Fault::of(&err),
                        None => Fault::draining(),
                    };
                    generating.end();
                    // The headers are sent: the error is an event, and nothing follows it.
                    yield data(&fault.json());
                    return;
                }
            }
            generating.end();
            if self.delivery.include_usage {
                let mut chunk = self.head(self.form.chunk_object());
                chunk.insert("choices".to_owned(), json!([]));
                chunk.insert("usage".to_owned(), usage.json());
                chunk.insert("timings".to_owned(), usage.timings());
                yield data(&Json::Object(chunk));
            }
            yield DONE.to_owned();
        }
    }

    fn choice(&self, index: usize) -> Choice {
        Choice::new(self.form, index, &self.id)
    }

    /// An event with one piece of a choice.
    fn chunk(&self, choice: Json) -> String {
        let mut chunk = self.head(self.form.chunk_object());
        chunk.insert("choices".to_owned(), Json::Array(vec![choice]));
        if self.delivery.include_usage {
            chunk.insert("usage".to_owned(), Json::Null);
        }
        data(&Json::Object(chunk))
    }

    /// What every object of this answer begins with.
    fn head(&self, object: &str) -> Map<String, Json> {
        let mut head = Map::new();
        head.insert("id".to_owned(), json!(format!("{}-{}", self.form.id_prefix(), self.id)));
        head.insert("object".to_owned(), json!(object));
        head.insert("created".to_owned(), json!(self.created));
        head.insert("model".to_owned(), json!(self.service.model_id));
        head.insert("system_fingerprint".to_owned(), json!(concat!("causerie-", env!("CARGO_PKG_VERSION"))));
        head
    }
}

/// A reply that was cancelled, though its client is still there, ended with the model.
fn check_end(completion: &Completion) -> Result<(), Fault> {
    if completion.finish_reason == FinishReason::Interrupted { Err(Fault::draining()) } else { Ok(()) }
}

fn data(json: &Json) -> String {
    format!("data: {json}\n\n")
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
