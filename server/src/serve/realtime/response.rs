//! One response of a session: the reply that is pulled, and its events.

use std::sync::Arc;

use causerie::{
    ChatMessage, ChatMessageContent, Completion, Conversation, FinishReason, MessageResponse, ResponseStream, Role,
    SdkError, SdkFunctionCall,
};
use serde_json::{Value as Json, json};

use crate::serve::admission::{Permit, PermitWait};
use crate::serve::answer::events::{arguments, remarks, text_of};
use crate::serve::dialect::Dialect;
use crate::serve::error::HttpError;
use crate::serve::metrics::Metrics;
use crate::serve::realtime::events::{event, new_id};
use crate::serve::realtime::format::{EventSoundWriter, RATE};
use crate::serve::realtime::items::{ConversationItem, ItemBody, ItemMessage, ItemStatus};
use crate::serve::realtime::settings::ReplySettings;

/// Why a response is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CancelReason {
    Client,
    /// The user began to speak.
    Turn,
}

/// A response under way.
pub(super) struct ActiveResponse {
    pub(super) id: String,
    conversation_id: Option<String>,
    settings: ReplySettings,
    metadata: Json,
    pub(super) conversation: Conversation,
    has_functions: bool,
    /// `None` once the response has its permit.
    wait: Option<PermitWait>,
    _permit: Option<Permit>,
    stream: ResponseStream,
    metrics: Arc<Metrics>,
    message: Option<OpenMessage>,
    /// `None` before the first sound.
    sound: Option<EventSoundWriter>,
    /// The items that are done.
    output: Vec<Json>,
    /// Items so far, also those that are not done.
    n_items: usize,
    cancelled: Option<CancelReason>,
}

/// The item of the reply's text and sound.
struct OpenMessage {
    id: String,
    index: usize,
    text: String,
}

/// What a response needs to begin.
pub(super) struct ResponseStart {
    pub(super) settings: ReplySettings,
    pub(super) metadata: Json,
    pub(super) conversation: Conversation,
    pub(super) stream: ResponseStream,
    pub(super) metrics: Arc<Metrics>,
    pub(super) has_functions: bool,
    pub(super) wait: PermitWait,
    /// `None` for a response beside the conversation.
    pub(super) conversation_id: Option<String>,
}

/// What a response did: its events, and items that are new or changed.
#[derive(Default)]
pub(super) struct ResponseOutput {
    pub(super) events: Vec<ResponseEvent>,
    pub(super) has_ended: bool,
}

pub(super) enum ResponseEvent {
    /// An event that is sent as it is.
    Send(String),
    /// An item joins the conversation.
    Add(ConversationItem),
    /// An item is done.
    Done(ConversationItem),
}

impl ResponseOutput {
    fn send(&mut self, kind: &str, fields: Json) {
        self.events.push(ResponseEvent::Send(event(kind, fields)));
    }
}

impl ActiveResponse {
    pub(super) fn new(start: ResponseStart) -> Self {
        Self {
            id: new_id("resp"),
            conversation_id: start.conversation_id,
            settings: start.settings,
            metadata: start.metadata,
            conversation: start.conversation,
            has_functions: start.has_functions,
            wait: Some(start.wait),
            _permit: None,
            stream: start.stream,
            metrics: start.metrics,
            message: None,
            sound: None,
            output: Vec::new(),
            n_items: 0,
            cancelled: None,
        }
    }

    /// Whether its items are part of the conversation.
    pub(super) fn is_in_conversation(&self) -> bool {
        self.conversation_id.is_some()
    }

    /// The id of the item of its text and sound, once that has begun.
    pub(super) fn message_id(&self) -> Option<&str> {
        self.message.as_ref().map(|message| message.id.as_str())
    }

    /// Asks it to end. The first reason counts.
    pub(super) fn cancel(&mut self, reason: CancelReason) {
        self.cancelled.get_or_insert(reason);
        self.stream.cancel();
    }

    /// Waits for a permit, then for the next event of the reply; `None` after the last one. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<Result<MessageResponse, ResponseError>> {
        // What was cancelled needs no permit to end.
        if let Some(wait) = self.wait.as_mut().filter(|_| self.cancelled.is_none()) {
            match wait.await {
                Ok(permit) => self._permit = Some(permit),
                Err(error) => return Some(Err(ResponseError::Refused(error))),
            }
        }
        self.wait = None;
        Some(self.stream.next().await?.map_err(ResponseError::Failed))
    }

    /// The response as `response.created` shows it.
    pub(super) fn begun(&self) -> Json {
        self.json("in_progress", Json::Null, Json::Null)
    }

    /// Follows an event of the reply.
    pub(super) fn follow(&mut self, event: Result<MessageResponse, ResponseError>) -> ResponseOutput {
        let mut out = ResponseOutput::default();
        match event {
            Ok(MessageResponse::AudioSample { samples, sample_rate: RATE }) => self.speak(&samples, &mut out),
            Ok(MessageResponse::AudioSample { sample_rate, .. }) => {
                self.stream.cancel();
                let rule = format!("the model must speak at {RATE} samples per second, found {sample_rate}");
                let error = HttpError::new(hyper::StatusCode::INTERNAL_SERVER_ERROR, "internal", rule);
                self.fail(&ResponseError::Refused(error), &mut out);
            }
            Ok(MessageResponse::Complete(completion)) => self.complete(*completion, &mut out),
            Ok(event) => match (text_of(&event, self.has_functions), &event) {
                (Some(text), _) => self.write(&text, &mut out),
                (None, MessageResponse::FunctionCalls(calls)) => {
                    calls.iter().for_each(|call| self.call(call, &mut out));
                }
                _ => {}
            },
            Err(error) => self.fail(&error, &mut out),
        }
        out
    }

    fn write(&mut self, text: &str, out: &mut ResponseOutput) {
        let is_spoken = self.settings.is_spoken;
        let kind = if is_spoken { "response.output_audio_transcript.delta" } else { "response.output_text.delta" };
        let place = self.open(out);
        if let Some(message) = &mut self.message {
            message.text.push_str(text);
        }
        out.send(kind, with(place, json!({ "delta": text })));
    }

    fn speak(&mut self, samples: &[f32], out: &mut ResponseOutput) {
        let place = self.open(out);
        let writer = self.sound.get_or_insert_with(|| EventSoundWriter::new(self.settings.sound));
        let delta = writer.push(samples);
        // A telephone's first piece may be too short for a sample.
        if !delta.is_empty() {
            out.send("response.output_audio.delta", with(place, json!({ "delta": delta })));
        }
    }

    /// Begins the item of the reply's text and sound, unless it has begun. Returns its place, as its events name it.
    fn open(&mut self, out: &mut ResponseOutput) -> Json {
        if self.message.is_none() {
            let message = OpenMessage { id: new_id("item"), index: self.n_items, text: String::new() };
            self.n_items += 1;
            let item = self.item(message.id.clone(), ItemStatus::InProgress, ChatMessage::new(Role::Assistant, ""));
            self.add(item, message.index, out);
            self.message = Some(message);
            let part = self.part("");
            out.send("response.content_part.added", with(self.place(), json!({ "part": part })));
        }
        self.place()
    }

    fn place(&self) -> Json {
        let (item_id, index) = self.message.as_ref().map_or(("", 0), |message| (message.id.as_str(), message.index));
        json!({ "response_id": self.id, "item_id": item_id, "output_index": index, "content_index": 0 })
    }

    fn part(&self, text: &str) -> Json {
        match self.settings.is_spoken {
            true => json!({ "type": "audio", "transcript": text }),
            false => json!({ "type": "text", "text": text }),
        }
    }

    fn item(&self, id: String, status: ItemStatus, mut message: ChatMessage) -> ConversationItem {
        message.content.retain(|part| !matches!(part, ChatMessageContent::Text(text) if text.is_empty()));
        let body = ItemBody::Message(ItemMessage { message, is_spoken: self.settings.is_spoken });
        ConversationItem { id, status, body }
    }

    fn add(&self, item: ConversationItem, index: usize, out: &mut ResponseOutput) {
        let added = json!({ "response_id": self.id, "output_index": index, "item": item.json() });
        out.send("response.output_item.added", added);
        out.events.push(ResponseEvent::Add(item));
    }

    fn done(&mut self, item: ConversationItem, index: usize, out: &mut ResponseOutput) {
        let shown = item.json();
        let done = json!({ "response_id": self.id, "output_index": index, "item": shown });
        out.send("response.output_item.done", done);
        out.events.push(ResponseEvent::Done(item));
        self.output.push(shown);
    }

    fn call(&mut self, call: &SdkFunctionCall, out: &mut ResponseOutput) {
        let index = self.n_items;
        self.n_items += 1;
        let id = new_id("item");
        let item =
            ConversationItem { id: id.clone(), status: ItemStatus::InProgress, body: ItemBody::Call(call.clone()) };
        self.add(item, index, out);
        let arguments = arguments(call);
        let place = || json!({ "response_id": self.id, "item_id": id, "output_index": index, "call_id": call.call_id });
        out.send("response.function_call_arguments.delta", with(place(), json!({ "delta": arguments })));
        let whole = json!({ "arguments": arguments, "name": call.name });
        out.send("response.function_call_arguments.done", with(place(), whole));
        self.done(ConversationItem::new(id, ItemBody::Call(call.clone())), index, out);
    }

    /// Ends the item of text and sound. What was cut is not shown any more.
    fn close(&mut self, message: ChatMessage, out: &mut ResponseOutput) {
        let Some(OpenMessage { id, index, .. }) = &self.message else { return };
        let (id, index, text) = (id.clone(), *index, message.text());
        if let Some(delta) = self.sound.take().and_then(EventSoundWriter::finish) {
            out.send("response.output_audio.delta", with(self.place(), json!({ "delta": delta })));
        }
        if self.settings.is_spoken {
            out.send("response.output_audio.done", self.place());
            out.send("response.output_audio_transcript.done", with(self.place(), json!({ "transcript": text })));
        } else {
            out.send("response.output_text.done", with(self.place(), json!({ "text": text })));
        }
        out.send("response.content_part.done", with(self.place(), json!({ "part": self.part(&text) })));
        let status = if message.incomplete { ItemStatus::Incomplete } else { ItemStatus::Completed };
        // Calls are items of their own.
        let item = self.item(id, status, ChatMessage { function_calls: None, ..message });
        self.done(item, index, out);
    }

    fn complete(&mut self, completion: Completion, out: &mut ResponseOutput) {
        let remarks = remarks(&completion);
        let Completion { full_message, finish_reason, stats, .. } = completion;
        self.metrics.count_tokens(&stats);
        let (status, details) = match finish_reason {
            FinishReason::Interrupted => {
                let reason = match self.cancelled {
                    Some(CancelReason::Turn) => "turn_detected",
                    Some(CancelReason::Client) | None => "client_cancelled",
                };
                ("cancelled", json!({ "type": "cancelled", "reason": reason }))
            }
            FinishReason::MaxTokens | FinishReason::ExceedContext => {
                ("incomplete", json!({ "type": "incomplete", "reason": "max_output_tokens" }))
            }
            _ => ("completed", Json::Null),
        };
        self.close(full_message, out);
        let usage = json!({
            "total_tokens": stats.prompt_tokens + stats.completion_tokens,
            "input_tokens": stats.prompt_tokens,
            "output_tokens": stats.completion_tokens,
            "input_token_details": {
                "text_tokens": stats.prompt_tokens.saturating_sub(stats.audio_tokens),
                "audio_tokens": stats.audio_tokens,
                "cached_tokens": stats.cached_prompt_tokens,
            },
            "output_token_details": {
                "text_tokens": stats.completion_tokens.saturating_sub(stats.spoken_tokens),
                "audio_tokens": stats.spoken_tokens,
            },
        });
        let mut response = self.json(status, details, usage);
        for (name, remark) in remarks {
            response[name] = remark;
        }
        out.send("response.done", json!({ "response": response }));
        out.has_ended = true;
    }

    /// Ends it with an error.
    fn fail(&mut self, error: &ResponseError, out: &mut ResponseOutput) {
        let error = match error {
            ResponseError::Refused(error) => error.json(Dialect::Realtime, None),
            ResponseError::Failed(err) => HttpError::from_engine(err).json(Dialect::Realtime, None),
        };
        let partial = self.stream.partial().cloned();
        let text = self.message.as_ref().map_or("", |message| message.text.as_str());
        let so_far = partial.unwrap_or_else(|| ChatMessage::assistant(text));
        self.close(ChatMessage { incomplete: true, ..so_far }, out);
        let details = json!({ "type": "failed", "error": error["error"] });
        out.send("response.done", json!({ "response": self.json("failed", details, Json::Null) }));
        out.has_ended = true;
    }

    fn json(&self, status: &str, details: Json, usage: Json) -> Json {
        json!({
            "object": "realtime.response",
            "id": self.id,
            "status": status,
            "status_details": details,
            "output": self.output,
            "conversation_id": self.conversation_id,
            "output_modalities": self.settings.modalities(),
            "max_output_tokens": self.settings.max_tokens(),
            "audio": { "output": self.settings.output() },
            "usage": usage,
            "metadata": self.metadata,
        })
    }
}

/// Why a response fails.
pub(super) enum ResponseError {
    /// The server refused it.
    Refused(HttpError),
    /// The engine failed.
    Failed(SdkError),
}

/// The fields of two objects.
fn with(mut fields: Json, more: Json) -> Json {
    if let (Json::Object(fields), Json::Object(more)) = (&mut fields, more) {
        fields.extend(more);
    }
    fields
}
