//! What a generation yields.

use causerie as core;

use crate::function::{RejectedCall, SdkFunctionCall};
use crate::message::ChatMessage;
use crate::number::{SdkCount, SdkLong, count, counts};

/// One event of a reply. After `Complete`, or after one error, nothing follows.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
#[expect(clippy::large_enum_variant, reason = "it crosses the border field by field")]
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
    /// Sound.
    AudioSample {
        /// Mono samples in -1.0..=1.0.
        samples: Vec<f32>,
        /// Samples per second.
        sample_rate: SdkCount,
    },
    /// Calls that the model wants made: one event for each block that it wrote.
    FunctionCalls {
        /// The calls, in order.
        function_calls: Vec<SdkFunctionCall>,
    },
    /// Call text that could not be delivered as calls.
    FunctionCallsRejected {
        /// What was refused, in order.
        rejected_calls: Vec<RejectedCall>,
    },
    /// Log-probabilities of tokens, where that is asked for: of each token once, in order, no later than what its text
    /// became. The token that ends the reply, and those that a stop sequence cuts off, are left out.
    Logprobs {
        /// The tokens.
        tokens: Vec<TokenLogprob>,
    },
    /// What came of a call, where functions are run along with the reply.
    FunctionResult {
        /// The call's id; none for a call that was rejected.
        call_id: Option<String>,
        /// The function; none for a rejected call whose name could not be read.
        name: Option<String>,
        /// The text of the message with the tool role that was added to the history.
        text: String,
        /// Whether the text tells an error: of the function, or of the call.
        is_error: bool,
    },
    /// The end.
    Complete {
        /// The assembled reply, as it stands in the history.
        full_message: ChatMessage,
        /// Why it ended.
        finish_reason: FinishReason,
        /// The stop sequence that was met, if one was.
        stop_sequence: Option<String>,
        /// Counts and times.
        stats: GenerationStats,
        /// Those of the replies before it whose calls were run along the way, in order; else empty.
        earlier_rounds: Vec<GenerationStats>,
        /// What the prompt left out of the history, and whether the results in it match the calls.
        prompt: PromptReport,
        /// Why calls were not constrained, or from some token on no longer, where that was asked for.
        unconstrained: Option<String>,
    },
}

/// A token of a reply, and how likely it was.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct TokenLogprob {
    /// The token that was written.
    pub token: ScoredToken,
    /// What it belongs to. Markers around reasoning and calls belong to those.
    pub place: ReplySection,
    /// The most probable tokens in its place, the best first, as many as were asked for.
    pub alternatives: Vec<ScoredToken>,
}

/// A token, with the natural logarithm of its probability: of what the model computed, before anything was done to it.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct ScoredToken {
    /// Its id.
    pub id: SdkCount,
    /// Its bytes as text; for a control token, its spelling.
    pub text: String,
    /// What it adds to the reply; empty for a control token.
    pub bytes: Vec<u8>,
    /// The natural logarithm of its probability.
    pub logprob: f64,
}

/// Where in a reply something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ReplySection {
    /// In text.
    Text,
    /// In reasoning.
    Reasoning,
    /// In a block of calls.
    Calls,
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum FinishReason {
    /// The model ended its turn, or a stop sequence was met.
    Stop,
    /// The model ended its turn, and at least one call was delivered.
    ToolCalls,
    /// The maximum of tokens was written.
    MaxTokens,
    /// The context is full.
    ExceedContext,
    /// Cancelled, or out of time.
    Interrupted,
    /// The reply could not go on as its options demand.
    Constraint,
}

/// How a history became a prompt; messages are named by their place in the history.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct PromptReport {
    /// Messages left out for want of room.
    pub dropped_messages: Vec<SdkCount>,
    /// Results of functions that were cut short for want of room.
    pub shrunk_messages: Vec<SdkCount>,
    /// Assistant messages that are followed by more or fewer results than they made calls.
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
    /// Those of them that did not have to be read, because a sequence before had read them.
    pub cached_prompt_tokens: SdkCount,
    /// Tokens that the model wrote, those of calls and reasoning included.
    pub completion_tokens: SdkCount,
    /// Those of them that are reasoning.
    pub reasoning_tokens: SdkCount,
    /// Those of them that are blocks of calls.
    pub call_tokens: SdkCount,
    /// Those of them that were the only ones possible, so that the model was not asked for them.
    pub forced_tokens: SdkCount,
    /// Tokens that were guessed, by where the text before them stood already, and read along to see whether they are
    /// right.
    pub drafted_tokens: SdkCount,
    /// Those of them that were right.
    pub accepted_draft_tokens: SdkCount,
    /// Spent finding out which tokens are possible; a part of the other times.
    pub constraint_time: f64,
    /// Tokens of prompt and reply together.
    pub total_tokens: SdkCount,
    /// From the request to its turn.
    pub queue_time: f64,
    /// From the request to the first token written.
    pub time_to_first_token: f64,
    /// Spent reading the prompt.
    pub prefill_time: f64,
    /// Spent writing.
    pub decode_time: f64,
    /// Tokens written per second of decoding.
    pub tokens_per_second: f64,
    /// The seed that was used.
    pub seed: SdkLong,
    /// The sampling values that were used.
    pub sampling: Sampling,
    /// Tokens that the context can hold.
    pub context_size: SdkCount,
    /// Bytes that the process had in memory at its peak so far; absent where the system does not tell.
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
            core::MessageResponse::FunctionResult(core::FunctionResult { call_id, name, text, is_error }) => {
                Self::FunctionResult { call_id, name, text, is_error }
            }
            core::MessageResponse::Complete(completion) => Self::Complete {
                full_message: completion.full_message.into(),
                finish_reason: match completion.finish_reason {
                    core::FinishReason::Stop => FinishReason::Stop,
                    core::FinishReason::ToolCalls => FinishReason::ToolCalls,
                    core::FinishReason::MaxTokens => FinishReason::MaxTokens,
                    core::FinishReason::ExceedContext => FinishReason::ExceedContext,
                    core::FinishReason::Constraint => FinishReason::Constraint,
                    _ => FinishReason::Interrupted,
                },
                stop_sequence: completion.stop_sequence,
                stats: completion.stats.into(),
                earlier_rounds: completion.earlier_rounds.into_iter().map(Into::into).collect(),
                prompt: PromptReport {
                    dropped_messages: counts(completion.prompt.dropped_messages),
                    shrunk_messages: counts(completion.prompt.shrunk_messages),
                    miscounted_results: counts(completion.prompt.miscounted_results),
                },
                unconstrained: completion.unconstrained,
            },
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
            completion_tokens: count(stats.completion_tokens),
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
