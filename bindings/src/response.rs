//! The events of a reply, and what they carry.

use causerie as core;

use crate::function::{Diagnostic, RejectedCall, SdkFunctionCall};
use crate::message::ChatMessage;
use crate::number::{SdkCount, SdkLong, count, counts};

/// One event of a reply. Nothing follows `Complete` or an error. Later versions may add events: ignore unknown ones.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
pub enum MessageResponse {
    /// Text, in whole characters.
    Chunk {
        /// The text.
        text: String,
    },
    /// Text of the model's reasoning, in whole characters.
    ReasoningChunk {
        /// The text.
        reasoning: String,
    },
    /// Audio.
    AudioSample {
        /// Mono samples in -1.0..=1.0.
        samples: Vec<f32>,
        /// Samples per second.
        sample_rate: SdkCount,
    },
    /// Calls that the model made: one event for each block of calls that it wrote.
    FunctionCalls {
        /// The calls, in order.
        function_calls: Vec<SdkFunctionCall>,
    },
    /// Call text that could not be delivered as calls.
    FunctionCallsRejected {
        /// The rejected calls, in order.
        rejected_calls: Vec<RejectedCall>,
    },
    /// Log-probabilities of tokens, if requested. Each token comes once, in order, no later than the event with its text. The
    /// token that ends the reply and tokens that a stop sequence cuts off are left out.
    Logprobs {
        /// The tokens.
        tokens: Vec<TokenLogprob>,
    },
    /// Calls that the reader of the stream is to run, at once if there are several, and to answer. Their arguments fit the
    /// functions' parameters. Only in a stream that was started with functions.
    RunFunctions {
        /// The calls, in order.
        function_calls: Vec<SdkFunctionCall>,
    },
    /// The result of a call, where functions run along with the reply.
    FunctionResult {
        /// The call's id; none for a rejected call.
        call_id: Option<String>,
        /// The function's name; none for a rejected call whose name could not be read.
        name: Option<String>,
        /// The text of the message with the tool role that was added to the history.
        text: String,
        /// Whether the text describes an error of the function or of the call.
        is_error: bool,
    },
    /// The end of a reply whose calls were run; another reply follows. The results of its calls come before this event.
    RoundComplete {
        /// The assembled reply, as it stands in the history.
        full_message: ChatMessage,
        /// Why it ended.
        finish_reason: FinishReason,
        /// The stop sequence that was met, if one was.
        stop_sequence: Option<String>,
        /// Counts and times.
        stats: GenerationStats,
        /// What the prompt left out of the history, and whether the results in it match the calls.
        prompt: PromptReport,
        /// Why calls were not constrained, or only up to some token, although that was requested.
        unconstrained: Option<String>,
        /// Remarks about the reply as a whole: that its text looks like a call, although no function was called.
        diagnostics: Vec<Diagnostic>,
    },
    /// The end of the stream.
    Complete {
        /// The assembled reply, as it stands in the history.
        full_message: ChatMessage,
        /// Why it ended.
        finish_reason: FinishReason,
        /// The stop sequence that was met, if one was.
        stop_sequence: Option<String>,
        /// Counts and times.
        stats: GenerationStats,
        /// Counts and times of the earlier replies of the same stream, in order; empty unless functions ran along with it.
        earlier_rounds: Vec<GenerationStats>,
        /// What the prompt left out of the history, and whether the results in it match the calls.
        prompt: PromptReport,
        /// Why calls were not constrained, or only up to some token, although that was requested.
        unconstrained: Option<String>,
        /// Remarks about the reply as a whole: that its text looks like a call, although no function was called.
        diagnostics: Vec<Diagnostic>,
    },
}

/// A token of a reply with its log-probability.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct TokenLogprob {
    /// The token that was written.
    pub token: ScoredToken,
    /// The section that it belongs to. Markers of reasoning and of calls belong to those sections.
    pub place: ReplySection,
    /// The most probable tokens at its position, the best first, as many as were requested.
    pub alternatives: Vec<ScoredToken>,
}

/// A token with the natural logarithm of its probability, before temperature, penalties, biases and constraints.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct ScoredToken {
    /// Its id.
    pub id: SdkCount,
    /// Its bytes as text; for a control token, its spelling.
    pub text: String,
    /// The bytes that it adds to the reply; empty for a control token.
    pub bytes: Vec<u8>,
    /// The natural logarithm of its probability.
    pub logprob: f64,
}

/// A section of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ReplySection {
    /// Text.
    Text,
    /// Reasoning.
    Reasoning,
    /// A block of calls.
    Calls,
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum FinishReason {
    /// The model ended its turn, or a stop sequence was met.
    Stop,
    /// The model ended its turn, and at least one call was delivered.
    ToolCalls,
    /// The maximum number of tokens was written.
    MaxTokens,
    /// The context is full.
    ExceedContext,
    /// Cancelled, or out of time.
    Interrupted,
    /// The reply could not continue under its constraint.
    Constraint,
}

/// What a prompt left out of the history. Messages are given by their index.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct PromptReport {
    /// Messages left out so that the prompt fits the context.
    pub dropped_messages: Vec<SdkCount>,
    /// Function results that were cut short so that the prompt fits the context.
    pub shrunk_messages: Vec<SdkCount>,
    /// Assistant messages whose number of following results differs from their number of calls.
    pub miscounted_results: Vec<SdkCount>,
}

/// The sampling values that were used.
#[derive(Clone, Copy, Debug, PartialEq, uniffi::Record)]
#[expect(missing_docs, reason = "as in GenerationOptions")]
pub struct Sampling {
    pub temperature: f32,
    pub top_p: f32,
    pub top_k: SdkCount,
    pub min_p: f32,
    pub repetition_penalty: f32,
    pub presence_penalty: f32,
    pub frequency_penalty: f32,
}

/// Counts and times of one generation. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq, uniffi::Record)]
pub struct GenerationStats {
    /// Tokens of the prompt.
    pub prompt_tokens: SdkCount,
    /// Prompt tokens taken from the prefix cache instead of being prefilled.
    pub cached_prompt_tokens: SdkCount,
    /// Tokens of the prompt that are sound: rows of 80 ms, for example.
    pub audio_tokens: SdkCount,
    /// Tokens that the model wrote, including calls and reasoning.
    pub completion_tokens: SdkCount,
    /// Completion tokens that are sound: frames of 80 ms, for example.
    pub spoken_tokens: SdkCount,
    /// Completion tokens in reasoning.
    pub reasoning_tokens: SdkCount,
    /// Completion tokens in blocks of calls.
    pub call_tokens: SdkCount,
    /// Completion tokens that the constraint forced, so that no sampling was needed.
    pub forced_tokens: SdkCount,
    /// Draft tokens that the model verified (speculative decoding).
    pub drafted_tokens: SdkCount,
    /// Draft tokens that were accepted.
    pub accepted_draft_tokens: SdkCount,
    /// Time spent computing which tokens the constraint allows; a part of the other times.
    pub constraint_time: f64,
    /// Tokens of prompt and reply together.
    pub total_tokens: SdkCount,
    /// Time in the request queue.
    pub queue_time: f64,
    /// Time from the request to the first token written.
    pub time_to_first_token: f64,
    /// Time spent prefilling the prompt.
    pub prefill_time: f64,
    /// Time spent decoding.
    pub decode_time: f64,
    /// Tokens written per second of decoding.
    pub tokens_per_second: f64,
    /// The seed that was used.
    pub seed: SdkLong,
    /// The sampling values that were used.
    pub sampling: Sampling,
    /// Tokens that the context can hold.
    pub context_size: SdkCount,
    /// Peak memory of the whole process so far, in bytes; absent where the system does not report it.
    pub peak_memory: Option<SdkLong>,
}

impl From<core::MessageResponse> for MessageResponse {
    fn from(response: core::MessageResponse) -> Self {
        match response {
            core::MessageResponse::Chunk(text) => Self::Chunk { text },
            core::MessageResponse::ReasoningChunk(reasoning) => Self::ReasoningChunk { reasoning },
            core::MessageResponse::AudioSample { samples, sample_rate } => {
                Self::AudioSample { samples, sample_rate: SdkCount(sample_rate) }
            }
            core::MessageResponse::FunctionCalls(calls) => {
                Self::FunctionCalls { function_calls: calls.into_iter().map(Into::into).collect() }
            }
            core::MessageResponse::FunctionCallsRejected(rejected) => {
                Self::FunctionCallsRejected { rejected_calls: rejected.into_iter().map(Into::into).collect() }
            }
            core::MessageResponse::Logprobs(tokens) => {
                Self::Logprobs { tokens: tokens.into_iter().map(Into::into).collect() }
            }
            core::MessageResponse::FunctionResult(core::FunctionResult { call_id, name, text, is_error, .. }) => {
                Self::FunctionResult { call_id, name, text, is_error }
            }
            core::MessageResponse::RunFunctions(calls) => {
                Self::RunFunctions { function_calls: calls.into_iter().map(Into::into).collect() }
            }
            core::MessageResponse::RoundComplete(completion) => Self::RoundComplete {
                full_message: completion.full_message.into(),
                finish_reason: completion.finish_reason.into(),
                stop_sequence: completion.stop_sequence,
                stats: completion.stats.into(),
                prompt: completion.prompt.into(),
                unconstrained: completion.unconstrained,
                diagnostics: completion.diagnostics.into_iter().map(Into::into).collect(),
            },
            core::MessageResponse::Complete(completion) => Self::Complete {
                full_message: completion.full_message.into(),
                finish_reason: completion.finish_reason.into(),
                stop_sequence: completion.stop_sequence,
                stats: completion.stats.into(),
                earlier_rounds: completion.earlier_rounds.into_iter().map(Into::into).collect(),
                prompt: completion.prompt.into(),
                unconstrained: completion.unconstrained,
                diagnostics: completion.diagnostics.into_iter().map(Into::into).collect(),
            },
            // The core has no other event. One without text changes nothing for the reader.
            _ => Self::Chunk { text: String::new() },
        }
    }
}

impl From<core::FinishReason> for FinishReason {
    fn from(reason: core::FinishReason) -> Self {
        match reason {
            core::FinishReason::Stop => Self::Stop,
            core::FinishReason::ToolCalls => Self::ToolCalls,
            core::FinishReason::MaxTokens => Self::MaxTokens,
            core::FinishReason::ExceedContext => Self::ExceedContext,
            core::FinishReason::Constraint => Self::Constraint,
            _ => Self::Interrupted,
        }
    }
}

impl From<core::PromptReport> for PromptReport {
    fn from(report: core::PromptReport) -> Self {
        Self {
            dropped_messages: counts(report.dropped_messages),
            shrunk_messages: counts(report.shrunk_messages),
            miscounted_results: counts(report.miscounted_results),
        }
    }
}

impl From<core::TokenLogprob> for TokenLogprob {
    fn from(logprob: core::TokenLogprob) -> Self {
        Self {
            token: logprob.token.into(),
            place: match logprob.place {
                core::ReplySection::Text => ReplySection::Text,
                core::ReplySection::Reasoning => ReplySection::Reasoning,
                core::ReplySection::Calls => ReplySection::Calls,
            },
            alternatives: logprob.alternatives.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<core::ScoredToken> for ScoredToken {
    fn from(token: core::ScoredToken) -> Self {
        Self { id: SdkCount(token.id), text: token.text, bytes: token.bytes, logprob: token.logprob }
    }
}

impl From<core::GenerationStats> for GenerationStats {
    fn from(stats: core::GenerationStats) -> Self {
        Self {
            prompt_tokens: count(stats.prompt_tokens),
            cached_prompt_tokens: count(stats.cached_prompt_tokens),
            audio_tokens: count(stats.audio_tokens),
            completion_tokens: count(stats.completion_tokens),
            spoken_tokens: count(stats.spoken_tokens),
            reasoning_tokens: count(stats.reasoning_tokens),
            call_tokens: count(stats.call_tokens),
            forced_tokens: count(stats.forced_tokens),
            drafted_tokens: count(stats.drafted_tokens),
            accepted_draft_tokens: count(stats.accepted_draft_tokens),
            constraint_time: stats.constraint_time.as_secs_f64(),
            total_tokens: count(stats.total_tokens()),
            queue_time: stats.queue_time.as_secs_f64(),
            time_to_first_token: stats.time_to_first_token.as_secs_f64(),
            prefill_time: stats.prefill_time.as_secs_f64(),
            decode_time: stats.decode_time.as_secs_f64(),
            tokens_per_second: stats.tokens_per_second(),
            seed: SdkLong(stats.seed),
            sampling: Sampling {
                temperature: stats.sampling.temperature,
                top_p: stats.sampling.top_p,
                top_k: count(stats.sampling.top_k),
                min_p: stats.sampling.min_p,
                repetition_penalty: stats.sampling.repetition_penalty,
                presence_penalty: stats.sampling.presence_penalty,
                frequency_penalty: stats.sampling.frequency_penalty,
            },
            context_size: count(stats.context_size),
            peak_memory: stats.peak_memory.map(SdkLong),
        }
    }
}
