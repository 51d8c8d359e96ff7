//! Events as JSON, with the names of `index.d.ts`.

use causerie::{
    ChatMessage, Completion, Diagnostic, GenerationStats, MessageResponse, RejectedCall, ReplySection, ScoredToken,
    SdkFunctionCall, TokenLogprob, Value, messages_to_json,
};
use causerie_plain::finish_word;
use serde_json::{Value as Json, json};

/// The event, and the samples of one with sound.
pub(crate) fn event_json(event: MessageResponse) -> (Json, Option<Vec<f32>>) {
    let json = match event {
        MessageResponse::Chunk(text) => json!({ "type": "chunk", "text": text }),
        MessageResponse::ReasoningChunk(text) => json!({ "type": "reasoningChunk", "text": text }),
        MessageResponse::AudioSample { samples, sample_rate } => {
            return (json!({ "type": "audioSample", "sampleRate": sample_rate }), Some(samples));
        }
        MessageResponse::FunctionCalls(calls) => json!({ "type": "functionCalls", "calls": list(&calls, call) }),
        MessageResponse::RunFunctions(calls) => json!({ "type": "runFunctions", "calls": list(&calls, call) }),
        MessageResponse::FunctionCallsRejected(calls) => {
            json!({ "type": "functionCallsRejected", "rejected": list(&calls, rejected) })
        }
        MessageResponse::Logprobs(tokens) => json!({ "type": "logprobs", "tokens": list(&tokens, logprob) }),
        MessageResponse::FunctionResult(result) => json!({
            "type": "functionResult", "name": result.name, "callId": result.call_id, "text": result.text,
            "isError": result.is_error,
        }),
        MessageResponse::RoundComplete(end) => completion("roundComplete", &end),
        MessageResponse::Complete(end) => completion("complete", &end),
        _ => json!({ "type": "unknown" }),
    };
    (json, None)
}

fn list<T>(values: &[T], json: fn(&T) -> Json) -> Json {
    values.iter().map(json).collect()
}

/// A value of the core's JSON writer, whose integers are exact.
fn parsed(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_default()
}

fn call(call: &SdkFunctionCall) -> Json {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    json!({
        "name": call.name, "arguments": parsed(&arguments), "argumentsText": arguments, "callId": call.call_id,
        "rawText": call.raw_text, "repairs": call.repairs.iter().map(|repair| repair.code()).collect::<Vec<_>>(),
        "diagnostics": list(&call.diagnostics, diagnostic),
    })
}

fn rejected(call: &RejectedCall) -> Json {
    json!({ "reason": call.reason.code(), "name": call.name, "message": call.message, "rawText": call.raw_text })
}

fn diagnostic(diagnostic: &Diagnostic) -> Json {
    json!({ "code": diagnostic.code.code(), "path": diagnostic.path, "message": diagnostic.message })
}

fn scored(token: &ScoredToken) -> Json {
    json!({ "id": token.id, "text": token.text, "bytes": token.bytes, "logprob": token.logprob })
}

fn logprob(token: &TokenLogprob) -> Json {
    let place = match token.place {
        ReplySection::Text => "text",
        ReplySection::Reasoning => "reasoning",
        ReplySection::Calls => "calls",
    };
    json!({ "token": scored(&token.token), "place": place, "alternatives": list(&token.alternatives, scored) })
}

fn message(message: &ChatMessage) -> Json {
    match parsed(&messages_to_json(std::slice::from_ref(message))) {
        Json::Array(mut messages) => messages.pop().unwrap_or_default(),
        _ => Json::Null,
    }
}

fn completion(kind: &str, end: &Completion) -> Json {
    json!({
        "type": kind, "text": end.text(), "message": message(&end.full_message),
        "finishReason": finish_word(end.finish_reason), "stopSequence": end.stop_sequence, "stats": stats(&end.stats),
        "earlierRounds": list(&end.earlier_rounds, stats),
        "prompt": {
            "droppedMessages": end.prompt.dropped_messages, "shrunkMessages": end.prompt.shrunk_messages,
            "miscountedResults": end.prompt.miscounted_results,
        },
        "unconstrained": end.unconstrained, "diagnostics": list(&end.diagnostics, diagnostic),
    })
}

fn stats(stats: &GenerationStats) -> Json {
    json!({
        "promptTokens": stats.prompt_tokens, "cachedPromptTokens": stats.cached_prompt_tokens,
        "completionTokens": stats.completion_tokens, "reasoningTokens": stats.reasoning_tokens,
        "callTokens": stats.call_tokens, "queueTime": stats.queue_time.as_secs_f64(),
        "timeToFirstToken": stats.time_to_first_token.as_secs_f64(), "prefillTime": stats.prefill_time.as_secs_f64(),
        "decodeTime": stats.decode_time.as_secs_f64(), "tokensPerSecond": stats.tokens_per_second(),
        // A string: JavaScript's numbers have 53 bits.
        "seed": stats.seed.to_string(), "contextSize": stats.context_size, "peakMemory": stats.peak_memory,
    })
}
