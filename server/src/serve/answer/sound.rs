//! The sound of choices in chat completions: whole, or in the deltas of a stream.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use causerie::{ChatMessageContent, Completion, Sound, SoundFileWriter, SoundFormat};
use serde_json::{Map, Value as Json, json};

use crate::serve::id;
use crate::serve::spoken_replies::SpokenReplies;

/// How long a client can name the sound of a reply, in seconds.
const LIFETIME: u64 = 3_600;
/// Bytes that base64 writes without padding. Clients join the texts of a stream.
const GROUP: usize = 3;

/// How the sound of a reply is sent, and where it is kept for the next request.
pub(in crate::serve) struct SoundDelivery {
    pub(in crate::serve) format: SoundFormat,
    pub(in crate::serve) is_stream: bool,
    pub(in crate::serve) store: SpokenReplies,
}

/// Writes the sound of choices, one after the other.
pub(super) struct SoundWriter {
    delivery: SoundDelivery,
    /// The sound of the current choice.
    id: String,
    is_named: bool,
    expires_at: u64,
    /// The samples so far, unless they are streamed.
    samples: Vec<f32>,
    sample_rate: u32,
    /// Bytes that are not sent yet.
    held: Vec<u8>,
}

impl SoundWriter {
    pub(super) fn new(delivery: SoundDelivery) -> Self {
        Self {
            delivery,
            id: String::new(),
            is_named: false,
            expires_at: 0,
            samples: Vec::new(),
            sample_rate: 0,
            held: Vec::new(),
        }
    }

    /// Begins a choice.
    pub(super) fn open(&mut self) {
        self.id = format!("audio_{}", id::unique());
        self.is_named = false;
    }

    /// The delta of a piece of text.
    pub(super) fn text(&mut self, text: &str) -> Json {
        self.delta("transcript", json!(text))
    }

    /// The delta of samples; `None` if nothing is to be sent yet.
    pub(super) fn sound(&mut self, samples: &[f32], sample_rate: u32) -> Option<Json> {
        self.sample_rate = sample_rate;
        if !self.delivery.is_stream {
            self.samples.extend_from_slice(samples);
            return None;
        }
        self.held.extend(SoundFileWriter::new(SoundFormat::Pcm, sample_rate).push(samples));
        let n_whole = self.held.len() / GROUP * GROUP;
        let rest = self.held.split_off(n_whole);
        let whole = std::mem::replace(&mut self.held, rest);
        (!whole.is_empty()).then(|| self.delta("data", json!(STANDARD.encode(whole))))
    }

    /// Ends a choice: keeps its sound, and returns the last deltas.
    pub(super) fn close(&mut self, completion: &Completion) -> Vec<Json> {
        let content = &completion.full_message.content;
        let mut deltas = Vec::new();
        if content.iter().any(|part| matches!(part, ChatMessageContent::Audio(_))) {
            self.expires_at = id::now() + LIFETIME;
            self.delivery.store.add(self.id.clone(), self.expires_at, content.clone());
            let held = std::mem::take(&mut self.held);
            deltas.extend((!held.is_empty()).then(|| self.delta("data", json!(STANDARD.encode(held)))));
            deltas.push(self.delta("expires_at", json!(self.expires_at)));
        }
        deltas
    }

    /// The sound of a whole choice; `None` if it has none.
    pub(super) fn whole(&mut self, transcript: &str) -> Option<Json> {
        let samples = std::mem::take(&mut self.samples);
        if samples.is_empty() {
            return None;
        }
        let file = Sound::from_samples(samples, self.sample_rate).ok()?.encode(self.delivery.format);
        Some(json!({
            "id": self.id,
            "data": STANDARD.encode(file),
            "expires_at": self.expires_at,
            "transcript": transcript,
        }))
    }

    /// A delta, which has the id if it is the first one: clients join the texts of deltas.
    fn delta(&mut self, name: &str, value: Json) -> Json {
        let mut audio = Map::from_iter([(name.to_owned(), value)]);
        if !std::mem::replace(&mut self.is_named, true) {
            audio.insert("id".to_owned(), json!(self.id));
        }
        json!({ "audio": audio })
    }
}
