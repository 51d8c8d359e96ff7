//! A reply in the dialect of responses: items of reasoning, text and calls.

use causerie::{Completion, FinishReason, MessageResponse, SdkFunctionCall};
use serde_json::{Map, Value as Json, json};

use crate::serve::answer::dialect_writer::{DialectWriter, named};
use crate::serve::answer::events::{arguments, remarks, text_of};
use crate::serve::answer::logprobs::{Logprobs, entry};
use crate::serve::answer::usage::Usage;
use crate::serve::dialect::Dialect;
use crate::serve::error::HttpError;
use crate::serve::id;
use crate::serve::request::namespaces::Namespaces;
use crate::serve::response_store::ResponseStore;

/// Writes one response.
pub(in crate::serve) struct ResponseWriter {
    id: String,
    created: u64,
    /// The fields of the request that the response repeats.
    request: Map<String, Json>,
    has_functions: bool,
    /// Where the functions are, which the model calls by one name.
    namespaces: Namespaces,
    /// Items begun so far; the last one may still be open.
    items: Vec<Json>,
    open: Option<OutputPart>,
    is_cut_short: bool,
    /// Rejected calls and remarks about the response.
    remarks: Map<String, Json>,
    n_events: usize,
    logprobs: Logprobs,
    /// Where the response is stored, and the items of the conversation before it.
    storing: Option<(ResponseStore, String)>,
}

/// The part of an item that is written in pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputPart {
    Text,
    Reasoning,
}

impl OutputPart {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "output_text",
            Self::Reasoning => "reasoning_text",
        }
    }

    fn with(self, text: &str) -> Json {
        match self {
            Self::Text => json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }),
            Self::Reasoning => json!({ "type": "reasoning_text", "text": text }),
        }
    }

    /// The item that holds the part.
    fn item(self, id: &str) -> Json {
        match self {
            Self::Text => {
                json!({ "id": format!("msg_{id}"), "type": "message", "status": "in_progress", "role": "assistant", "content": [] })
            }
            Self::Reasoning => {
                json!({ "id": format!("rs_{id}"), "type": "reasoning", "status": "in_progress", "summary": [], "content": [] })
            }
        }
    }
}

impl ResponseWriter {
    /// `request` are the fields of the request that the response repeats, `functions` the namespaces of its functions, if the
    /// model may call any. The response is stored once it is complete.
    pub(in crate::serve) fn new(
        request: Map<String, Json>,
        functions: Option<Namespaces>,
        has_logprobs: bool,
        storing: Option<(ResponseStore, String)>,
    ) -> Self {
        let has_functions = functions.is_some();
        Self {
            namespaces: functions.unwrap_or_default(),
            storing,
            logprobs: Logprobs::new(has_logprobs, has_functions),
            id: id::unique(),
            created: id::now(),
            request,
            has_functions,
            items: Vec::new(),
            open: None,
            is_cut_short: false,
            remarks: Map::new(),
            n_events: 0,
        }
    }

    fn response(&self, status: &str, error: Json, usage: Json) -> Json {
        let incomplete = self.is_cut_short.then(|| json!({ "reason": "max_output_tokens" }));
        let mut response = json!({
            "id": format!("resp_{}", self.id),
            "object": "response",
            "created_at": self.created,
            "completed_at": (status == "completed").then(id::now),
            "status": status,
            "error": error,
            "incomplete_details": incomplete,
            "output": self.items,
            "usage": usage,
        });
        if let Json::Object(fields) = &mut response {
            fields.extend(self.request.clone());
            fields.extend(self.remarks.clone());
        }
        response
    }

    fn status(&self) -> &'static str {
        if self.is_cut_short { "incomplete" } else { "completed" }
    }

    /// An event, with its number in the stream.
    fn event(&mut self, kind: &str, fields: Json) -> String {
        let mut event = Map::new();
        event.insert("type".to_owned(), json!(format!("response.{kind}")));
        event.insert("sequence_number".to_owned(), json!(self.n_events));
        if let Json::Object(fields) = fields {
            event.extend(fields);
        }
        self.n_events += 1;
        named(&Json::Object(event))
    }

    /// An event about the open part.
    fn part_event(&mut self, kind: &str, field: &str, value: Json) -> String {
        let (index, id) = self.position();
        let fields = json!({ "item_id": id, "output_index": index, "content_index": 0, field: value });
        self.event(kind, fields)
    }

    /// An event about the text of the open part. Output text comes with the log-probabilities of its tokens.
    fn text_event(&mut self, part: OutputPart, kind: &str, field: &str, text: Json, logprobs: Json) -> String {
        let (index, id) = self.position();
        let mut fields = json!({ "item_id": id, "output_index": index, "content_index": 0, field: text });
        if part == OutputPart::Text {
            fields["logprobs"] = logprobs;
        }
        self.event(&format!("{}.{kind}", part.name()), fields)
    }

    fn position(&self) -> (usize, Json) {
        let id = self.items.last().map(|item| item["id"].clone()).unwrap_or_default();
        (self.items.len().saturating_sub(1), id)
    }

    fn add(&mut self, part: OutputPart, text: &str) -> Vec<String> {
        let mut events = Vec::new();
        if self.open != Some(part) {
            events.extend(self.finish());
            events.push(self.start(part.item(&format!("{}_{}", self.id, self.items.len()))));
            self.open = Some(part);
            events.push(self.part_event("content_part.added", "part", part.with("")));
            if let Some(item) = self.items.last_mut() {
                item["content"] = json!([part.with("")]);
            }
        }
        let tokens = self.logprobs.take().unwrap_or_default();
        let logprobs: Vec<Json> = tokens.iter().map(entry).collect();
        if let Some(content) = self.items.last_mut().and_then(|item| item.pointer_mut("/content/0")) {
            if let Some(Json::String(said)) = content.get_mut("text") {
                said.push_str(text);
            }
            if let Some(Json::Array(sent)) = content.get_mut("logprobs") {
                sent.extend(logprobs.iter().cloned());
            }
        }
        events.push(self.text_event(part, "delta", "delta", json!(text), Json::Array(logprobs)));
        events
    }

    /// Ends the open part, if there is one, and its item.
    fn finish(&mut self) -> Vec<String> {
        let Some(part) = self.open.take() else { return Vec::new() };
        let whole = self.items.last().and_then(|item| item.pointer("/content/0")).cloned().unwrap_or_default();
        let done = self.text_event(part, "done", "text", whole["text"].clone(), whole["logprobs"].clone());
        let part_done = self.part_event("content_part.done", "part", whole);
        vec![done, part_done, self.stop()]
    }

    fn call(&mut self, call: &SdkFunctionCall) -> Vec<String> {
        let mut events = self.finish();
        let (id, arguments) = (format!("{}_{}", self.id, self.items.len()), arguments(call));
        let (namespace, name) = self.namespaces.split(&call.name);
        let (name, namespace) = (name.to_owned(), namespace.map(str::to_owned));
        let mut item = json!({
            "id": format!("fc_{id}"),
            "type": "function_call",
            "status": "in_progress",
            "call_id": format!("call_{id}"),
            "name": name,
            "arguments": "",
        });
        if let Some(namespace) = namespace {
            item["namespace"] = json!(namespace);
        }
        events.push(self.start(item));
        let (index, id) = self.position();
        let delta = json!({ "item_id": id, "output_index": index, "delta": arguments });
        events.push(self.event("function_call_arguments.delta", delta));
        let done = json!({ "item_id": id, "output_index": index, "name": name, "arguments": arguments });
        events.push(self.event("function_call_arguments.done", done));
        if let Some(item) = self.items.last_mut() {
            item["arguments"] = json!(arguments);
        }
        events.push(self.stop());
        events
    }

    fn start(&mut self, item: Json) -> String {
        self.items.push(item.clone());
        let index = self.items.len() - 1;
        self.event("output_item.added", json!({ "output_index": index, "item": item }))
    }

    fn stop(&mut self) -> String {
        let status = json!(self.status());
        let (index, _) = self.position();
        let item = self.items.last_mut().map(|item| {
            item["status"] = status;
            item.clone()
        });
        self.event("output_item.done", json!({ "output_index": index, "item": item }))
    }
}

impl DialectWriter for ResponseWriter {
    fn open(&mut self, _: &str) -> Vec<String> {
        let response = json!({ "response": self.response("in_progress", Json::Null, Json::Null) });
        vec![self.event("created", response.clone()), self.event("in_progress", response)]
    }

    fn push(&mut self, event: MessageResponse) -> Vec<String> {
        if let Some(text) = text_of(&event, self.has_functions) {
            return self.add(OutputPart::Text, &text);
        }
        self.logprobs.take_from(&event);
        match event {
            MessageResponse::ReasoningChunk(text) => self.add(OutputPart::Reasoning, &text),
            MessageResponse::FunctionCalls(calls) => calls.iter().flat_map(|call| self.call(call)).collect(),
            _ => Vec::new(),
        }
    }

    fn close(&mut self, completion: &Completion) -> Vec<String> {
        self.is_cut_short = matches!(
            completion.finish_reason,
            FinishReason::MaxTokens | FinishReason::ExceedContext | FinishReason::Constraint
        );
        self.remarks = remarks(completion);
        let sampling = &completion.stats.sampling;
        for (name, value) in [
            ("temperature", sampling.temperature),
            ("top_p", sampling.top_p),
            ("presence_penalty", sampling.presence_penalty),
            ("frequency_penalty", sampling.frequency_penalty),
        ] {
            self.request.insert(name.to_owned(), decimal(value));
        }
        self.finish()
    }

    fn end(&mut self, usage: &Usage) -> Vec<String> {
        let whole = self.whole(usage);
        let status = self.status();
        vec![self.event(status, json!({ "response": whole }))]
    }

    fn fail(&mut self, error: &HttpError) -> String {
        let error = error.json(Dialect::Responses, None)["error"].clone();
        let error = json!({ "code": "server_error", "message": error["message"] });
        let failed = self.response("failed", error, Json::Null);
        self.event("failed", json!({ "response": failed }))
    }

    fn whole(&mut self, usage: &Usage) -> Json {
        let response = self.response(self.status(), Json::Null, usage.response_json());
        if let Some((store, input)) = self.storing.take() {
            store.add(format!("resp_{}", self.id), input, &response);
        }
        response
    }
}

/// A number with as few digits as a request would have.
pub(in crate::serve) fn decimal(value: f32) -> Json {
    value.to_string().parse::<f64>().map_or(Json::Null, Json::from)
}
