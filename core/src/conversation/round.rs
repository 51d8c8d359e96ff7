//! One round: the calls of a reply, what is to be done about each, and their results.

use std::time::Duration;

use crate::conversation::handlers::FunctionHandlers;
use crate::conversation::request_queue::cancelled_result;
use crate::function::{Arguments, DiagnosticCode, SdkFunction, SdkFunctionCall, Value};
use crate::message::{ChatMessage, ChatMessageContent, text_of};
use crate::response::{Completion, FinishReason, FunctionOutcome, FunctionResult};
use crate::validate::validate_among;

/// The calls of a reply and their results.
pub(super) struct Round {
    pub(super) completion: Box<Completion>,
    calls: Vec<PlannedCall>,
    /// Number of calls whose result is in the history.
    n_answered: usize,
    /// Indices of the calls that were last handed out to be run.
    handed_out: Vec<usize>,
}

/// What comes next in a round.
pub(super) enum RoundStep {
    /// The next result, in the order of the calls.
    Result(FunctionResult),
    /// Calls to run at once, by closures.
    Run(Vec<SdkFunctionCall>),
    /// Calls to run at once, by the reader of the stream.
    RunByReader(Vec<SdkFunctionCall>),
    /// All calls have been answered.
    Done,
}

/// A call that was made or rejected. It is to be run if it has no result.
struct PlannedCall {
    call: SdkFunctionCall,
    is_rejected: bool,
    result: Option<FunctionResult>,
}

impl Round {
    /// Decides what to do about the calls of a reply. `None` if it is the last reply: it makes no calls, it was cut off, or
    /// one of its calls is the app's.
    pub(super) fn new(completion: &Completion, handlers: &FunctionHandlers, functions: &[SdkFunction]) -> Option<Self> {
        let reply = &completion.full_message;
        let is_calling = match completion.finish_reason {
            FinishReason::ToolCalls => true,
            FinishReason::Stop => !reply.rejected_calls.is_empty(),
            _ => false,
        };
        if !is_calling {
            return None;
        }
        let made = reply.function_calls.iter().flatten();
        let made: Option<Vec<_>> = made.map(|call| PlannedCall::new(call, handlers, functions)).collect();
        let rejected = reply.rejected_calls.iter().map(|rejected| {
            let call = SdkFunctionCall { name: rejected.name.clone().unwrap_or_default(), ..Default::default() };
            PlannedCall::refused(call, true, error_text(&rejected.message))
        });
        let calls = made?.into_iter().chain(rejected).collect();
        Some(Self { completion: Box::new(completion.clone()), calls, n_answered: 0, handed_out: Vec::new() })
    }

    /// The next step. Calls are handed out again until they are answered.
    pub(super) fn next(&mut self, handlers: &FunctionHandlers) -> RoundStep {
        match self.calls.get(self.n_answered) {
            None => RoundStep::Done,
            Some(PlannedCall { result: Some(result), .. }) => {
                self.n_answered += 1;
                RoundStep::Result(result.clone())
            }
            Some(PlannedCall { call, .. }) => {
                let is_by_reader = handlers.is_run_by_reader(&call.name);
                let n_at_once = if handlers.rounds().in_parallel { usize::MAX } else { 1 };
                let open = self.calls.iter().enumerate().filter(|(_, planned)| planned.result.is_none());
                let group = open.filter(|(_, planned)| handlers.is_run_by_reader(&planned.call.name) == is_by_reader);
                let (indices, calls) =
                    group.take(n_at_once).map(|(index, planned)| (index, planned.call.clone())).unzip();
                self.handed_out = indices;
                if is_by_reader { RoundStep::RunByReader(calls) } else { RoundStep::Run(calls) }
            }
        }
    }

    /// Takes the outcomes of the calls that were handed out, in their order.
    pub(super) fn answer(&mut self, outcomes: Vec<FunctionOutcome>, time_limit: Option<Duration>) {
        for (index, outcome) in std::mem::take(&mut self.handed_out).into_iter().zip(outcomes) {
            let planned = &mut self.calls[index];
            planned.result = Some(planned.result_of(outcome, time_limit));
        }
    }

    /// The messages that answer all open calls if the round ends now: results that are not in the history yet, and
    /// cancellations.
    pub(super) fn closing(&self) -> Vec<ChatMessage> {
        let open = self.calls[self.n_answered..].iter();
        open.map(|planned| {
            planned.result.as_ref().map_or_else(|| cancelled_result(&planned.call.call_id), tool_message)
        })
        .collect()
    }
}

impl PlannedCall {
    /// Decides what to do about a call. `None` if it is the app's: the function is declared, but has no handler.
    fn new(call: &SdkFunctionCall, handlers: &FunctionHandlers, functions: &[SdkFunction]) -> Option<Self> {
        let is_refusal =
            |code: DiagnosticCode| matches!(code, DiagnosticCode::ToolNotAllowed | DiagnosticCode::ParallelLimit);
        let refused = |text| Some(Self::refused(call.clone(), false, text));
        if let Some(refusal) = call.diagnostics.iter().find(|diagnostic| is_refusal(diagnostic.code)) {
            return refused(error_text(&refusal.message));
        }
        let validation = validate_among(call, functions);
        let is_declared = functions.iter().any(|function| function.name == call.name);
        if is_declared && !handlers.has(&call.name) {
            return None;
        }
        if !validation.is_ok() {
            return refused(validation.errors_as_tool_text());
        }
        let call = SdkFunctionCall { arguments: validation.arguments, ..call.clone() };
        Some(Self { call, is_rejected: false, result: None })
    }

    fn refused(call: SdkFunctionCall, is_rejected: bool, text: String) -> Self {
        let mut planned = Self { call, is_rejected, result: None };
        planned.result = Some(planned.result(text, true));
        planned
    }

    fn result_of(&self, outcome: FunctionOutcome, time_limit: Option<Duration>) -> FunctionResult {
        match outcome {
            FunctionOutcome::Returned(Value::String(text)) => self.result(text, false),
            FunctionOutcome::Returned(value) => self.result(value.to_string(), false),
            FunctionOutcome::Content(content) if content.is_empty() => self.result(String::new(), false),
            FunctionOutcome::Content(content) => {
                FunctionResult { text: text_of(&content), content, ..self.result(String::new(), false) }
            }
            FunctionOutcome::Failed(error) => {
                FunctionResult { error: Some(error.clone()), ..self.result(error_text(&error.to_string()), true) }
            }
            FunctionOutcome::TimedOut => {
                let seconds = time_limit.unwrap_or_default().as_secs_f64();
                let reason = format!("{} gave no result within {seconds} seconds", self.call.name);
                self.result(error_text(&reason), true)
            }
        }
    }

    fn result(&self, text: String, is_error: bool) -> FunctionResult {
        let call_id = Some(self.call.call_id.clone()).filter(|_| !self.is_rejected);
        let name = Some(self.call.name.clone()).filter(|name| !self.is_rejected || !name.is_empty());
        let content = vec![ChatMessageContent::Text(text.clone())];
        FunctionResult { call_id, name, text, content, is_error, error: None }
    }
}

/// The message that the model reads as the result of a call.
pub(super) fn tool_message(result: &FunctionResult) -> ChatMessage {
    ChatMessage { tool_call_id: result.call_id.clone(), content: result.content.clone(), ..ChatMessage::tool("") }
}

fn error_text(reason: &str) -> String {
    Value::Object(Arguments::from([("error".to_owned(), reason.into())])).to_string()
}
