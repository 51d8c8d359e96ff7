//! causerie for Swift, Kotlin and Python: the types and calls of the core, in forms that UniFFI can pass on.
//!
//! This crate has no behaviour of its own. Every type is a twin of the core's with the same names, and every call is
//! forwarded. Calls that reach the engine return a [`SdkError`], also for a panic, so that nothing can abort the app. Each
//! language adds a thin layer with its own streams, maps and options.

mod conversation;
mod decide;
mod embedding;
mod error;
mod function;
mod hub;
mod json;
mod logging;
mod message;
mod number;
mod options;
mod response;
mod rounds;
mod runner;
mod sound;
mod stream;
mod thread;
mod transcribe;
mod transcriber;
mod transport;
#[cfg(test)]
mod tests;

pub use conversation::{ContextPlan, Conversation, PrefillProgress};
pub use decide::{
    DecisionAnswer, DecisionCancel, DecisionKind, DecisionLabel, DecisionOptions, DecisionOutcome, DecisionQuestion,
    DecisionState, DecisionTemperatures, DecisionUsage, Decisions, LabelProbability,
};
pub use embedding::{
    EmbedOptions, EmbeddingModel, EmbeddingModelInfo, EmbeddingModelOptions, RankedDocument, Ranking, RerankOptions,
    TextEmbeddings, TextUse, TokenEmbeddings, cosine_similarity, load_embedding_model,
};
pub use error::{OptionText, SdkError};
pub use function::{
    Diagnostic, RejectedCall, SdkFunction, SdkFunctionCall, SdkFunctionParameter, SdkFunctionParameterType, Severity,
    Validation, function_schema, functions_from_json, functions_to_json, read_reply, validate,
};
pub use hub::{
    CachedModel, DownloadPlan, DownloadStream, Hub, HubOptions, PlannedFile, PullEvent, PullProgress, PullState,
    plans_from_lock,
};
pub use json::JsonObject;
pub use logging::{LogLevel, LogRecord, LogSink, flush_log, set_log_sink};
pub use message::{ChatMessage, ChatMessageContent, ChatMessageRole, messages_from_json, messages_to_json};
pub use number::{SdkCount, SdkLong};
pub use options::{
    CacheType, ContextPolicy, Device, FunctionCallParser, FunctionNames, GenerationOptions, LoadOptions, OnBusy,
    OnCancel, SamplingDefaults, SpeechMode, SpeechVoice, Strictness, ToolCallConstraint, ToolChoice, WeightMemory,
};
pub use response::{
    FinishReason, GenerationStats, MessageResponse, PromptReport, ReplySection, Sampling, ScoredToken, TokenLogprob,
};
pub use rounds::{FunctionOutcome, RoundOptions};
pub use runner::{LoadPhase, LoadProgress, ModelInfo, ModelRunner, load_model, load_scripted_model, read_model_info};
pub use sound::{SoundFileWriter, SoundFormat, wav_of_samples};
pub use stream::ResponseStream;
pub use transcribe::{
    GgufType, SpeechTask, TranscribeOptions, TranscriberOptions, Transcript, TranscriptEvent, TranscriptSegment,
    TranscriptWord,
};
pub use transcriber::{LiveTranscription, Transcriber, TranscriptStream, load_transcriber};
pub use transport::{HttpHeader, HttpRequest, HttpSink, HttpTransport};

uniffi::setup_scaffolding!();
