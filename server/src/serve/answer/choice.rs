//! One choice of an answer, in the two forms that clients know: of a chat, and of a text.

use causerie::{Completion, FinishReason, MessageResponse, RejectedCall, SdkFunctionCall, Value, render_calls};
use serde_json::{Map, Value as Json, json};

/// What a route calls its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::serve) enum Form {
    /// Of `/v1/chat/completions`.
    Chat {
        /// Whether the model was offered functions. If not, what looks like a call is text.
        has_functions: bool,
    },
    /// Of `/v1/completions`.
    Text,
}

impl Form {
    pub(super) fn id_prefix(self) -> &'static str {
        match self {
            Self::Chat { .. } => "chatcmpl",
            Self::Text => "cmpl",
        }
    }

    pub(super) fn object(self) -> &'static str {
        match self {
            Self::Chat { .. } => "chat.completion",
            Self::Text => "text_completion",
        }
    }

    pub(super) fn chunk_object(self) -> &'static str {
        match self {
            Self::Chat { .. } => "chat.completion.chunk",
            Self::Text => "text_completion",
        }
    }
}

/// Writes a choice, whole or in pieces.
pub(super) struct Choice {
    form: Form,
    index: usize,
    /// Ids of calls begin with it: a conversation's calls have ids of their own.
    call_prefix: String,
    /// Calls written so far; their indices run over the whole reply.
    n_calls: usize,
    has_reasoned: bool,
    /// What a whole choice says.
    text: String,
}

impl Choice {
    pub(super) fn new(form: Form, index: usize, id: &str) -> Self {
        Self {
            form,
            index,
            call_prefix: format!("call_{id}_{index}"),
            n_calls: 0,
            has_reasoned: false,
            text: String::new(),
        }
    }

    /// What comes before the first event.
    pub(super) fn opening(&self, echo: &str) -> Vec<Json> {
        match self.form {
            Form::Chat { .. } => vec![self.delta(json!({ "role": "assistant", "content": null }))],
            Form::Text if echo.is_empty() => Vec::new(),
            Form::Text => vec![self.text_piece(echo)],
        }
    }

    /// An event. Text is never empty, and always whole characters.
    pub(super) fn pieces(&mut self, event: MessageResponse) -> Vec<Json> {
        if let Some(text) = self.text_of(&event) {
            return vec![match self.form {
                Form::Chat { .. } => self.delta(json!({ "content": text })),
                Form::Text => self.text_piece(&text),
            }];
        }
        match event {
            MessageResponse::ReasoningChunk(text) => {
                self.has_reasoned = true;
                vec![self.delta(json!({ "reasoning_content": text }))]
            }
            MessageResponse::FunctionCalls(calls) => calls.iter().flat_map(|call| self.call_pieces(call)).collect(),
            MessageResponse::FunctionCallsRejected(rejected) => {
                vec![self.delta(json!({ "rejected_calls": rejected_calls(&rejected) }))]
            }
            _ => Vec::new(),
        }
    }

    /// An event of a choice that is delivered whole.
    pub(super) fn gather(&mut self, event: &MessageResponse) {
        if let Some(text) = self.text_of(event) {
            self.text.push_str(&text);
        }
    }

    /// What an event adds to the text.
    fn text_of(&self, event: &MessageResponse) -> Option<String> {
        match event {
            MessageResponse::Chunk(text) => Some(text.clone()),
            MessageResponse::FunctionCalls(calls) if !self.has_functions() => Some(render_calls(calls)),
            _ => None,
        }
    }

    fn has_functions(&self) -> bool {
        self.form == Form::Chat { has_functions: true }
    }

    /// What comes behind the last event.
    pub(super) fn closing(&self, completion: &Completion) -> Vec<Json> {
        let mut pieces = Vec::new();
        // Reasoning that nobody asked for is no event, but it is part of the message.
        if let Some(reasoning) = completion.full_message.reasoning_content.as_ref()
            && self.form != Form::Text
            && !self.has_reasoned
        {
            pieces.push(self.delta(json!({ "reasoning_content": reasoning })));
        }
        let mut last = match self.form {
            Form::Chat { .. } => self.delta(json!({})),
            Form::Text => self.text_piece(""),
        };
        last["finish_reason"] = json!(self.finish_reason(completion));
        last["seed"] = json!(seed(completion));
        pieces.push(last);
        pieces
    }

    /// The whole choice.
    pub(super) fn whole(&mut self, completion: &Completion, echo: &str) -> Json {
        let content = match self.form {
            Form::Chat { .. } => ("message", self.message(completion)),
            Form::Text => ("text", json!(format!("{echo}{}", self.text))),
        };
        json!({
            "index": self.index,
            content.0: content.1,
            "logprobs": null,
            "finish_reason": self.finish_reason(completion),
            "seed": seed(completion),
        })
    }

    fn message(&mut self, completion: &Completion) -> Json {
        let reply = &completion.full_message;
        let text = std::mem::take(&mut self.text);
        let calls = reply.function_calls.as_deref().filter(|_| self.has_functions()).unwrap_or_default();
        let content = if text.is_empty() && !calls.is_empty() { Json::Null } else { Json::String(text) };
        let mut message = Map::from_iter([("role".to_owned(), json!("assistant")), ("content".to_owned(), content)]);
        if let Some(reasoning) = &reply.reasoning_content {
            message.insert("reasoning_content".to_owned(), json!(reasoning));
        }
        if !calls.is_empty() {
            let calls = calls.iter().map(|call| {
                let function = json!({ "name": call.name, "arguments": arguments(call) });
                json!({ "id": self.next_call_id(), "type": "function", "function": function })
            });
            message.insert("tool_calls".to_owned(), calls.collect());
        }
        if !reply.rejected_calls.is_empty() {
            message.insert("rejected_calls".to_owned(), rejected_calls(&reply.rejected_calls));
        }
        Json::Object(message)
    }

    /// A call in two pieces: its id and name, then its arguments.
    fn call_pieces(&mut self, call: &SdkFunctionCall) -> [Json; 2] {
        let index = self.n_calls;
        let function = json!({ "name": call.name, "arguments": "" });
        let start = json!({ "index": index, "id": self.next_call_id(), "type": "function", "function": function });
        let rest = json!({ "index": index, "function": { "arguments": arguments(call) } });
        [start, rest].map(|piece| self.delta(json!({ "tool_calls": [piece] })))
    }

    fn finish_reason(&self, completion: &Completion) -> &'static str {
        match completion.finish_reason {
            FinishReason::ToolCalls if self.has_functions() => "tool_calls",
            // Cut as well, by what was demanded of it.
            FinishReason::MaxTokens | FinishReason::ExceedContext | FinishReason::Constraint => "length",
            _ => "stop",
        }
    }

    fn next_call_id(&mut self) -> String {
        self.n_calls += 1;
        format!("{}_{}", self.call_prefix, self.n_calls - 1)
    }

    fn delta(&self, delta: Json) -> Json {
        json!({ "index": self.index, "delta": delta, "finish_reason": null })
    }

    fn text_piece(&self, text: &str) -> Json {
        json!({ "index": self.index, "text": text, "logprobs": null, "finish_reason": null })
    }
}

/// The seed as a request can give it.
fn seed(completion: &Completion) -> i64 {
    completion.stats.seed.cast_signed()
}

/// JSON text, with numbers as the model wrote them.
fn arguments(call: &SdkFunctionCall) -> String {
    Value::Object(call.arguments.clone()).to_string()
}

/// What the model wrote of calls that could not be read: a field of our own, as histories have it.
fn rejected_calls(rejected: &[RejectedCall]) -> Json {
    let describe = |call: &RejectedCall| json!({ "reason": call.reason.code(), "name": call.name, "raw_text": call.raw_text, "message": call.message });
    rejected.iter().map(describe).collect()
}
