//! What a generation yields.

use std::time::Duration;

use crate::function::{RejectedCall, SdkFunctionCall};
use crate::message::ChatMessage;
use crate::options::Sampling;

/// One event of a reply. After `Complete`, or after one error, nothing follows.
///
/// ```
/// use causerie::MessageResponse;
///
/// fn show(event: &MessageResponse) {
///     match event {
///         MessageResponse::Chunk(text) => print!("{text}"),
///         MessageResponse::FunctionCalls(calls) => calls.iter().for_each(|call| println!("{} is called", call.name)),
///         MessageResponse::Complete(completion) => println!("\n{} tokens", completion.stats.completion_tokens),
///         _ => {}
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum MessageResponse {
    /// Text, in whole characters.
    Chunk(String),
    /// Text of the model's reasoning, in whole characters.
    ReasoningChunk(String),
    /// Sound.
    AudioSample {
        /// Mono samples in -1.0..=1.0.
        samples: Vec<f32>,
        /// Samples per second.
        sample_rate: u32,
    },
    /// Calls that the model wants made: one event for each block that it wrote.
    FunctionCalls(Vec<SdkFunctionCall>),
    /// Call text that could not be delivered as calls.
    FunctionCallsRejected(Vec<RejectedCall>),
    /// Log-probabilities of tokens, where [`logprobs`](crate::GenerationOptions::logprobs) asks for them: of each token
    /// once, in order, no later than what its text became. The token that ends the reply, and those that a stop sequence
    /// cuts off, are left out.
    Logprobs(Vec<TokenLogprob>),
    /// What came of a call, where [functions are run along with the reply](crate::Conversation::respond_with_functions).
    FunctionResult(FunctionResult),
    /// The end.
    Complete(Box<Completion>),
}

/// A token of a reply, and how likely it was.
///
/// ```
/// use causerie::{MessageResponse, TokenLogprob};
///
/// /// How unlikely the most unlikely token was.
/// fn least_likely(event: &MessageResponse) -> Option<f64> {
///     let MessageResponse::Logprobs(tokens) = event else { return None };
///     tokens.iter().map(|token: &TokenLogprob| token.token.logprob).reduce(f64::min)
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLogprob {
    /// The token that was written.
    pub token: ScoredToken,
    /// What it belongs to. Markers around reasoning and calls belong to those.
    pub place: ReplySection,
    /// The most probable tokens in its place, the best first, as many as were asked for. Some may be more probable than the
    /// one that was written, which may be among them.
    pub alternatives: Vec<ScoredToken>,
}

/// A token, with the natural logarithm of its probability: of the softmax over what the model computed, before temperature,
/// penalties, biases, constraints and the limits of sampling.
///
/// ```
/// use causerie::ScoredToken;
///
/// let token = ScoredToken { id: 7, text: " sun".to_owned(), bytes: b" sun".to_vec(), logprob: -0.25 };
/// assert!((token.logprob.exp() - 0.7788).abs() < 1e-4);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredToken {
    /// Its id.
    pub id: u32,
    /// Its bytes as text, where a part of a character is U+FFFD; for a control token, its spelling.
    pub text: String,
    /// What it adds to the reply; empty for a control token, unless those are text too, without a parser.
    pub bytes: Vec<u8>,
    /// The natural logarithm of its probability.
    pub logprob: f64,
}

/// Where in a reply something stands.
///
/// ```
/// use causerie::{FunctionCallParser, Piece, ReplySection, ReplyParser};
///
/// let mut parser = ReplyParser::new(Some(FunctionCallParser::DefaultFunctionCallParser));
/// parser.push(Piece::Control("<|tool_call_start|>"), &mut |_| {});
/// assert_eq!(parser.place(), ReplySection::Calls);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplySection {
    /// In text.
    Text,
    /// In reasoning.
    Reasoning,
    /// In a block of calls.
    Calls,
}

/// What came of a call, as the model reads it.
///
/// ```
/// use causerie::{FunctionResult, MessageResponse};
///
/// fn failure(event: &MessageResponse) -> Option<&FunctionResult> {
///     match event {
///         MessageResponse::FunctionResult(result) if result.is_error => Some(result),
///         _ => None,
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionResult {
    /// The call's [id](SdkFunctionCall::call_id); `None` for a call that was rejected.
    pub call_id: Option<String>,
    /// The function; `None` for a rejected call whose name could not be read.
    pub name: Option<String>,
    /// The text of the message with the tool role that was added to the history.
    pub text: String,
    /// Whether the text tells an error: of the function, or of the call.
    pub is_error: bool,
}

/// How a reply ended, whole.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
/// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// let Some(Ok(MessageResponse::Complete(completion))) = reply.last() else { panic!("the reply ends") };
/// assert_eq!(Some(&completion.full_message), conversation.history().last());
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The assembled reply, as it stands in the history.
    pub full_message: ChatMessage,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// The stop sequence that was met, if one was.
    pub stop_sequence: Option<String>,
    /// Counts and times.
    pub stats: GenerationStats,
    /// Those of the replies before it whose calls were run
    /// [along the way](crate::Conversation::respond_with_functions), in order; else empty.
    pub earlier_rounds: Vec<GenerationStats>,
    /// What the prompt left out of the history, and whether the results in it match the calls.
    pub prompt: PromptReport,
    /// Why calls were not constrained, or from some token on no longer, where
    /// [`Typed`](crate::ToolCallConstraint::Typed) asked for it.
    pub unconstrained: Option<String>,
}

/// How a history became a prompt.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
/// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// let Some(Ok(MessageResponse::Complete(completion))) = reply.last() else { panic!("the reply ends") };
/// assert!(completion.prompt.dropped_messages.is_empty());
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptReport {
    /// Messages left out for want of room, by their place in the history.
    pub dropped_messages: Vec<usize>,
    /// Results of functions that were cut short for want of room, by their place in the history.
    pub shrunk_messages: Vec<usize>,
    /// Assistant messages that are followed by more or fewer results than they made calls, by their place in the
    /// history.
    pub miscounted_results: Vec<usize>,
}

/// Why a reply ended.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
/// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// let Some(Ok(MessageResponse::Complete(completion))) = reply.last() else { panic!("the reply ends") };
/// assert_eq!(completion.finish_reason, causerie::FinishReason::Stop);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended its turn, or a stop sequence was met.
    Stop,
    /// The model ended its turn, and at least one call was delivered.
    ToolCalls,
    /// `max_tokens` were written.
    MaxTokens,
    /// The context is full.
    ExceedContext,
    /// Cancelled.
    Interrupted,
    /// The reply could not go on as its options demand: the model writes nothing that they allow, or their grammar became
    /// too much to follow.
    Constraint,
}

/// Counts and times of one generation.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
/// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// let Some(Ok(MessageResponse::Complete(completion))) = reply.last() else { panic!("the reply ends") };
/// println!("first token after {:?}", completion.stats.time_to_first_token);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GenerationStats {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Those of them that did not have to be read, because a sequence before had read them.
    pub cached_prompt_tokens: usize,
    /// Tokens that the model wrote, those of calls and reasoning included.
    pub completion_tokens: usize,
    /// Those of them that are reasoning.
    pub reasoning_tokens: usize,
    /// Those of them that are blocks of calls.
    pub call_tokens: usize,
    /// Those of them that were the only ones possible, so that the model was not asked for them.
    pub forced_tokens: usize,
    /// Tokens that were guessed, by where the text before them stood already, and read along to see whether they are
    /// right: in calls and quotes, as long as enough of them are.
    pub drafted_tokens: usize,
    /// Those of them that were right.
    pub accepted_draft_tokens: usize,
    /// Spent finding out which tokens are possible; a part of the other times.
    pub constraint_time: Duration,
    /// From the request to its turn: other replies of the same conversation come first.
    pub queue_time: Duration,
    /// From the request to the first token written.
    pub time_to_first_token: Duration,
    /// Spent reading the prompt.
    pub prefill_time: Duration,
    /// Spent writing.
    pub decode_time: Duration,
    /// The seed that was used.
    pub seed: u64,
    /// The sampling values that were used.
    pub sampling: Sampling,
    /// Tokens that the context can hold.
    pub context_size: usize,
    /// Bytes that the process had in memory at its peak so far, whatever used them; `None` where the system does not tell,
    /// which is everywhere but on Linux and Android.
    pub peak_memory: Option<u64>,
}

impl GenerationStats {
    /// Those of a reply that has not begun.
    pub(crate) fn new(seed: u64, sampling: Sampling, context_size: usize) -> Self {
        Self {
            prompt_tokens: 0,
            cached_prompt_tokens: 0,
            completion_tokens: 0,
            reasoning_tokens: 0,
            call_tokens: 0,
            forced_tokens: 0,
            drafted_tokens: 0,
            accepted_draft_tokens: 0,
            constraint_time: Duration::ZERO,
            queue_time: Duration::ZERO,
            time_to_first_token: Duration::ZERO,
            prefill_time: Duration::ZERO,
            decode_time: Duration::ZERO,
            seed,
            sampling,
            context_size,
            peak_memory: None,
        }
    }

    /// Tokens of prompt and reply together.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// let Some(Ok(MessageResponse::Complete(completion))) = reply.last() else { panic!("the reply ends") };
    /// assert_eq!(completion.stats.total_tokens(), completion.stats.prompt_tokens + completion.stats.completion_tokens);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn total_tokens(&self) -> usize {
        self.prompt_tokens + self.completion_tokens
    }

    /// Tokens written per second of decoding; 0 before the second token.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// let Some(Ok(MessageResponse::Complete(completion))) = reply.last() else { panic!("the reply ends") };
    /// println!("{:.1} tokens a second", completion.stats.tokens_per_second());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn tokens_per_second(&self) -> f64 {
        // The first token comes out of the prefill, so n tokens take n - 1 steps of decoding.
        let steps = self.completion_tokens.saturating_sub(1) as f64;
        if steps == 0.0 { 0.0 } else { steps / self.decode_time.as_secs_f64() }
    }
}
