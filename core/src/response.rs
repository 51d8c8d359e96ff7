//! Events of a reply, and its completion.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::function::{Diagnostic, RejectedCall, SdkFunctionCall, Value};
use crate::message::{ChatMessage, ChatMessageContent};
use crate::options::Sampling;

/// One event of a reply. Nothing follows `Complete` or an error. Later versions may add events: ignore unknown ones.
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
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum MessageResponse {
    /// Text. Contains whole characters only.
    Chunk(String),
    /// Text of the model's reasoning. Contains whole characters only.
    ReasoningChunk(String),
    /// Audio.
    AudioSample {
        /// Mono samples in -1.0..=1.0.
        samples: Vec<f32>,
        /// Samples per second.
        sample_rate: u32,
    },
    /// Calls that the model made: one event for each block of calls.
    FunctionCalls(Vec<SdkFunctionCall>),
    /// Calls that could not be read.
    FunctionCallsRejected(Vec<RejectedCall>),
    /// Log-probabilities of tokens, if [`logprobs`](crate::GenerationOptions::logprobs) requests them. Each token is reported
    /// once, in order, and not later than the event with its text. The token that ends the reply and the tokens that a stop
    /// sequence cuts off are left out.
    Logprobs(Vec<TokenLogprob>),
    /// Calls that the reader of the stream must run, at once if there are several, and then
    /// [answer](crate::ResponseStream::answer). Their arguments fit the function's parameters, coerced where that was
    /// obvious. Only for functions that are [run by the reader](crate::FunctionHandlers::run_by_reader).
    RunFunctions(Vec<SdkFunctionCall>),
    /// The result of a call, if [functions are run along with the reply](crate::Conversation::respond_with_functions).
    FunctionResult(FunctionResult),
    /// The end of a reply whose calls were run; another reply follows. The results of its calls come before this event.
    RoundComplete(Box<Completion>),
    /// The end of the stream.
    Complete(Box<Completion>),
}

/// A token of a reply with its log-probability.
///
/// ```
/// use causerie::{MessageResponse, TokenLogprob};
///
/// /// The lowest log-probability of an event's tokens.
/// fn least_likely(event: &MessageResponse) -> Option<f64> {
///     let MessageResponse::Logprobs(tokens) = event else { return None };
///     tokens.iter().map(|token: &TokenLogprob| token.token.logprob).reduce(f64::min)
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLogprob {
    /// The token that was generated.
    pub token: ScoredToken,
    /// The section that the token belongs to. Markers around reasoning and calls belong to the section that they enclose.
    pub place: ReplySection,
    /// The most probable tokens at this position, the best first, as many as were requested. They may include the generated
    /// token, and tokens more probable than it.
    pub alternatives: Vec<ScoredToken>,
}

/// A token with its log-probability: the logarithm of the softmax over the model's logits, before temperature, penalties,
/// biases, constraints and sampling limits are applied.
///
/// ```
/// use causerie::ScoredToken;
///
/// let token = ScoredToken { id: 7, text: " sun".to_owned(), bytes: b" sun".to_vec(), logprob: -0.25 };
/// assert!((token.logprob.exp() - 0.7788).abs() < 1e-4);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredToken {
    /// The token id.
    pub id: u32,
    /// The token's bytes as text, with U+FFFD for an incomplete character; for a control token, its spelling.
    pub text: String,
    /// The bytes that the token adds to the reply. Empty for a control token, unless parsing is off and control tokens count
    /// as text.
    pub bytes: Vec<u8>,
    /// The natural logarithm of the token's probability.
    pub logprob: f64,
}

/// The section of a reply that a token or a position belongs to.
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
    /// Text.
    Text,
    /// Reasoning.
    Reasoning,
    /// A block of calls.
    Calls,
}

/// The result of a call, as the model reads it.
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
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionResult {
    /// The call's [id](SdkFunctionCall::call_id); `None` for a call that was rejected.
    pub call_id: Option<String>,
    /// The name of the function; `None` for a rejected call whose name could not be read.
    pub name: Option<String>,
    /// The text of the tool message that was added to the history.
    pub text: String,
    /// The parts of that message: its text, and what else the function returned.
    pub content: Vec<ChatMessageContent>,
    /// Whether the text reports an error of the function or of the call.
    pub is_error: bool,
    /// The error of the function, if it failed; `None` if it did not run, or took too long.
    pub error: Option<FunctionError>,
}

/// The error of a function that failed, as its handler returned it. Clones share it. Two errors are equal if their texts are.
///
/// ```
/// use causerie::FunctionError;
///
/// let error = FunctionError::new("x".parse::<u8>().unwrap_err());
/// assert!(error.get_ref().is::<std::num::ParseIntError>());
/// assert_eq!(FunctionError::new("no such city").to_string(), "no such city");
/// ```
#[derive(Clone)]
pub struct FunctionError(Arc<dyn Error + Send + Sync>);

impl FunctionError {
    /// The error of a function: a string, or any error.
    ///
    /// ```
    /// let error = causerie::FunctionError::new(std::fs::read_to_string("no/such/note.txt").unwrap_err());
    /// ```
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into().into())
    }

    /// The error that the handler returned, with its [source](Error::source).
    ///
    /// ```
    /// let error = causerie::FunctionError::new(std::fs::read_to_string("no/such/note.txt").unwrap_err());
    /// let cause = error.get_ref().downcast_ref::<std::io::Error>().unwrap();
    /// assert_eq!(cause.kind(), std::io::ErrorKind::NotFound);
    /// ```
    pub fn get_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl fmt::Display for FunctionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for FunctionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Error for FunctionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl PartialEq for FunctionError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for FunctionError {}

/// The outcome of running a function.
///
/// ```
/// use causerie::{FunctionError, FunctionOutcome};
/// let read = |file: &str| match std::fs::read_to_string(file) {
///     Ok(text) => FunctionOutcome::Returned(text.into()),
///     Err(err) => FunctionOutcome::Failed(FunctionError::new(err)),
/// };
/// assert!(matches!(read("no/such/note.txt"), FunctionOutcome::Failed(_)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionOutcome {
    /// The value that the function returned. The model reads a string as it is, any other value as JSON text.
    Returned(Value),
    /// The text, pictures and sound that the function returned, for models that read such parts in results.
    Content(Vec<ChatMessageContent>),
    /// The error of the function, whose text the model reads as `{"error": …}`.
    Failed(FunctionError),
    /// The function took longer than [`RoundOptions::time_limit`](crate::RoundOptions::time_limit).
    TimedOut,
}

/// A complete reply, and how it ended.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
/// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// let Some(Ok(MessageResponse::Complete(completion))) = reply.into_iter().last() else { panic!("the reply ends") };
/// assert_eq!(Some(&completion.full_message), conversation.history().last());
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The complete message, as it is in the history.
    pub full_message: ChatMessage,
    /// Why the reply ended.
    pub finish_reason: FinishReason,
    /// The stop sequence that ended the reply, if one did.
    pub stop_sequence: Option<String>,
    /// Counts and times.
    pub stats: GenerationStats,
    /// Counts and times of the earlier replies of the same stream, one for each `RoundComplete`, in order. Empty unless
    /// [functions are run along with the reply](crate::Conversation::respond_with_functions).
    pub earlier_rounds: Vec<GenerationStats>,
    /// What the prompt leaves out of the history, and whether the results in it match the calls.
    pub prompt: PromptReport,
    /// Why calls were not constrained, or not until their end, although
    /// [`Typed`](crate::ToolCallConstraint::Typed) was requested.
    pub unconstrained: Option<String>,
    /// Remarks about the reply as a whole. [`MissedCall`](crate::DiagnosticCode::MissedCall): functions were offered, none was
    /// called, and the text looks like a call. [`RepeatedTail`](crate::DiagnosticCode::RepeatedTail): the reply was ended in
    /// a loop.
    pub diagnostics: Vec<Diagnostic>,
}

impl Completion {
    /// The text of the message.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let completion = conversation.respond(ChatMessage::user("Hi"), GenerationOptions::default())?;
    /// assert_eq!(completion.text(), "Hello!");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn text(&self) -> String {
        self.full_message.text()
    }
}

/// How the prompt differs from the history.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
/// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// let Some(Ok(MessageResponse::Complete(completion))) = reply.into_iter().last() else { panic!("the reply ends") };
/// assert!(completion.prompt.dropped_messages.is_empty());
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptReport {
    /// Messages left out because the context is full, by index in the history.
    pub dropped_messages: Vec<usize>,
    /// Results of functions that were shortened because the context is full, by index in the history.
    pub shrunk_messages: Vec<usize>,
    /// Assistant messages that are followed by more or fewer results than they have calls, by index in the history.
    pub miscounted_results: Vec<usize>,
}

/// Why a reply ended.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
/// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// let Some(Ok(MessageResponse::Complete(completion))) = reply.into_iter().last() else { panic!("the reply ends") };
/// assert_eq!(completion.finish_reason, causerie::FinishReason::Stop);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended its turn, or wrote a stop sequence.
    Stop,
    /// The model ended its turn after at least one delivered call.
    ToolCalls,
    /// The reply has `max_tokens` tokens.
    MaxTokens,
    /// The context is full.
    ExceedContext,
    /// Cancelled.
    Interrupted,
    /// The reply could not continue within its constraint: no allowed token could be generated, or the grammar
    /// exceeded its limits.
    Constraint,
}

/// Counts and times of one generation.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
/// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// let Some(Ok(MessageResponse::Complete(completion))) = reply.into_iter().last() else { panic!("the reply ends") };
/// println!("first token after {:?}", completion.stats.time_to_first_token);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GenerationStats {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Prompt tokens that were taken from the prefix cache instead of being computed.
    pub cached_prompt_tokens: usize,
    /// Tokens of the prompt that are sound: rows of 80 ms, for example.
    pub audio_tokens: usize,
    /// Tokens of the reply, including calls and reasoning.
    pub completion_tokens: usize,
    /// Tokens of the reply that are sound: frames of 80 ms, for example.
    pub spoken_tokens: usize,
    /// Tokens of the reply that are reasoning.
    pub reasoning_tokens: usize,
    /// Tokens of the reply that belong to blocks of calls.
    pub call_tokens: usize,
    /// Tokens of the reply that were the only ones possible, so that no logits were computed for them.
    pub forced_tokens: usize,
    /// Draft tokens of speculative decoding: proposed because the text before them occurred earlier, and verified along with
    /// the next token. Used in calls and quotes, as long as enough drafts are accepted.
    pub drafted_tokens: usize,
    /// Draft tokens that were accepted.
    pub accepted_draft_tokens: usize,
    /// Time spent computing which tokens the constraint allows. Part of the other times.
    pub constraint_time: Duration,
    /// Time spent in the request queue, while earlier replies of the same conversation were generated.
    pub queue_time: Duration,
    /// Time from the request to the first token of the reply.
    pub time_to_first_token: Duration,
    /// Time spent on prefill: computing the prompt.
    pub prefill_time: Duration,
    /// Time spent on decode: generating the reply.
    pub decode_time: Duration,
    /// The seed that was used.
    pub seed: u64,
    /// The sampling values that were used.
    pub sampling: Sampling,
    /// Size of the context in tokens.
    pub context_size: usize,
    /// Peak memory of the whole process so far, in bytes. `None` if the system does not report it; only Linux and Android
    /// do.
    pub peak_memory: Option<u64>,
}

impl GenerationStats {
    /// The statistics of a reply that has not begun.
    pub(crate) fn new(seed: u64, sampling: Sampling, context_size: usize) -> Self {
        Self {
            prompt_tokens: 0,
            cached_prompt_tokens: 0,
            audio_tokens: 0,
            completion_tokens: 0,
            spoken_tokens: 0,
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

    /// Tokens of the prompt and of the reply together.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// let Some(Ok(MessageResponse::Complete(completion))) = reply.into_iter().last() else { panic!("the reply ends") };
    /// assert_eq!(completion.stats.total_tokens(), completion.stats.prompt_tokens + completion.stats.completion_tokens);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn total_tokens(&self) -> usize {
        self.prompt_tokens + self.completion_tokens
    }

    /// Tokens generated per second of decode; 0 before the second token.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// let Some(Ok(MessageResponse::Complete(completion))) = reply.into_iter().last() else { panic!("the reply ends") };
    /// println!("{:.1} tokens a second", completion.stats.tokens_per_second());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn tokens_per_second(&self) -> f64 {
        // The prefill yields the first token, so n tokens take n - 1 decode steps.
        let steps = self.completion_tokens.saturating_sub(1) as f64;
        if steps == 0.0 { 0.0 } else { steps / self.decode_time.as_secs_f64() }
    }
}
