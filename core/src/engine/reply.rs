//! Assembles a reply: what the parser finds goes out as events and into the message at once.

use std::collections::VecDeque;

use crate::engine::stop::StopFinder;
use crate::function::{Diagnostic, DiagnosticCode, RejectedCall, SdkFunction, SdkFunctionCall};
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::options::{GenerationOptions, ToolChoice};
use crate::parse::{Note, Parsed};
use crate::response::MessageResponse;
use crate::validate::validate_among;

/// A reply in the making.
pub(crate) struct Reply {
    text: String,
    reasoning: String,
    calls: Vec<SdkFunctionCall>,
    rejected: Vec<RejectedCall>,
    /// What the model was offered.
    functions: Vec<SdkFunction>,
    /// Which of it may be called; all where that is not said.
    allowed: Option<Vec<String>>,
    /// Whether several calls may be made.
    is_parallel: bool,
    stop: StopFinder,
    has_stopped: bool,
    /// Bytes of text that came behind a stop.
    n_ignored: usize,
    /// Whether the parser left text out: the echo of a block, or a marker without its partner.
    has_left_out: bool,
    /// Whether each chunk is told apart.
    keeps_chunks: bool,
    stops_after_calls: bool,
    shown_reasoning: ShownReasoning,
    /// Whether a `<think>` among the chunks has not been closed.
    is_tag_open: bool,
    /// Events that have not been sent.
    pub(crate) events: VecDeque<MessageResponse>,
}

/// How the reader sees reasoning.
#[derive(Clone, Copy)]
enum ShownReasoning {
    No,
    AsReasoningChunks,
    /// As chunks, between tags.
    Inline,
}

impl Reply {
    pub(crate) fn new(options: GenerationOptions) -> Self {
        let shown_reasoning = match options {
            GenerationOptions { inline_thinking_tags: true, .. } => ShownReasoning::Inline,
            GenerationOptions { enable_thinking: true, .. } => ShownReasoning::AsReasoningChunks,
            _ => ShownReasoning::No,
        };
        Self {
            text: String::new(),
            reasoning: String::new(),
            calls: Vec::new(),
            rejected: Vec::new(),
            functions: Vec::new(),
            allowed: match options.tool_choice {
                ToolChoice::Function(name) => Some(vec![name]),
                ToolChoice::None => Some(Vec::new()),
                ToolChoice::Auto | ToolChoice::Required => options.allowed_tools,
            },
            is_parallel: options.parallel_tool_calls,
            stop: StopFinder::new(options.stop_sequences),
            has_stopped: false,
            n_ignored: 0,
            has_left_out: false,
            keeps_chunks: options.logprobs.is_some(),
            stops_after_calls: options.stop_after_tool_calls,
            shown_reasoning,
            is_tag_open: false,
            events: VecDeque::new(),
        }
    }

    /// Takes the functions that calls are compared with.
    pub(crate) fn compare_with(&mut self, functions: Vec<SdkFunction>) {
        self.functions = functions;
    }

    /// Takes what the parser found. Behind a stop nothing counts.
    pub(crate) fn push(&mut self, parsed: Parsed) {
        if self.has_stopped {
            if let Parsed::Text(text) = parsed {
                self.n_ignored += text.len();
            }
            return;
        }
        match parsed {
            Parsed::Text(text) => {
                let safe = self.stop.push(&text);
                self.has_stopped = self.stop.met().is_some();
                self.chunk(safe);
            }
            Parsed::Reasoning(text) => self.reason(text),
            Parsed::Calls(mut calls) => {
                self.release();
                self.close_tag();
                if !self.functions.is_empty() {
                    let n_before = self.calls.len();
                    for (i, call) in calls.iter_mut().enumerate() {
                        call.diagnostics = validate_among(call, &self.functions).diagnostics;
                        call.diagnostics.extend(self.objections(call, n_before + i));
                    }
                }
                self.calls.extend_from_slice(&calls);
                self.events.push_back(MessageResponse::FunctionCalls(calls));
                self.has_stopped = self.stops_after_calls;
            }
            Parsed::Rejected(rejected) => {
                self.release();
                self.close_tag();
                self.rejected.extend_from_slice(&rejected);
                self.events.push_back(MessageResponse::FunctionCallsRejected(rejected));
            }
            Parsed::Note(Note::EchoRemoved | Note::StrayMarker) => self.has_left_out = true,
            Parsed::Note(_) => {}
        }
    }

    /// What the options say against a call, of which so many were made before.
    fn objections(&self, call: &SdkFunctionCall, n_before: usize) -> impl Iterator<Item = Diagnostic> + use<> {
        let is_allowed = self.allowed.as_ref().is_none_or(|allowed| allowed.contains(&call.name));
        let name = &call.name;
        let found = [
            (!is_allowed, DiagnosticCode::ToolNotAllowed, format!("{name} may not be called")),
            (
                !self.is_parallel && 0 < n_before,
                DiagnosticCode::ParallelLimit,
                "one call at most was asked for".to_owned(),
            ),
        ];
        let found = found.into_iter().filter(|(applies, _, _)| *applies);
        found.map(|(_, code, message)| Diagnostic { code, path: String::new(), message })
    }

    /// Text held back for a stop sequence cannot be one across a block of calls, nor at the end.
    fn release(&mut self) {
        let held = self.stop.finish();
        self.chunk(held);
    }

    fn chunk(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(&text);
        self.close_tag();
        self.show(text);
    }

    fn reason(&mut self, text: String) {
        self.reasoning.push_str(&text);
        match self.shown_reasoning {
            ShownReasoning::No => {}
            ShownReasoning::AsReasoningChunks => self.events.push_back(MessageResponse::ReasoningChunk(text)),
            ShownReasoning::Inline => {
                if !std::mem::replace(&mut self.is_tag_open, true) {
                    self.show("<think>".to_owned());
                }
                self.show(text);
            }
        }
    }

    fn close_tag(&mut self) {
        if std::mem::take(&mut self.is_tag_open) {
            self.show("</think>".to_owned());
        }
    }

    /// Neighbouring chunks that wait together are sent together.
    fn show(&mut self, text: String) {
        match self.events.back_mut() {
            Some(MessageResponse::Chunk(waiting)) if !self.keeps_chunks => waiting.push_str(&text),
            _ => self.events.push_back(MessageResponse::Chunk(text)),
        }
    }

    /// Whether a stop sequence was met, or calls after which the reply is to end.
    pub(crate) fn has_stopped(&self) -> bool {
        self.has_stopped
    }

    /// The stop sequence that was met.
    pub(crate) fn stop_sequence(&self) -> Option<&str> {
        self.stop.met()
    }

    /// Bytes of text that are held back for a stop sequence, or cut off by one.
    pub(crate) fn n_undecided(&self) -> usize {
        self.stop.n_held() + self.n_ignored
    }

    /// Whether text was left out since this was asked last.
    pub(crate) fn take_left_out(&mut self) -> bool {
        std::mem::take(&mut self.has_left_out)
    }

    /// Bytes of text so far.
    pub(crate) fn n_text(&self) -> usize {
        self.text.len()
    }

    /// Calls delivered so far.
    pub(crate) fn n_calls(&self) -> usize {
        self.calls.len()
    }

    /// The message as it stands.
    pub(crate) fn message(&self, incomplete: bool) -> ChatMessage {
        let content = (!self.text.is_empty()).then(|| ChatMessageContent::Text(self.text.clone()));
        ChatMessage {
            role: Role::Assistant,
            content: content.into_iter().collect(),
            reasoning_content: (!self.reasoning.is_empty()).then(|| self.reasoning.clone()),
            function_calls: (!self.calls.is_empty()).then(|| self.calls.clone()),
            rejected_calls: self.rejected.clone(),
            incomplete,
            ..ChatMessage::assistant("")
        }
    }

    /// Gives out what was held back for a stop sequence that did not come.
    pub(crate) fn finish(&mut self) {
        if !self.has_stopped {
            self.release();
        }
        self.close_tag();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_compared_with_the_functions_offered() {
        let mut reply = Reply::new(GenerationOptions::default());
        let call = SdkFunctionCall { name: "nope".into(), ..Default::default() };
        reply.push(Parsed::Calls(vec![call.clone()]));
        reply.compare_with(vec![SdkFunction::new("f", "", vec![])]);
        reply.push(Parsed::Calls(vec![call]));
        let calls = reply.message(false).function_calls.unwrap();
        let codes = |call: &SdkFunctionCall| call.diagnostics.iter().map(|found| found.code.code()).collect::<Vec<_>>();
        assert!(calls[0].diagnostics.is_empty(), "without functions there is nothing to compare with");
        assert_eq!(codes(&calls[1]), ["undeclared_function"]);
    }
}
