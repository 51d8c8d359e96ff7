//! A reply in Anthropic's dialect: a message of thinking, text and tool-use blocks.

use causerie::{Completion, FinishReason, MessageResponse, SdkFunctionCall};
use serde_json::{Map, Value as Json, json};

use crate::serve::answer::dialect_writer::{DialectWriter, named};
use crate::serve::answer::events::{arguments, remarks, text_of};
use crate::serve::answer::usage::Usage;
use crate::serve::dialect::Dialect;
use crate::serve::error::HttpError;
use crate::serve::id;

/// Writes one message.
pub(in crate::serve) struct MessageWriter {
    id: String,
    model_id: String,
    has_functions: bool,
    prompt_tokens: usize,
    /// Blocks begun so far; the last one may still be open.
    blocks: Vec<Json>,
    is_open: bool,
    stop_reason: Option<&'static str>,
    stop_sequence: Option<String>,
    /// Rejected calls and remarks about the message.
    remarks: Map<String, Json>,
}

impl MessageWriter {
    /// `prompt_tokens` are reported when the message begins.
    pub(in crate::serve) fn new(model_id: &str, has_functions: bool, prompt_tokens: usize) -> Self {
        Self {
            id: id::unique(),
            model_id: model_id.to_owned(),
            has_functions,
            prompt_tokens,
            blocks: Vec::new(),
            is_open: false,
            stop_reason: None,
            stop_sequence: None,
            remarks: Map::new(),
        }
    }

    fn message(&self, content: &[Json], usage: Json) -> Json {
        let mut message = json!({
            "id": format!("msg_{}", self.id),
            "type": "message",
            "role": "assistant",
            "model": self.model_id,
            "content": content,
            "stop_reason": self.stop_reason,
            "stop_sequence": self.stop_sequence,
            "usage": usage,
        });
        self.add_remarks(&mut message);
        message
    }

    fn add_remarks(&self, object: &mut Json) {
        if let Json::Object(fields) = object {
            fields.extend(self.remarks.clone());
        }
    }

    /// Adds text to the open block if it is of this kind, else begins one. `field` is where the block has its text.
    fn add(&mut self, kind: &str, field: &str, delta_kind: &str, text: &str) -> Vec<String> {
        let mut events = Vec::new();
        if !self.is_open || self.blocks.last().is_none_or(|block| block["type"] != kind) {
            let mut block = json!({ "type": kind, field: "" });
            if kind == "thinking" {
                // A signature protects thinking from changes. Here it may be changed.
                block["signature"] = json!("");
            }
            events.extend(self.stop());
            events.push(self.start(block));
        }
        if let Some(Json::String(said)) = self.blocks.last_mut().and_then(|block| block.get_mut(field)) {
            said.push_str(text);
        }
        events.push(self.delta(json!({ "type": delta_kind, field: text })));
        events
    }

    fn call(&mut self, call: &SdkFunctionCall) -> Vec<String> {
        let mut events: Vec<String> = self.stop().into_iter().collect();
        let (id, arguments) = (format!("toolu_{}_{}", self.id, self.blocks.len()), arguments(call));
        let mut block = json!({ "type": "tool_use", "id": id, "name": call.name, "input": {} });
        events.push(self.start(block.clone()));
        events.push(self.delta(json!({ "type": "input_json_delta", "partial_json": arguments })));
        block["input"] = serde_json::from_str(&arguments).unwrap_or_default();
        if let Some(last) = self.blocks.last_mut() {
            *last = block;
        }
        events.extend(self.stop());
        events
    }

    fn start(&mut self, block: Json) -> String {
        self.blocks.push(block.clone());
        self.is_open = true;
        named(&json!({ "type": "content_block_start", "index": self.index(), "content_block": block }))
    }

    fn delta(&self, delta: Json) -> String {
        named(&json!({ "type": "content_block_delta", "index": self.index(), "delta": delta }))
    }

    fn stop(&mut self) -> Option<String> {
        let event = json!({ "type": "content_block_stop", "index": self.index() });
        std::mem::take(&mut self.is_open).then(|| named(&event))
    }

    fn index(&self) -> usize {
        self.blocks.len().saturating_sub(1)
    }
}

impl DialectWriter for MessageWriter {
    /// How much of the prompt was cached is known at the end; the counts there are final.
    fn open(&mut self, _: &str) -> Vec<String> {
        let message = self.message(&[], Usage::of_prompt(self.prompt_tokens).message_json());
        vec![named(&json!({ "type": "message_start", "message": message }))]
    }

    fn push(&mut self, event: MessageResponse) -> Vec<String> {
        if let Some(text) = text_of(&event, self.has_functions) {
            return self.add("text", "text", "text_delta", &text);
        }
        match event {
            MessageResponse::ReasoningChunk(text) => self.add("thinking", "thinking", "thinking_delta", &text),
            MessageResponse::FunctionCalls(calls) => calls.iter().flat_map(|call| self.call(call)).collect(),
            _ => Vec::new(),
        }
    }

    fn close(&mut self, completion: &Completion) -> Vec<String> {
        self.stop_sequence.clone_from(&completion.stop_sequence);
        self.remarks = remarks(completion);
        self.stop_reason = Some(match completion.finish_reason {
            FinishReason::ToolCalls if self.has_functions => "tool_use",
            FinishReason::MaxTokens | FinishReason::Constraint => "max_tokens",
            FinishReason::ExceedContext => "model_context_window_exceeded",
            _ if self.stop_sequence.is_some() => "stop_sequence",
            _ => "end_turn",
        });
        self.stop().into_iter().collect()
    }

    fn end(&mut self, usage: &Usage) -> Vec<String> {
        let mut delta = json!({ "stop_reason": self.stop_reason, "stop_sequence": self.stop_sequence });
        self.add_remarks(&mut delta);
        let last = json!({ "type": "message_delta", "delta": delta, "usage": usage.message_json() });
        vec![named(&last), named(&json!({ "type": "message_stop" }))]
    }

    fn fail(&mut self, error: &HttpError) -> String {
        named(&error.json(Dialect::Messages, None))
    }

    fn whole(&mut self, usage: &Usage) -> Json {
        self.message(&self.blocks, usage.message_json())
    }
}
