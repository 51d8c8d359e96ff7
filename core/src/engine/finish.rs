//! The end of a reply: its last event, its message, and the state that it leaves to the prefix cache.

use crate::engine::cache::PrefixCache;
use crate::engine::embeddings::Embeddings;
use crate::engine::end_report::log_end;
use crate::engine::generate::Generation;
use crate::engine::timing::peak_memory;
use crate::error::SdkError;
use crate::function::{Diagnostic, DiagnosticCode};
use crate::message::ChatMessage;
use crate::parse::ReplyEnd;
use crate::position::can_be_cut_at;
use crate::response::{Completion, FinishReason, MessageResponse};

impl Generation {
    /// Ends the reply as complete, with what was generated so far.
    pub(super) fn end(&mut self, reason: FinishReason) {
        self.pending_prompt = None; // a prompt that is being made is dropped with it
        self.embeddings = Embeddings::default();
        let is_interrupted = reason == FinishReason::Interrupted;
        let is_cut = is_interrupted || reason == FinishReason::Constraint;
        self.transcript.finish(if is_cut { ReplyEnd::Interrupted } else { ReplyEnd::Ended });
        if let Some(speech) = &mut self.speech {
            self.transcript.reply.sound(&speech.finish());
        }
        let reply = &self.transcript.reply;
        let stop_sequence = reply.stop_sequence().map(str::to_owned);
        let (mut full_message, has_calls) = (reply.message(is_interrupted), 0 < reply.n_calls());
        let mut diagnostics = if is_cut { Vec::new() } else { reply.diagnostics() };
        diagnostics.extend((self.repeats && !is_cut).then(repeated_tail));
        self.report_end(Some(&mut full_message));
        let finish_reason = if reason == FinishReason::Stop && has_calls { FinishReason::ToolCalls } else { reason };
        let has_missed = diagnostics.iter().any(|found| found.code == DiagnosticCode::MissedCall);
        let missed = (self.constraint.constrains_blocks() && has_missed).then_some("the model began no block of calls");
        self.stats.constraint_time = self.constraint.time;
        self.stats.peak_memory = peak_memory();
        let completion = Completion {
            full_message,
            finish_reason,
            stop_sequence,
            stats: self.stats,
            earlier_rounds: Vec::new(),
            prompt: std::mem::take(&mut self.prompt_report),
            unconstrained: self.constraint.fault().or(missed).map(str::to_owned),
            diagnostics,
        };
        log_end(&completion);
        self.terminal = Some(Ok(MessageResponse::Complete(Box::new(completion))));
        self.has_ended = true;
    }

    /// Ends the reply with an error. Events that were parsed before it are still delivered.
    pub(crate) fn fail(&mut self, err: SdkError) {
        self.pending_prompt = None;
        self.embeddings = Embeddings::default();
        self.state = None; // it may hold half a step
        self.pauses.clear();
        log::debug!("a reply failed: {err}");
        // Set first, so that the reply has its end even if the rest panics.
        self.terminal = Some(Err(err));
        self.has_ended = true;
        if 0 < self.stats.prompt_tokens {
            self.transcript.finish(ReplyEnd::Interrupted);
            let _ = self.partial.set(self.transcript.reply.message(true)); // never set before: a reply ends once
        }
        self.report_end(None);
    }

    /// Ends the reply where it stands, and releases all that belongs to the model.
    pub(crate) fn unload(&mut self) {
        if !self.has_ended {
            self.end(FinishReason::Interrupted);
        }
        self.state = None;
        self.pauses.clear();
    }

    /// Drops the reply without notifying its owner.
    pub(crate) fn abandon(mut self) {
        self.reply_owner = None;
    }

    /// Sends events in order. Returns false if the reader must pull before all are sent.
    pub(crate) fn send(&mut self) -> bool {
        let events = &mut self.transcript.reply.events;
        while let Some(event) = events.pop_front() {
            if let Some(Ok(event)) = self.sender.send(Ok(event)) {
                events.push_front(event);
                return false;
            }
        }
        let terminal = &mut self.terminal;
        *terminal = terminal.take().and_then(|event| self.sender.send(event));
        terminal.is_none()
    }

    /// Leaves the state to prompts that continue from here.
    pub(super) fn cache_state(&mut self, cache: &mut PrefixCache) {
        let Some(state) = self.state.take() else { return };
        if self.reading.is_some() {
            return; // what is to be kept of it has been kept
        }
        let n_positions = state.n_positions();
        // A reply that was cancelled inside of embedded content leaves nothing: it is only reused whole.
        if can_be_cut_at(&self.positions, n_positions) {
            let pauses = std::mem::take(&mut self.pauses);
            cache.keep_with(&self.positions[..n_positions], state, pauses, self.owner);
        }
    }

    fn report_end(&mut self, reply: Option<&mut ChatMessage>) {
        if let Some(mut owner) = self.reply_owner.take() {
            owner.ended(reply);
        }
    }
}

/// The diagnostic of a reply that was ended in a loop.
fn repeated_tail() -> Diagnostic {
    let message = "the end of the reply only repeated itself, so it was ended".to_owned();
    Diagnostic { code: DiagnosticCode::RepeatedTail, path: String::new(), message }
}

/// A reply that is dropped unfinished, with its engine, reports its end as well.
impl Drop for Generation {
    fn drop(&mut self) {
        self.report_end(None);
    }
}
