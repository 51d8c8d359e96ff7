//! What the log says about a reply that has ended: counts and codes, never the text of anybody's messages.

use crate::function::SdkFunctionCall;
use crate::response::Completion;

/// Logs the end of a reply.
pub(super) fn log_end(completion: &Completion) {
    let Completion { full_message, finish_reason, stats, prompt, unconstrained, diagnostics, .. } = completion;
    log::debug!(
        "a reply of {} tokens to {} tokens ended by {finish_reason:?}, prefill {:.3} s, decode {:.3} s",
        stats.completion_tokens,
        stats.prompt_tokens,
        stats.prefill_time.as_secs_f64(),
        stats.decode_time.as_secs_f64()
    );
    let calls = full_message.function_calls.as_deref().unwrap_or_default();
    calls.iter().for_each(log_call);
    for rejected in &full_message.rejected_calls {
        log::info!("a call of {} is rejected: {}", rejected.name.as_deref().unwrap_or("?"), rejected.reason.code());
    }
    for found in diagnostics {
        log::info!("a remark about a reply: {}", found.code.code());
    }
    if let Some(reason) = unconstrained {
        log::warn!("calls were not constrained, although that was requested: {reason}");
    }
    if !prompt.dropped_messages.is_empty() || !prompt.shrunk_messages.is_empty() {
        let (n_dropped, n_shrunk) = (prompt.dropped_messages.len(), prompt.shrunk_messages.len());
        log::info!(
            "the prompt leaves out {n_dropped} messages and cuts {n_shrunk} function results to fit the context"
        );
    }
    if !prompt.miscounted_results.is_empty() {
        log::warn!("messages {:?} have another number of calls than of results", prompt.miscounted_results);
    }
}

fn log_call(call: &SdkFunctionCall) {
    let repairs = call.repairs.iter().map(|repair| repair.code());
    let codes: Vec<&str> = repairs.chain(call.diagnostics.iter().map(|found| found.code.code())).collect();
    if !codes.is_empty() {
        log::debug!("a call of {}: {}", call.name, codes.join(", "));
    }
}
