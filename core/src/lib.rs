//! On-device conversations with language models, with function calling.
//!
//! The `mod` lines below are the order of dependence: a module uses only what stands above it.
#![forbid(unsafe_code)]

// Words: the vocabulary, plain data.
mod error;
mod function;
mod message;
mod options;
mod response;
// Letters: text and tokens, one stage each.
mod parse;
mod prompt;
mod sample;
mod schema;
// Matter: files and tensors.
mod model;
mod tokenizer;
mod weights;
// The loop.
mod engine;
// Face: what users hold.
mod conversation;
mod library;
mod runner;

pub use conversation::Conversation;
pub use engine::{CancelHandle, ResponseStream};
pub use error::{ErrorKind, Result, SdkError};
pub use function::{
    Arguments, BigInteger, RejectedCall, RejectionReason, Repair, SdkFunction, SdkFunctionCall, SdkFunctionParameter,
    SdkFunctionParameterType, Value,
};
pub use library::{TextStream, Tokenizer, generate, load, stream_generate};
pub use message::{ChatMessage, ChatMessageContent, Role};
pub use options::{FunctionCallParser, GenerationOptions, Sampling, SamplingDefaults};
pub use response::{Completion, FinishReason, GenerationStats, MessageResponse};
pub use runner::{ModelRunner, Prompt};
pub use schema::{function_schema, functions_from_json};
