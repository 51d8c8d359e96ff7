//! From replies to the wire: whole, or as a stream of server-sent events.
//!
//! The replies to a request are written one after the other. The headers wait for the first event of the first reply, so
//! that a prompt the engine refuses gets its status. They wait no longer than the keep-alive time, in the queue or after
//! it, so that clients see that their request is alive. A `DialectWriter` decides what is sent: each dialect has one.

use std::sync::Arc;

use causerie::{GenerationOptions, MessageResponse};
use hyper::Response;
use serde_json::Value as Json;
use tokio::time::{Instant, timeout, timeout_at};

use crate::serve::admission::{Permit, PermitWait};
use crate::serve::budget::BodyShare;
use crate::serve::error::HttpError;
use crate::serve::http::{ResponseBody, event_stream, json_response};
use crate::serve::metrics::GenerationTimer;
use crate::serve::request::{Delivery, PreparedChat, RequestNotes};
use crate::serve::service::Service;

mod choice;
mod dialect_writer;
pub(super) mod events;
mod logprobs;
mod message;
mod outbox;
mod pulled_reply;
mod response;
mod sound;
mod speech;
mod usage;

use dialect_writer::DialectWriter;
use outbox::{Outbox, outbox};
use pulled_reply::{PulledReply, check_end, next_of};

pub(super) use choice::{ChoiceForm, ChoiceWriter};
pub(super) use message::MessageWriter;
pub(super) use pulled_reply::PendingReply;
pub(super) use response::{ResponseWriter, decimal};
pub(super) use sound::SoundDelivery;
pub(super) use speech::{SpeechAnswer, SpeechForm};
pub(super) use usage::Usage;

/// The replies to a request, and how they are sent.
pub(super) struct Answer {
    service: Arc<Service>,
    writer: Box<dyn DialectWriter>,
    replies: Vec<PulledReply>,
    delivery: Delivery,
    notes: RequestNotes,
}

/// How far a stream has come when its headers are sent.
enum StreamStart {
    /// The request waits for a permit, and keeps its share of the memory budget.
    Queued(PermitWait, BodyShare),
    /// The reply has begun, perhaps with its first event.
    Begun(Permit, Option<MessageResponse>),
}

impl Answer {
    pub(super) fn new(
        service: &Arc<Service>,
        writer: impl DialectWriter + 'static,
        replies: Vec<PendingReply>,
        delivery: Delivery,
        notes: RequestNotes,
    ) -> Self {
        let replies = replies.into_iter().map(|reply| PulledReply::new(reply, &service.metrics)).collect();
        Self { service: Arc::clone(service), writer: Box::new(writer), replies, delivery, notes }
    }

    /// The answer to a chat request: its choices are forks of the conversation.
    pub(super) fn to_chat(service: &Arc<Service>, chat: PreparedChat, writer: impl DialectWriter + 'static) -> Self {
        let replies = (0..chat.delivery.n).map(|choice| {
            // Choices differ in their seeds and know nothing of each other.
            let stream = chat.conversation.fork().continue_response(with_seed(&chat.options, choice));
            let image_places = Arc::clone(&chat.image_places);
            PendingReply { stream, echo: String::new(), is_bare_string: chat.delivery.is_bare_string, image_places }
        });
        Self::new(service, writer, replies.collect(), chat.delivery, chat.notes)
    }

    /// Waits for a permit, then writes. Until then, the body's share of the memory budget is kept. When the client disconnects, this future is dropped, or the body that came of it,
    /// and with it the replies, which cancels them.
    pub(super) async fn send(self, share: BodyShare) -> Result<Response<ResponseBody>, HttpError> {
        let headers = self.notes.headers(&self.service.model_id);
        let mut wait = self.service.admission.enter()?;
        let mut timer = GenerationTimer::start(&self.service.metrics);
        let mut response = if self.delivery.is_stream {
            self.stream(wait, share, timer).await?
        } else {
            let permit = timer.wait(&mut wait).await?;
            drop(share);
            json_response(&self.whole(permit, timer).await?)
        };
        response.headers_mut().extend(headers);
        Ok(response)
    }

    /// A stream, which begins with the first event, or when that takes too long.
    async fn stream(
        mut self,
        mut wait: PermitWait,
        share: BodyShare,
        mut timer: GenerationTimer,
    ) -> Result<Response<ResponseBody>, HttpError> {
        let until = Instant::now() + self.service.settings.keep_alive;
        let Ok(permit) = timeout_at(until, timer.wait(&mut wait)).await else {
            return Ok(self.spawn(timer, StreamStart::Queued(wait, share)));
        };
        let permit = permit?;
        drop(share);
        let first = match self.replies.first_mut() {
            Some(reply) => timeout_at(until, next_of(reply, &self.service)).await.ok().flatten(),
            None => None,
        };
        match first.transpose() {
            Ok(first) => Ok(self.spawn(timer, StreamStart::Begun(permit, first))),
            Err(err) => {
                timer.end();
                Err(HttpError::from_engine(&err))
            }
        }
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

    /// Writes the events on a task of its own, until they end or the client is gone.
    fn spawn(self, timer: GenerationTimer, start: StreamStart) -> Response<ResponseBody> {
        let (outbox, events) = outbox(&self.service);
        let client_gone = outbox.client_gone();
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = client_gone => {}
                () = self.write(outbox, timer, start) => {}
            }
        });
        event_stream(events)
    }

    async fn write(mut self, mut outbox: Outbox, mut timer: GenerationTimer, start: StreamStart) {
        let written = match start {
            StreamStart::Queued(wait, share) => {
                match permit_of(wait, share, &self.service, &outbox, &mut timer).await {
                    Ok(permit) => self.write_replies(&mut outbox, &mut timer, permit, None).await,
                    Err(error) => Err(error),
                }
            }
            StreamStart::Begun(permit, first) => self.write_replies(&mut outbox, &mut timer, permit, first).await,
        };
        match written {
            Ok(()) => timer.end(),
            Err(error) => {
                if !error.is_unread_reply() {
                    timer.end();
                }
                outbox.end(self.writer.fail(&error));
            }
        }
    }

    async fn write_replies(
        &mut self,
        outbox: &mut Outbox,
        timer: &mut GenerationTimer,
        permit: Permit,
        mut first: Option<MessageResponse>,
    ) -> Result<(), HttpError> {
        outbox.start(permit);
        let mut usage = Usage::default();
        for (index, mut reply) in std::mem::take(&mut self.replies).into_iter().enumerate() {
            outbox.send(self.writer.open(&reply.echo)).await?;
            let completion = loop {
                let event = match first.take() {
                    Some(event) => event,
                    None => next_event(&mut reply, &self.service, outbox).await?,
                };
                match event {
                    MessageResponse::Complete(completion) => break completion,
                    event => outbox.send(self.writer.push(event)).await?,
                }
            };
            timer.count(&completion.stats);
            usage.add(&completion.stats, index % self.delivery.n == 0);
            check_end(&completion)?;
            outbox.send(self.writer.close(&completion)).await?;
        }
        outbox.send(self.writer.end(&usage)).await
    }
}

/// Waits for a permit, with comments that keep the stream alive.
async fn permit_of(
    mut wait: PermitWait,
    _share: BodyShare,
    service: &Service,
    outbox: &Outbox,
    timer: &mut GenerationTimer,
) -> Result<Permit, HttpError> {
    loop {
        outbox.keep_alive();
        if let Ok(permit) = timeout(service.settings.keep_alive, timer.wait(&mut wait)).await {
            return permit;
        }
    }
}

/// The next event of a reply, with comments that keep the stream alive until it comes.
async fn next_event(reply: &mut PulledReply, service: &Service, outbox: &Outbox) -> Result<MessageResponse, HttpError> {
    loop {
        match timeout(service.settings.keep_alive, next_of(reply, service)).await {
            Ok(Some(event)) => return event.map_err(|err| HttpError::from_engine(&err)),
            Ok(None) => return Err(HttpError::draining()),
            Err(_) => outbox.keep_alive(),
        }
    }
}

/// The options of one choice: seeds count up from the one requested.
pub(super) fn with_seed(options: &GenerationOptions, choice: usize) -> GenerationOptions {
    let seed = options.seed.map(|seed| seed.wrapping_add(choice as u64));
    GenerationOptions { seed, ..options.clone() }
}
