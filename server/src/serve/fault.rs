//! Why a request is not answered: a status, and the error object that clients expect.

use causerie::{ErrorKind, SdkError};
use hyper::StatusCode;
use serde_json::{Value as Json, json};

/// Whose clients read an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `{"error": {"message", "type", "param", "code"}}`.
    OpenAi,
    /// `{"type": "error", "error": {"type", "message"}, "request_id"}`.
    Anthropic,
}

/// An error before it goes over the wire.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) status: StatusCode,
    message: String,
    param: Option<String>,
    code: &'static str,
    pub(super) detail: Detail,
}

/// What else belongs to some statuses.
#[derive(Clone, Copy, Debug)]
pub(super) enum Detail {
    None,
    /// When to come again, in seconds: a header.
    RetryAfter(u32),
    /// The methods that a path answers: a header.
    Allow(&'static str),
    /// A prompt that is too long: keys of the error object.
    Tokens {
        prompt: usize,
        context: usize,
    },
}

impl Fault {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), param: None, code, detail: Detail::None }
    }

    /// A field with a value that it cannot have.
    pub(super) fn value(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_value", message).at(param)
    }

    /// A field that would change the reply, and that this server cannot honour.
    pub(super) fn unsupported(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "unsupported_field", message).at(param)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(super) fn method(allowed: &'static str) -> Self {
        let message = format!("this path answers {allowed}");
        let fault = Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message);
        Self { detail: Detail::Allow(allowed), ..fault }
    }

    pub(super) fn queue_full() -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "queue_full", "too many requests are waiting").again_after(1)
    }

    pub(super) fn loading() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "loading", "the model is being loaded").again_after(1)
    }

    pub(super) fn draining() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "draining", "the server is about to stop").again_after(5)
    }

    pub(super) fn no_room() -> Self {
        let message = "other large requests take all the memory that there is for them";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "no_room", message).again_after(1)
    }

    /// Whether the rest of the request's body is left unread.
    pub(super) fn leaves_body(&self) -> bool {
        ["body_too_large", "body_timeout", "no_room"].contains(&self.code)
    }

    fn again_after(mut self, seconds: u32) -> Self {
        self.detail = Detail::RetryAfter(seconds);
        self
    }

    /// Names the field.
    pub(super) fn at(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// The same where fields have other names: pairs of that in chat completions, and that in the request.
    pub(super) fn renamed(mut self, names: &[(&str, &str)]) -> Self {
        self.message = renamed(self.message, names);
        self.param = self.param.map(|param| renamed(param, names));
        self
    }

    /// What the engine says of a request. `SdkError::message` names no paths and no causes.
    pub(super) fn of(err: &SdkError) -> Self {
        let message = err.message();
        match err.kind() {
            ErrorKind::InvalidOption(field) => Self::value(wire_name(field), message),
            ErrorKind::InvalidMessage | ErrorKind::UnsupportedContent => Self::value("messages", message),
            ErrorKind::InvalidFunction => Self::new(StatusCode::BAD_REQUEST, "invalid_schema", message).at("tools"),
            ErrorKind::FunctionCallingUnsupported => Self::unsupported("tools", message),
            ErrorKind::PromptExceedsContext { needed, available } => {
                // Known to clients by its beginning.
                let message = format!("this model's maximum context length is {available} tokens: {message}");
                let fault = Self::new(StatusCode::BAD_REQUEST, "context_length_exceeded", message).at("messages");
                Self { detail: Detail::Tokens { prompt: needed, context: available }, ..fault }
            }
            ErrorKind::ModelUnloaded => Self::draining(),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message),
        }
    }

    #[cfg(test)]
    pub(super) fn code(&self) -> &'static str {
        self.code
    }

    /// The body.
    pub(super) fn json(&self, dialect: Dialect, request_id: Option<&str>) -> Json {
        match dialect {
            Dialect::OpenAi => self.openai_json(),
            Dialect::Anthropic => self.anthropic_json(request_id),
        }
    }

    fn openai_json(&self) -> Json {
        let kind = match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            StatusCode::SERVICE_UNAVAILABLE => "unavailable_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        let mut error = json!({ "message": self.message, "type": kind, "param": self.param, "code": self.code });
        if let Detail::Tokens { prompt, context } = self.detail {
            error["prompt_tokens"] = json!(prompt);
            error["context_length"] = json!(context);
        }
        json!({ "error": error })
    }

    fn anthropic_json(&self, request_id: Option<&str>) -> Json {
        let kind = match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::NOT_FOUND => "not_found_error",
            StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            StatusCode::SERVICE_UNAVAILABLE => "overloaded_error",
            status if status.is_server_error() => "api_error",
            _ => "invalid_request_error",
        };
        let message = match (self.detail, &self.param) {
            // Known by its beginning.
            (Detail::Tokens { prompt, context }, _) => {
                format!("prompt is too long: {prompt} tokens > {context} maximum")
            }
            (_, Some(param)) if !self.message.starts_with(param.as_str()) => format!("{param}: {}", self.message),
            _ => self.message.clone(),
        };
        json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": request_id })
    }
}

/// A text that begins with the name of a field, with what that is called elsewhere.
pub(super) fn renamed(text: String, names: &[(&str, &str)]) -> String {
    let rename = |(told, name): &(&str, &str)| {
        let rest = text.strip_prefix(told)?;
        let is_whole = !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        is_whole.then(|| format!("{name}{rest}"))
    };
    names.iter().find_map(rename).unwrap_or(text)
}

/// An option's name on the wire.
fn wire_name(option: &'static str) -> &'static str {
    match option {
        "stop_sequences" => "stop",
        "json_schema_constraint" => "response_format",
        "allowed_tools" => "tool_choice",
        option => option,
    }
}
