//! A realtime session: what each event of its client does, and the events that follow. Nothing here waits.

use std::sync::Arc;
use std::time::Duration;

use causerie::{ChatMessageContent, Role, SpeechMode};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::serve::error::HttpError;
use crate::serve::realtime::events::{error_event, event, new_id};
use crate::serve::realtime::input::{InputBuffer, InputChange};
use crate::serve::realtime::items::{self, ConversationItem, ItemBody, ItemMessage, ItemStatus};
use crate::serve::realtime::response::{ActiveResponse, CancelReason, ResponseEvent, ResponseOutput, ResponseStart};
use crate::serve::realtime::settings::{Abilities, SessionSettings};
use crate::serve::realtime::transcripts::{Transcribed, Transcripts};
use crate::serve::request::json::parse_object;
use crate::serve::request::must_be;
use crate::serve::service::Service;

/// Bytes of all items of a session together.
const MAX_ITEM_BYTES: usize = 64 << 20;
const MAX_ITEMS: usize = 10_000;
/// The shortest sound that can be committed.
const MIN_COMMIT_MS: u64 = 100;

pub(super) struct Session {
    service: Arc<Service>,
    id: String,
    conversation_id: String,
    abilities: Abilities,
    settings: SessionSettings,
    input: InputBuffer,
    /// The id of the item that the turn under way becomes.
    turn_id: Option<String>,
    items: Vec<ConversationItem>,
    pub(super) response: Option<ActiveResponse>,
    /// Whether a response to the conversation follows once the one under way has ended and all turns are written down.
    is_response_due: bool,
    pub(super) transcripts: Transcripts,
    /// Turns that the model reads, which are being written down.
    n_unread: usize,
    /// Events that were not sent yet.
    pub(super) events: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct AppendFields {
    audio: String,
}

#[derive(Debug, Deserialize)]
struct ItemIdFields {
    item_id: String,
}

#[derive(Debug, Deserialize)]
struct TruncateFields {
    item_id: String,
    #[serde(default)]
    content_index: u64,
    audio_end_ms: u64,
}

#[derive(Debug, Deserialize)]
struct CreateItemFields {
    previous_item_id: Option<String>,
    item: Json,
}

#[derive(Debug, Deserialize)]
struct CancelFields {
    response_id: Option<String>,
}

impl Session {
    pub(super) fn new(service: &Arc<Service>, is_transcription: bool) -> Result<Self, HttpError> {
        let info = service.runner()?.info();
        let abilities = Abilities {
            hears: info.supports_audio,
            speaks: info.supports_speech,
            transcribes: service.transcriber.get().is_some(),
        };
        let settings = SessionSettings::new(abilities, is_transcription);
        let mut session = Self {
            service: Arc::clone(service),
            id: new_id("sess"),
            conversation_id: new_id("conv"),
            abilities,
            input: InputBuffer::new(settings.input.rate(), settings.turns.as_ref()),
            settings,
            turn_id: None,
            items: Vec::new(),
            response: None,
            is_response_due: false,
            transcripts: Transcripts::new(service),
            n_unread: 0,
            events: Vec::new(),
        };
        let shown = session.json();
        session.send("session.created", json!({ "session": shown }));
        Ok(session)
    }

    /// Follows an event of the client.
    pub(super) fn receive(&mut self, text: &str) {
        let read = parse_object(text.as_bytes());
        let id = read.as_ref().ok().and_then(|event| event.get("event_id")?.as_str().map(str::to_owned));
        if let Err(error) = read.and_then(|event| self.follow(event)) {
            self.events.push(error_event(&error, id.as_deref()));
        }
    }

    /// Refuses an event that cannot be read.
    pub(super) fn refuse(&mut self, rule: &str) {
        self.events.push(error_event(&HttpError::new(StatusCode::BAD_REQUEST, "invalid_event", rule), None));
    }

    fn follow(&mut self, mut event: Map<String, Json>) -> Result<(), HttpError> {
        let kind = event.remove("type").unwrap_or_default();
        let mut field = |name: &str| event.remove(name).unwrap_or_default();
        match kind.as_str().unwrap_or_default() {
            "session.update" => self.update(field("session")),
            // Of sessions that only transcribe, as older clients write it.
            "transcription_session.update" => self.update(field("session")),
            "input_audio_buffer.append" => self.append(read(event)?),
            "input_audio_buffer.commit" => self.commit(),
            "input_audio_buffer.clear" => {
                self.input.commit();
                self.turn_id = None;
                self.send("input_audio_buffer.cleared", json!({}));
                Ok(())
            }
            "conversation.item.create" => self.create_item(read(event)?),
            "conversation.item.retrieve" => {
                let found = self.find(&read::<ItemIdFields>(event)?.item_id);
                // Clients know this error by its code.
                let at = found.map_err(|error| error.with_code("item_retrieve_invalid_item_id"))?;
                let item = self.items[at].json();
                self.send("conversation.item.retrieved", json!({ "item": item }));
                Ok(())
            }
            "conversation.item.delete" => {
                let at = self.find(&read::<ItemIdFields>(event)?.item_id)?;
                let id = self.items.remove(at).id;
                self.send("conversation.item.deleted", json!({ "item_id": id }));
                Ok(())
            }
            "conversation.item.truncate" => self.truncate(&read(event)?),
            "response.create" => self.create_response(field("response")),
            "response.cancel" => self.cancel(&read(event)?),
            "output_audio_buffer.clear" => Ok(()), // the client plays what it has
            _ => {
                let rule = "type must be the type of an event of the realtime API";
                Err(HttpError::new(StatusCode::BAD_REQUEST, "invalid_event", rule).at("type"))
            }
        }
    }

    fn update(&mut self, session: Json) -> Result<(), HttpError> {
        let Json::Object(session) = session else {
            return Err(HttpError::value("session", format!("session {}", must_be("an object", &session))));
        };
        let mut settings = self.settings.clone();
        settings.update(&session, self.abilities)?;
        self.settings = settings;
        self.input.set(self.settings.input.rate(), self.settings.turns.as_ref());
        let shown = self.json();
        self.send("session.updated", json!({ "session": shown }));
        Ok(())
    }

    fn append(&mut self, AppendFields { audio }: AppendFields) -> Result<(), HttpError> {
        if !self.abilities.hears && !self.abilities.transcribes {
            let rule =
                "audio must be left out: the model has no audio input, and this server has no model that transcribes";
            return Err(HttpError::unsupported("audio", rule));
        }
        let samples = self.settings.input.decode("audio", &audio)?;
        for change in self.input.push(&samples)? {
            match change {
                InputChange::Began { ms } => {
                    let id = self.turn_id.insert(new_id("item")).clone();
                    self.send("input_audio_buffer.speech_started", json!({ "audio_start_ms": ms, "item_id": id }));
                    let interrupts = self.settings.turns.as_ref().is_some_and(|turns| turns.interrupts);
                    if let Some(response) = self.response.as_mut().filter(|_| interrupts) {
                        response.cancel(CancelReason::Turn);
                    }
                }
                InputChange::Ended { ms, samples } => {
                    let id = self.turn_id.take().unwrap_or_else(|| new_id("item"));
                    self.send("input_audio_buffer.speech_stopped", json!({ "audio_end_ms": ms, "item_id": id }));
                    self.add_turn(id, &samples)?;
                    let creates = self.settings.turns.as_ref().is_some_and(|turns| turns.creates_response);
                    self.is_response_due |= creates && !self.settings.is_transcription;
                    self.respond_if_due();
                }
            }
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), HttpError> {
        let found = self.input.duration_ms();
        if found < MIN_COMMIT_MS {
            let rule = format!(
                "the input audio buffer must have at least {MIN_COMMIT_MS} ms of sound to be committed, found {found} ms"
            );
            return Err(HttpError::new(StatusCode::BAD_REQUEST, "input_audio_buffer_commit_empty", rule));
        }
        let samples = self.input.commit();
        let id = self.turn_id.take().unwrap_or_else(|| new_id("item"));
        self.add_turn(id, &samples)
    }

    /// Adds what the user has said.
    fn add_turn(&mut self, id: String, samples: &[i16]) -> Result<(), HttpError> {
        let sound = items::sound("audio", samples, self.settings.input.rate())?;
        let mut shown = ItemMessage::of_sound(sound.clone());
        if !self.abilities.hears {
            shown.message.content.clear(); // the model reads what is written down of it
        }
        let item = ConversationItem::new(id.clone(), ItemBody::Message(shown));
        self.check_size(&item)?;
        let previous = self.items.last().map(|item| item.id.clone());
        self.send("input_audio_buffer.committed", json!({ "previous_item_id": previous, "item_id": id }));
        self.add(self.items.len(), item);
        if let (ChatMessageContent::Audio(file), true) = (sound, self.abilities.transcribes)
            && (!self.abilities.hears || self.settings.transcription.is_some() || self.settings.is_transcription)
        {
            self.n_unread += usize::from(!self.abilities.hears);
            self.transcripts.start(id, file, self.settings.transcription.as_ref());
        }
        Ok(())
    }

    /// Follows the end of a transcription.
    pub(super) fn transcribed(&mut self, Transcribed { item_id, result }: Transcribed) {
        match result {
            Ok((text, seconds)) => {
                let item = self.items.iter_mut().find(|item| item.id == item_id);
                if let Some(ConversationItem { body: ItemBody::Message(shown), .. }) = item
                    && !self.abilities.hears
                {
                    shown.message.content = vec![ChatMessageContent::Text(text.clone())];
                }
                self.send(
                    "conversation.item.input_audio_transcription.completed",
                    json!({
                        "item_id": item_id,
                        "content_index": 0,
                        "transcript": text,
                        "usage": { "type": "duration", "seconds": seconds },
                    }),
                );
            }
            Err(error) => {
                let body = error.json(crate::serve::dialect::Dialect::Realtime, None);
                self.send(
                    "conversation.item.input_audio_transcription.failed",
                    json!({ "item_id": item_id, "content_index": 0, "error": body["error"] }),
                );
            }
        }
        self.n_unread = self.n_unread.saturating_sub(usize::from(!self.abilities.hears));
        self.respond_if_due();
    }

    fn create_item(&mut self, CreateItemFields { previous_item_id, item }: CreateItemFields) -> Result<(), HttpError> {
        let item = ConversationItem::read("item", &item, self.settings.input, || new_id("item"))?;
        if self.items.iter().any(|other| other.id == item.id) {
            let rule = format!("item.id must be new, found {:?}", item.id);
            return Err(HttpError::value("item.id", rule).at_exactly("item.id"));
        }
        let at = match previous_item_id.as_deref() {
            None => self.items.len(),
            Some("root") => 0,
            Some(previous) => 1 + self.find(previous)?,
        };
        self.check_size(&item)?;
        self.add(at, item);
        Ok(())
    }

    /// Cuts a reply to what was heard of it; it ends if it is under way.
    fn truncate(&mut self, fields: &TruncateFields) -> Result<(), HttpError> {
        let TruncateFields { item_id, content_index, audio_end_ms } = fields;
        let at = self.find(item_id)?;
        let ItemBody::Message(shown) = &mut self.items[at].body else { return Err(not_a_reply()) };
        if shown.message.role != Role::Assistant {
            return Err(not_a_reply());
        }
        if *content_index != 0 {
            return Err(HttpError::value("content_index", "content_index must be 0: a reply has one part"));
        }
        let played = Duration::from_millis(*audio_end_ms);
        match &mut self.response {
            Some(response) if response.message_id() == Some(item_id) => {
                response.conversation.interrupt(played);
                response.cancel(CancelReason::Client);
            }
            _ => {
                let history = vec![shown.message.clone()];
                let conversation = self.service.runner()?.create_conversation_from_history(history);
                conversation.interrupt(played);
                match conversation.history().pop() {
                    Some(heard) => shown.message = heard,
                    None => shown.message.content.clear(),
                }
            }
        }
        let cut = json!({ "item_id": item_id, "content_index": 0, "audio_end_ms": audio_end_ms });
        self.send("conversation.item.truncated", cut);
        Ok(())
    }

    fn create_response(&mut self, fields: Json) -> Result<(), HttpError> {
        if self.response.is_some() {
            let rule = "the conversation has a response under way: wait for response.done, or cancel it";
            return Err(HttpError::new(StatusCode::BAD_REQUEST, "conversation_already_has_active_response", rule));
        }
        let fields = match fields {
            Json::Null => Map::new(),
            Json::Object(fields) => fields,
            other => return Err(HttpError::value("response", format!("response {}", must_be("an object", &other)))),
        };
        if fields.is_empty() && 0 < self.n_unread {
            self.is_response_due = true;
            return Ok(());
        }
        self.respond(&fields)
    }

    /// Begins the response that is due, if nothing is in its way.
    fn respond_if_due(&mut self) {
        if !self.is_response_due || self.response.is_some() || 0 < self.n_unread {
            return;
        }
        self.is_response_due = false;
        if let Err(error) = self.respond(&Map::new()) {
            self.events.push(error_event(&error, None));
        }
    }

    fn respond(&mut self, fields: &Map<String, Json>) -> Result<(), HttpError> {
        let mut settings = self.settings.reply.clone();
        settings.update("response", fields, self.abilities)?;
        let is_beside = fields.get("conversation").is_some_and(|conversation| conversation == "none");
        let (options, functions) = settings.apply()?;
        let instructions = match settings.instructions.as_str() {
            "" if settings.is_spoken => SpeechMode::INTERLEAVED_PROMPT,
            instructions => instructions,
        };
        let history = match fields.get("input").and_then(Json::as_array) {
            Some(input) => items::history(instructions, &self.read_input(input)?),
            None => items::history(instructions, &self.items),
        };
        let runner = self.service.runner()?;
        let has_functions = !functions.is_empty() && options.tool_choice != causerie::ToolChoice::None;
        let conversation = runner.create_conversation_from_history(history);
        if !functions.is_empty() {
            if !runner.supports_function_calling() {
                let rule = "tools must be left out: the model's chat template cannot offer functions";
                return Err(HttpError::unsupported("tools", rule));
            }
            conversation.register_functions(functions).map_err(|err| HttpError::from_engine(&err))?;
        }
        let start = ResponseStart {
            stream: conversation.continue_response(options),
            conversation,
            settings,
            metadata: fields.get("metadata").cloned().unwrap_or_default(),
            metrics: Arc::clone(&self.service.metrics),
            has_functions,
            wait: self.service.admission.enter()?,
            conversation_id: (!is_beside).then(|| self.conversation_id.clone()),
        };
        let response = ActiveResponse::new(start);
        self.send("response.created", json!({ "response": response.begun() }));
        self.response = Some(response);
        Ok(())
    }

    /// The items of a response's own input: each one of the conversation by its id, or a new one. Together they have the limits of a
    /// conversation, because a short event can name a long item many times.
    fn read_input(&self, input: &[Json]) -> Result<Vec<ConversationItem>, HttpError> {
        let (mut items, mut n_bytes) = (Vec::new(), 0);
        for (i, item) in input.iter().enumerate() {
            let item = if item["type"] == "item_reference" {
                self.items[self.find(item["id"].as_str().unwrap_or_default())?].clone()
            } else {
                ConversationItem::read(&format!("response.input[{i}]"), item, self.settings.input, || new_id("item"))?
            };
            n_bytes += item.size();
            check_limits(items.len() + 1, n_bytes)?;
            items.push(item);
        }
        Ok(items)
    }

    fn cancel(&mut self, CancelFields { response_id }: &CancelFields) -> Result<(), HttpError> {
        let is_it = |response: &&mut ActiveResponse| response_id.as_ref().is_none_or(|id| *id == response.id);
        match self.response.as_mut().filter(is_it) {
            Some(response) => {
                response.cancel(CancelReason::Client);
                Ok(())
            }
            None => {
                let rule = "no such response is under way";
                Err(HttpError::new(StatusCode::BAD_REQUEST, "response_cancel_not_active", rule))
            }
        }
    }

    /// Follows what the response under way did.
    pub(super) fn follow_response(&mut self, ResponseOutput { events, has_ended }: ResponseOutput) {
        let is_in_conversation = self.response.as_ref().is_some_and(ActiveResponse::is_in_conversation);
        for event in events {
            match event {
                ResponseEvent::Send(event) => self.events.push(event),
                ResponseEvent::Add(item) if is_in_conversation => self.add(self.items.len(), item),
                ResponseEvent::Done(item) if is_in_conversation => {
                    // It may have been deleted.
                    if let Ok(at) = self.find(&item.id) {
                        self.items[at] = item;
                        self.send_item("conversation.item.done", at);
                    }
                }
                ResponseEvent::Add(_) | ResponseEvent::Done(_) => {}
            }
        }
        if has_ended {
            self.response = None;
            self.respond_if_due();
        }
    }

    fn add(&mut self, at: usize, item: ConversationItem) {
        let is_done = item.status != ItemStatus::InProgress;
        self.items.insert(at, item);
        self.send_item("conversation.item.added", at);
        if is_done {
            self.send_item("conversation.item.done", at);
        }
    }

    fn send_item(&mut self, kind: &str, at: usize) {
        let previous = at.checked_sub(1).map(|previous| self.items[previous].id.clone());
        let item = self.items[at].json();
        self.send(kind, json!({ "previous_item_id": previous, "item": item }));
    }

    fn find(&self, id: &str) -> Result<usize, HttpError> {
        self.items.iter().position(|item| item.id == id).ok_or_else(|| {
            let rule = format!("item_id must be that of an item of the conversation, found {id:?}");
            HttpError::new(StatusCode::BAD_REQUEST, "item_not_found", rule).at("item_id")
        })
    }

    fn check_size(&self, item: &ConversationItem) -> Result<(), HttpError> {
        let n_bytes = self.items.iter().chain([item]).map(ConversationItem::size).sum();
        check_limits(self.items.len() + 1, n_bytes)
    }

    fn json(&self) -> Json {
        self.settings.json(&self.id, &self.service.model_id, self.abilities)
    }

    fn send(&mut self, kind: &str, fields: Json) {
        self.events.push(event(kind, fields));
    }
}

/// Refuses more items, or more bytes of them, than a conversation may have.
fn check_limits(n_items: usize, n_bytes: usize) -> Result<(), HttpError> {
    if n_bytes <= MAX_ITEM_BYTES && n_items <= MAX_ITEMS {
        return Ok(());
    }
    let rule = format!("a conversation must have at most {MAX_ITEMS} items and {MAX_ITEM_BYTES} bytes: delete items");
    Err(HttpError::new(StatusCode::BAD_REQUEST, "conversation_full", rule))
}

fn not_a_reply() -> HttpError {
    HttpError::value("item_id", "item_id must be that of a message of the assistant")
}

/// Reads the fields of an event.
fn read<T: serde::de::DeserializeOwned>(event: Map<String, Json>) -> Result<T, HttpError> {
    crate::serve::request::fields::RequestFields::new(event).read()
}
