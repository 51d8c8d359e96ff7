//! On-device conversations with language models, with function calling.
//!
//! ```
//! use causerie::{ChatMessage, GenerationOptions, MessageResponse, ModelRunner, SdkFunction};
//! # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
//!
//! let conversation = ModelRunner::load("models/demo.gguf")?.create_conversation("");
//! conversation.register_function(SdkFunction::new("list_notes", "List all notes.", Vec::new()))?;
//! for event in conversation.generate_response(ChatMessage::user("Show me my notes"), GenerationOptions::default()) {
//!     match event? {
//!         MessageResponse::Chunk(text) => print!("{text}"),
//!         MessageResponse::FunctionCalls(calls) => println!("{} is called", calls[0].name),
//!         _ => {}
//!     }
//! }
//! # Ok::<(), causerie::SdkError>(())
//! ```
//!
//! Apps use a [`Conversation`]. [`typed`] derives functions from Rust types, and [`testing`] has models that follow a script.
//!
//! The order of the `mod` lines below is the order of dependence: a module uses only modules above it.
#![forbid(unsafe_code)]

// Below all others: large stacks for recursive code.
mod deep_stack;
// Options and their choices, as tables.
#[macro_use]
mod tables;
// Plain data: the types of the public API.
mod error;
mod function;
mod message;
mod json_fields;
mod schema;
// The notations of calls, each with all that is particular to it.
mod notation;
// Plain data again.
mod options;
mod response;
mod position;
// Text: one stage each.
mod parse;
mod validate;
pub mod typed;
mod history;
// Pictures and sound: one stage each.
mod media;
// Model files and their tokens.
pub mod names;
mod memory;
mod weights;
mod tokenizer;
mod checkpoint;
// Prompts, tokens and grammars: one stage each.
mod prompt;
mod sample;
mod constrain;
// Networks.
mod model;
// Pictures and sound for one model.
mod rows;
mod projectors;
mod vision;
mod hearing;
// Sound that a model speaks.
mod voice;
pub mod companions;
// Model files again: written.
mod quantise;
mod packing;
pub mod bundle;
// The loop.
mod engine;
// Speech to text.
pub mod transcribe;
// The API for apps.
mod devices;
mod info;
mod model_text;
mod loading;
mod runner;
mod plain_prompt;
mod conversation;
mod speaking;
mod decide;
mod library;
// Texts as vectors, and their ranking.
pub mod embedding;
pub mod testing;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;

/// Derive macros of [`typed`], named after the types that they create.
///
/// ```
/// use causerie::typed::TypedFunction;
///
/// /// Set a timer.
/// #[derive(causerie::SdkFunction)]
/// struct SetTimer {
///     minutes: u32,
///     tone: Option<Tone>,
/// }
///
/// #[derive(causerie::SdkFunctionParameterType)]
/// enum Tone {
///     Bell,
///     Birds,
/// }
///
/// assert_eq!(SetTimer::function().name, "set_timer");
/// ```
pub use causerie_derive::{SdkFunction, SdkFunctionParameterType};
pub use constrain::{CallGrammar, CallRefusal};
pub use conversation::{ContextPlan, Conversation, FunctionHandlers, RoundOptions};
pub use decide::{
    DecisionAnswer, DecisionCriteria, DecisionKind, DecisionLabel, DecisionOptions, DecisionOutcome, DecisionQuestion,
    DecisionState, DecisionTemperatures, DecisionUsage, Decisions, LabelProbability, fit_temperature,
};
pub use devices::{GpuCheck, GpuDescription, GpuReport, check_gpu, gpus};
pub use engine::{BlockingIterator, CancelHandle, PrefillProgress, ResponseStream, TextStream};
pub use error::{AccessFault, DownloadFault, ErrorKind, Result, SdkError, SessionFault};
pub use function::{
    Arguments, BigInteger, Diagnostic, DiagnosticCode, FunctionNames, RejectedCall, RejectionReason, Repair,
    SdkFunction, SdkFunctionCall, SdkFunctionParameter, SdkFunctionParameterType, Severity, Value,
};
pub use history::{messages_from_json, messages_to_json};
pub use info::{MemoryEstimate, ModelInfo, QuantisationShare};
pub use library::{Tokenizer, generate, generate_with_images, load, stream_generate};
pub use loading::LoadPhase;
pub use media::sound::{Sound, SoundFileWriter, SoundFormat, SoundOptions, TelephoneLaw, WavSamples};
pub use message::{ChatMessage, ChatMessageContent, Role};
pub use model_text::ModelText;
pub use notation::{FunctionCallParser, read_json};
pub use options::{
    CacheType, ContextPolicy, Device, GenerationOptions, LoadOptions, OnBusy, OnCancel, Sampling, SamplingDefaults,
    SpeechMode, SpeechVoice, Strictness, ToolCallConstraint, ToolChoice, WeightMemory,
};
pub use parse::{Note, Parsed, Piece, ReplyEnd, ReplyParser, render_calls, render_json_calls};
pub use plain_prompt::Prompt;
pub use quantise::{GgufType, quantize};
pub use response::{
    Completion, FinishReason, FunctionError, FunctionOutcome, FunctionResult, GenerationStats, MessageResponse,
    PromptReport, ReplySection, ScoredToken, TokenLogprob,
};
pub use runner::ModelRunner;
pub use schema::{function_schema, functions_from_json, functions_to_json};
pub use validate::{Validation, validate, validate_among};
pub use weights::ModelBytes;

/// The README, whose example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
