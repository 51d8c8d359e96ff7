//! What an event carries.

use std::ffi::c_char;

use causerie::{Completion, FinishReason, GenerationStats, MessageResponse, SdkFunctionCall, Value, messages_to_json};

use crate::border::{Buffer, Out};
use crate::fault::{Fault, Status};
use crate::handles::Handle;

type Event = Handle<MessageResponse>;

/// The number of an event's kind in the header.
fn kind(event: &MessageResponse) -> i32 {
    match event {
        MessageResponse::Chunk(_) => 0,
        MessageResponse::ReasoningChunk(_) => 1,
        MessageResponse::FunctionCalls(_) => 2,
        MessageResponse::FunctionCallsRejected(_) => 3,
        MessageResponse::RunFunctions(_) => 4,
        MessageResponse::FunctionResult(_) => 5,
        MessageResponse::AudioSample { .. } => 6,
        MessageResponse::Logprobs(_) => 7,
        MessageResponse::RoundComplete(_) => 8,
        MessageResponse::Complete(_) => 9,
        _ => -1, // an event of a later version, to be ignored
    }
}

fn missing(what: &str) -> Fault {
    Fault::new(Status::NotAvailable, format!("an event of this kind has no {what}"))
}

fn out_of(what: &str, index: usize) -> Fault {
    Fault::argument(format!("index must be below the number of {what}, found {index}"))
}

fn calls(event: &MessageResponse) -> Result<&[SdkFunctionCall], Fault> {
    match event {
        MessageResponse::FunctionCalls(calls) | MessageResponse::RunFunctions(calls) => Ok(calls),
        _ => Err(missing("calls")),
    }
}

fn completion(event: &MessageResponse) -> Result<&Completion, Fault> {
    match event {
        MessageResponse::RoundComplete(completion) | MessageResponse::Complete(completion) => Ok(completion),
        _ => Err(missing("completion")),
    }
}

fn text(event: &MessageResponse) -> Result<String, Fault> {
    Ok(match event {
        MessageResponse::Chunk(text) | MessageResponse::ReasoningChunk(text) => text.clone(),
        MessageResponse::FunctionResult(result) => result.text.clone(),
        other => completion(other).map_err(|_| missing("text"))?.text(),
    })
}

/// `None` for a number that names no statistic.
fn statistic(stats: &GenerationStats, which: i32) -> Option<f64> {
    let count = |count: usize| count as f64; // exact up to 2^53
    Some(match which {
        0 => count(stats.prompt_tokens),
        1 => count(stats.cached_prompt_tokens),
        2 => count(stats.completion_tokens),
        3 => count(stats.reasoning_tokens),
        4 => count(stats.call_tokens),
        5 => stats.queue_time.as_secs_f64(),
        6 => stats.time_to_first_token.as_secs_f64(),
        7 => stats.prefill_time.as_secs_f64(),
        8 => stats.decode_time.as_secs_f64(),
        9 => stats.tokens_per_second(),
        _ => return None,
    })
}

exports! {
    fn causerie_event_kind(event: Event, kind_of_event: Out<i32>) {
        kind_of_event.write(kind(&*event.get("event")?), "kind")?;
    }

    fn causerie_event_text(event: Event, value: Out<*const c_char>) {
        value.give(&text(&*event.get("event")?)?, "text")?;
    }

    fn causerie_event_count(event: Event, count: Out<usize>) {
        let n_entries = match &*event.get("event")? {
            MessageResponse::FunctionCallsRejected(rejected) => rejected.len(),
            MessageResponse::Logprobs(tokens) => tokens.len(),
            MessageResponse::AudioSample { samples, .. } => samples.len(),
            other => calls(other).map_err(|_| missing("entries"))?.len(),
        };
        count.write(n_entries, "count")?;
    }

    fn causerie_event_call(
        event: Event,
        index: usize,
        name: Out<*const c_char>,
        arguments: Out<*const c_char>,
        call_id: Out<*const c_char>,
    ) {
        let event = event.get("event")?;
        let call = calls(&event)?.get(index).ok_or_else(|| out_of("calls", index))?;
        name.give_if_wanted(Some(&call.name));
        arguments.give_if_wanted(Some(&Value::Object(call.arguments.clone()).to_string()));
        call_id.give_if_wanted(Some(&call.call_id));
    }

    fn causerie_event_rejected(
        event: Event,
        index: usize,
        reason: Out<*const c_char>,
        message: Out<*const c_char>,
        raw_text: Out<*const c_char>,
    ) {
        let event = event.get("event")?;
        let MessageResponse::FunctionCallsRejected(rejected) = &*event else { return Err(missing("rejected calls")) };
        let call = rejected.get(index).ok_or_else(|| out_of("rejected calls", index))?;
        reason.give_if_wanted(Some(call.reason.code()));
        message.give_if_wanted(Some(&call.message));
        raw_text.give_if_wanted(Some(&call.raw_text));
    }

    fn causerie_event_result(event: Event, name: Out<*const c_char>, call_id: Out<*const c_char>, is_error: Out<bool>) {
        let event = event.get("event")?;
        let MessageResponse::FunctionResult(result) = &*event else { return Err(missing("result")) };
        name.give_if_wanted(result.name.as_deref());
        call_id.give_if_wanted(result.call_id.as_deref());
        is_error.write_if_wanted(|| result.is_error);
    }

    fn causerie_event_token(event: Event, index: usize, token: Out<*const c_char>, logprob: Out<f64>) {
        let event = event.get("event")?;
        let MessageResponse::Logprobs(tokens) = &*event else { return Err(missing("tokens")) };
        let scored = &tokens.get(index).ok_or_else(|| out_of("tokens", index))?.token;
        token.give_if_wanted(Some(&scored.text));
        logprob.write_if_wanted(|| scored.logprob);
    }

    fn causerie_event_samples(event: Event, samples: Buffer<f32>, capacity: usize, sample_rate: Out<u32>) {
        let event = event.get("event")?;
        let MessageResponse::AudioSample { samples: spoken, sample_rate: rate } = &*event else {
            return Err(missing("samples"));
        };
        samples.fill(spoken, capacity);
        sample_rate.write_if_wanted(|| *rate);
    }

    fn causerie_event_finish_reason(event: Event, reason: Out<i32>) {
        let number = match completion(&*event.get("event")?)?.finish_reason {
            FinishReason::Stop => 0,
            FinishReason::ToolCalls => 1,
            FinishReason::MaxTokens => 2,
            FinishReason::ExceedContext => 3,
            FinishReason::Interrupted => 4,
            FinishReason::Constraint => 5,
            _ => -1, // a reason of a later version
        };
        reason.write(number, "reason")?;
    }

    fn causerie_event_message(event: Event, message: Out<*const c_char>) {
        let event = event.get("event")?;
        let messages = messages_to_json(std::slice::from_ref(&completion(&event)?.full_message));
        message.give(messages.trim_start_matches('[').trim_end_matches(']'), "message")?;
    }

    fn causerie_event_statistic(event: Event, which: i32, value: Out<f64>) {
        let event = event.get("event")?;
        let none = || Fault::argument(format!("which must be a value of causerie_statistic, found {which}"));
        value.write(statistic(&completion(&event)?.stats, which).ok_or_else(none)?, "value")?;
    }

    fn causerie_event_free(event: Event) {
        event.free("event")?;
    }
}
