//! Words for the kinds of errors and of ends, in snake case.

use causerie::{ErrorKind, FinishReason};

/// The word for a kind of error, such as `model_not_found`.
pub fn error_word(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ModelNotFound => "model_not_found",
        ErrorKind::ModelLoad => "model_load",
        ErrorKind::OutOfMemory { .. } => "out_of_memory",
        ErrorKind::LoadCancelled => "load_cancelled",
        ErrorKind::ModelUnloaded => "model_unloaded",
        ErrorKind::Busy => "busy",
        ErrorKind::PromptExceedsContext { .. } => "prompt_exceeds_context",
        ErrorKind::InvalidOption(_) => "invalid_option",
        ErrorKind::InvalidMessage => "invalid_message",
        ErrorKind::InvalidFunction => "invalid_function",
        ErrorKind::InvalidArgument => "invalid_argument",
        ErrorKind::FunctionCallingUnsupported => "function_calling_unsupported",
        ErrorKind::UnsupportedContent => "unsupported_content",
        ErrorKind::Generation => "generation",
        ErrorKind::Serialization => "serialization",
        ErrorKind::Session(_) => "session",
        ErrorKind::Download(_) => "download",
        _ => "internal",
    }
}

/// The word for the reason why a reply ended, such as `max_tokens`.
pub fn finish_word(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::MaxTokens => "max_tokens",
        FinishReason::ExceedContext => "exceed_context",
        FinishReason::Interrupted => "interrupted",
        FinishReason::Constraint => "constraint",
        _ => "stop",
    }
}
