//! The dialects that clients speak: how each names the engine's options, and what its errors look like.

/// A form of requests and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `/v1/chat/completions`, and every path without a dialect of its own.
    Chat,
    /// `/v1/completions`.
    Completions,
    /// `/v1/responses`.
    Responses,
    /// `/v1/messages`.
    Messages,
    /// `/v1/audio/transcriptions` and `/v1/audio/translations`.
    Transcriptions,
    /// The events of `/v1/realtime`.
    Realtime,
    /// `/v1/audio/speech`.
    Speech,
    /// `/v1/embeddings`.
    Embeddings,
    /// `/v1/rerank`.
    Ranking,
    /// `/v1/decisions`.
    Decisions,
    /// `/v1/systemone`.
    SystemOne,
}

/// The shape of an error object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorForm {
    /// `{"error": {"message", "type", "param", "code"}}`.
    OpenAi,
    /// `{"type": "error", "error": {"type", "message"}, "request_id"}`.
    Anthropic,
}

impl Dialect {
    pub(super) fn error_form(self) -> ErrorForm {
        if self == Self::Messages { ErrorForm::Anthropic } else { ErrorForm::OpenAi }
    }

    /// The field that sets an option of the engine.
    pub(super) fn field(self, option: &'static str) -> &'static str {
        match (self, option) {
            (Self::Completions, "messages") => "prompt",
            (Self::Responses | Self::Embeddings, "messages") => "input",
            (Self::Ranking, "messages") => "documents",
            (Self::Realtime, "messages") => "item",
            (Self::Responses | Self::Realtime, "max_tokens") => "max_output_tokens",
            (Self::Responses, "json_schema_constraint") => "text.format",
            (Self::Messages, "json_schema_constraint") => "output_config.format",
            (Self::Transcriptions, "messages") => "file",
            (Self::Speech | Self::Decisions, "messages") => "input",
            (Self::SystemOne, "messages") => "state",
            (Self::Speech, "speech_temperature") => "temperature",
            (Self::Transcriptions, "temperatures") => "temperature",
            (Self::Transcriptions, "has_word_times") => "timestamp_granularities",
            (Self::Messages, "stop_sequences") => "stop_sequences",
            (_, "stop_sequences") => "stop",
            (_, "json_schema_constraint") => "response_format",
            (_, "allowed_tools") => "tool_choice",
            (_, option) => option,
        }
    }
}
