//! Replies in the dialects of chat completions and completions: objects with choices.

use causerie::{Completion, FinishReason, MessageResponse, SdkFunctionCall};
use serde_json::{Map, Value as Json, json};

use crate::serve::answer::dialect_writer::{DialectWriter, data};
use crate::serve::answer::events::{arguments, diagnostics, rejected_calls, remarks, text_of};
use crate::serve::answer::logprobs::{self, LogprobColumns, Logprobs};
use crate::serve::answer::sound::{SoundDelivery, SoundWriter};
use crate::serve::answer::usage::Usage;
use crate::serve::dialect::Dialect;
use crate::serve::error::HttpError;
use crate::serve::id;

const DONE: &str = "data: [DONE]\n\n";

/// Which of the two dialects is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::serve) enum ChoiceForm {
    /// Chat completions.
    Chat {
        /// Whether the model may call functions. If not, text that looks like a call is text.
        has_functions: bool,
    },
    /// Completions.
    Text,
}

impl ChoiceForm {
    fn dialect(self) -> Dialect {
        match self {
            Self::Chat { .. } => Dialect::Chat,
            Self::Text => Dialect::Completions,
        }
    }

    fn id_prefix(self) -> &'static str {
        match self {
            Self::Chat { .. } => "chatcmpl",
            Self::Text => "cmpl",
        }
    }

    fn object(self) -> &'static str {
        match self {
            Self::Chat { .. } => "chat.completion",
            Self::Text => "text_completion",
        }
    }

    fn chunk_object(self) -> &'static str {
        match self {
            Self::Chat { .. } => "chat.completion.chunk",
            Self::Text => "text_completion",
        }
    }

    fn has_functions(self) -> bool {
        self == Self::Chat { has_functions: true }
    }
}

/// Writes choices, one after the other.
pub(in crate::serve) struct ChoiceWriter {
    form: ChoiceForm,
    include_usage: bool,
    /// The usage so far, if each event has it. Its counts do not include the tokens that end replies.
    usage_so_far: Option<Usage>,
    id: String,
    created: u64,
    model_id: String,
    /// Choices that have ended, whole.
    ended: Vec<Json>,
    /// Calls of the current choice so far; their indices run over the whole reply.
    n_calls: usize,
    has_reasoned: bool,
    /// The text of the current choice.
    text: String,
    /// Its tokens whose text is still to come.
    logprobs: Logprobs,
    columns: LogprobColumns,
    /// The log-probabilities sent so far.
    sent_logprobs: Json,
    /// The sound of the reply, if it has any.
    sound: Option<SoundWriter>,
}

impl ChoiceWriter {
    pub(in crate::serve) fn new(
        form: ChoiceForm,
        model_id: &str,
        include_usage: bool,
        usage_so_far: Option<Usage>,
        has_logprobs: bool,
    ) -> Self {
        Self {
            usage_so_far,
            logprobs: Logprobs::new(has_logprobs, form.has_functions()),
            columns: LogprobColumns::default(),
            sent_logprobs: Json::Null,
            form,
            include_usage,
            id: id::unique(),
            created: id::now(),
            model_id: model_id.to_owned(),
            ended: Vec::new(),
            n_calls: 0,
            has_reasoned: false,
            text: String::new(),
            sound: None,
        }
    }

    /// The reply has sound as well.
    pub(in crate::serve) fn with_sound(self, delivery: Option<SoundDelivery>) -> Self {
        Self { sound: delivery.map(SoundWriter::new), ..self }
    }

    /// The fields that every object of this answer begins with.
    fn head(&self, object: &str) -> Map<String, Json> {
        let mut head = Map::new();
        head.insert("id".to_owned(), json!(format!("{}-{}", self.form.id_prefix(), self.id)));
        head.insert("object".to_owned(), json!(object));
        head.insert("created".to_owned(), json!(self.created));
        head.insert("model".to_owned(), json!(self.model_id));
        head.insert("system_fingerprint".to_owned(), json!(concat!("causerie-", env!("CARGO_PKG_VERSION"))));
        head
    }

    /// An event with one piece of a choice.
    fn chunk(&self, choice: Json) -> String {
        let mut chunk = self.head(self.form.chunk_object());
        chunk.insert("choices".to_owned(), Json::Array(vec![choice]));
        if self.include_usage {
            chunk.insert("usage".to_owned(), self.usage_so_far.as_ref().map_or(Json::Null, Usage::json));
        }
        data(&Json::Object(chunk))
    }

    fn delta(&self, delta: Json) -> String {
        self.chunk(self.delta_piece(delta))
    }

    fn delta_piece(&self, delta: Json) -> Json {
        json!({ "index": self.index(), "delta": delta, "finish_reason": null })
    }

    /// The log-probabilities of the tokens whose text comes now; null if they were not requested.
    fn take_logprobs(&mut self) -> Json {
        let Some(tokens) = self.logprobs.take() else { return Json::Null };
        let piece = match self.form {
            ChoiceForm::Chat { .. } => logprobs::chat(&tokens),
            ChoiceForm::Text => self.columns.add(&tokens),
        };
        logprobs::append(&mut self.sent_logprobs, piece.clone());
        piece
    }

    /// A piece of the text, with the log-probabilities of its tokens.
    fn piece(&mut self, text: &str) -> Json {
        let logprobs = self.take_logprobs();
        let mut piece = match self.form {
            ChoiceForm::Chat { .. } => {
                let said = self.sound.as_mut().map_or_else(|| json!({ "content": text }), |sound| sound.text(text));
                self.delta_piece(said)
            }
            ChoiceForm::Text => self.text_piece(text),
        };
        if !logprobs.is_null() {
            piece["logprobs"] = logprobs;
        }
        piece
    }

    fn text_piece(&self, text: &str) -> Json {
        json!({ "index": self.index(), "text": text, "logprobs": null, "finish_reason": null })
    }

    fn index(&self) -> usize {
        self.ended.len()
    }

    /// A call in two pieces: its id and name, then its arguments.
    fn call_pieces(&mut self, call: &SdkFunctionCall) -> [String; 2] {
        let index = self.n_calls;
        self.n_calls += 1;
        let function = json!({ "name": call.name, "arguments": "" });
        let start = json!({ "index": index, "id": self.call_id(index), "type": "function", "function": function });
        let rest = json!({ "index": index, "function": { "arguments": arguments(call) } });
        [start, rest].map(|piece| self.delta(json!({ "tool_calls": [piece] })))
    }

    /// The id of a call, unique among all conversations.
    fn call_id(&self, call: usize) -> String {
        format!("call_{}_{}_{call}", self.id, self.index())
    }

    /// The current choice, whole.
    fn choice(&mut self, completion: &Completion) -> Json {
        let content = match self.form {
            ChoiceForm::Chat { .. } => ("message", self.message(completion)),
            ChoiceForm::Text => ("text", Json::String(std::mem::take(&mut self.text))),
        };
        json!({
            "index": self.index(),
            content.0: content.1,
            "logprobs": std::mem::take(&mut self.sent_logprobs),
            "finish_reason": self.finish_reason(completion),
            "seed": seed(completion),
        })
    }

    fn message(&mut self, completion: &Completion) -> Json {
        let reply = &completion.full_message;
        let text = std::mem::take(&mut self.text);
        let calls = reply.function_calls.as_deref().filter(|_| self.form.has_functions()).unwrap_or_default();
        let audio = self.sound.as_mut().and_then(|sound| sound.whole(&text));
        let is_elsewhere = audio.is_some() || text.is_empty() && !calls.is_empty();
        let content = if is_elsewhere { Json::Null } else { Json::String(text) };
        let mut message = Map::from_iter([("role".to_owned(), json!("assistant")), ("content".to_owned(), content)]);
        if let Some(reasoning) = &reply.reasoning_content {
            message.insert("reasoning_content".to_owned(), json!(reasoning));
        }
        if !calls.is_empty() {
            let calls = calls.iter().enumerate().map(|(i, call)| {
                let function = json!({ "name": call.name, "arguments": arguments(call) });
                json!({ "id": self.call_id(i), "type": "function", "function": function })
            });
            message.insert("tool_calls".to_owned(), calls.collect());
        }
        message.insert("refusal".to_owned(), Json::Null);
        if let Some(audio) = audio {
            message.insert("audio".to_owned(), audio);
        }
        message.extend(remarks(completion));
        Json::Object(message)
    }

    fn finish_reason(&self, completion: &Completion) -> &'static str {
        match completion.finish_reason {
            FinishReason::ToolCalls if self.form.has_functions() => "tool_calls",
            // A constraint that nothing can continue cuts the reply, too.
            FinishReason::MaxTokens | FinishReason::ExceedContext | FinishReason::Constraint => "length",
            _ => "stop",
        }
    }
}

impl DialectWriter for ChoiceWriter {
    fn open(&mut self, echo: &str) -> Vec<String> {
        echo.clone_into(&mut self.text);
        (self.n_calls, self.has_reasoned) = (0, false);
        self.columns = LogprobColumns::default();
        self.sound.iter_mut().for_each(SoundWriter::open);
        match self.form {
            ChoiceForm::Chat { .. } => vec![self.delta(json!({ "role": "assistant", "content": null }))],
            ChoiceForm::Text if echo.is_empty() => Vec::new(),
            ChoiceForm::Text => vec![self.chunk(self.text_piece(echo))],
        }
    }

    fn push(&mut self, event: MessageResponse) -> Vec<String> {
        if let (Some(usage), MessageResponse::Logprobs(tokens)) = (&mut self.usage_so_far, &event) {
            tokens.iter().for_each(|_| usage.add_token());
        }
        if let Some(text) = text_of(&event, self.form.has_functions()) {
            self.text.push_str(&text);
            let piece = self.piece(&text);
            return vec![self.chunk(piece)];
        }
        self.logprobs.take_from(&event);
        match event {
            MessageResponse::ReasoningChunk(text) => {
                self.has_reasoned = true;
                vec![self.delta(json!({ "reasoning_content": text }))]
            }
            MessageResponse::AudioSample { samples, sample_rate } => {
                let delta = self.sound.as_mut().and_then(|sound| sound.sound(&samples, sample_rate));
                delta.map(|delta| self.delta(delta)).into_iter().collect()
            }
            MessageResponse::FunctionCalls(calls) => calls.iter().flat_map(|call| self.call_pieces(call)).collect(),
            MessageResponse::FunctionCallsRejected(rejected) => {
                vec![self.delta(json!({ "rejected_calls": rejected_calls(&rejected) }))]
            }
            _ => Vec::new(),
        }
    }

    fn close(&mut self, completion: &Completion) -> Vec<String> {
        let mut events = Vec::new();
        // Reasoning that was not requested comes with no event, but it is part of the message.
        if let Some(reasoning) = completion.full_message.reasoning_content.as_ref()
            && self.form != ChoiceForm::Text
            && !self.has_reasoned
        {
            events.push(self.delta(json!({ "reasoning_content": reasoning })));
        }
        let sound = self.sound.as_mut().map(|sound| sound.close(completion)).unwrap_or_default();
        events.extend(sound.into_iter().map(|delta| self.delta(delta)));
        let mut last = match self.form {
            ChoiceForm::Chat { .. } if !completion.diagnostics.is_empty() => {
                self.delta_piece(json!({ "diagnostics": diagnostics(&completion.diagnostics) }))
            }
            ChoiceForm::Chat { .. } => self.delta_piece(json!({})),
            ChoiceForm::Text => self.text_piece(""),
        };
        self.logprobs.take(); // what is left has no text, such as a part of a character
        self.take_logprobs(); // gives a choice without text an empty array
        last["finish_reason"] = json!(self.finish_reason(completion));
        last["seed"] = json!(seed(completion));
        events.push(self.chunk(last));
        let choice = self.choice(completion);
        self.ended.push(choice);
        events
    }

    fn end(&mut self, usage: &Usage) -> Vec<String> {
        let mut events = Vec::new();
        if self.include_usage {
            let mut chunk = self.head(self.form.chunk_object());
            chunk.insert("choices".to_owned(), json!([]));
            chunk.insert("usage".to_owned(), usage.json());
            chunk.insert("timings".to_owned(), usage.timings());
            events.push(data(&Json::Object(chunk)));
        }
        events.push(DONE.to_owned());
        events
    }

    fn fail(&mut self, error: &HttpError) -> String {
        data(&error.json(self.form.dialect(), None))
    }

    fn whole(&mut self, usage: &Usage) -> Json {
        let mut body = self.head(self.form.object());
        body.insert("choices".to_owned(), Json::Array(std::mem::take(&mut self.ended)));
        body.insert("usage".to_owned(), usage.json());
        body.insert("timings".to_owned(), usage.timings());
        Json::Object(body)
    }
}

/// The seed as a request can set it.
fn seed(completion: &Completion) -> i64 {
    completion.stats.seed.cast_signed()
}
