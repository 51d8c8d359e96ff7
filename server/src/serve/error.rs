//! Errors of the service: a status, and the error object that the clients of each dialect expect.

use causerie::{ErrorKind, SdkError};
use hyper::StatusCode;
use serde_json::{Value as Json, json};

use crate::access::AccessError;
use crate::serve::dialect::{Dialect, ErrorForm};

/// Objects whose fields clients know by a dotted name, as in `text.format`. Other errors name the outermost field.
const DOTTED: [&str; 2] = ["text.", "reasoning."];

/// An error before it is written to a client.
#[derive(Debug)]
pub(super) struct HttpError {
    pub(super) status: StatusCode,
    message: String,
    param: Option<Param>,
    code: &'static str,
    pub(super) detail: Detail,
}

/// The field that an error is about.
#[derive(Debug)]
enum Param {
    /// A field of the request.
    Field(String),
    /// An option of the engine, which each dialect calls by its own name.
    EngineOption(&'static str),
}

/// What else belongs to some errors.
#[derive(Clone, Copy, Debug)]
pub(super) enum Detail {
    None,
    /// Seconds until the client may try again: a header.
    RetryAfter(u32),
    /// The methods that a path answers: a header.
    Allow(&'static str),
    /// The encodings of bodies that are read: a header.
    AcceptEncoding(&'static str),
    /// The scheme of the header that must have a key: a header.
    Authenticate(&'static str),
    /// A prompt that is too long: keys of the error object.
    Tokens {
        prompt: usize,
        context: usize,
    },
}

impl HttpError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), param: None, code, detail: Detail::None }
    }

    /// A field has a value that it cannot have. `place` may be a field within a field.
    pub(super) fn value(place: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_value", message).at(place)
    }

    /// A field would change the reply, and this server cannot honour it.
    pub(super) fn unsupported(place: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "unsupported_field", message).at(place)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(super) fn body_too_large(max_body: usize) -> Self {
        let message = format!("the body must have at most {max_body} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
    }

    pub(super) fn unsupported_encoding(accepted: &'static str, message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", message);
        Self { detail: Detail::AcceptEncoding(accepted), ..error }
    }

    pub(super) fn method(allowed: &'static str) -> Self {
        let message = format!("the method must be one of {allowed}");
        let error = Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message);
        Self { detail: Detail::Allow(allowed), ..error }
    }

    pub(super) fn queue_full() -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "queue_full", "the request queue is full").retry_after(1)
    }

    pub(super) fn unread_reply() -> Self {
        let message = "the client must read the reply: too much of it was left unread for too long";
        Self::new(StatusCode::REQUEST_TIMEOUT, "unread_reply", message)
    }

    /// Whether the client did not read its reply.
    pub(super) fn is_unread_reply(&self) -> bool {
        self.code == "unread_reply"
    }

    pub(super) fn loading() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "loading", "the model is being loaded").retry_after(1)
    }

    pub(super) fn draining() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "draining", "the server is about to stop").retry_after(5)
    }

    pub(super) fn memory_budget_exceeded() -> Self {
        let message = "other large requests, which arrive or wait, use the whole memory budget for request bodies";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "no_room", message).retry_after(1)
    }

    pub(super) fn too_many_connections() -> Self {
        let message = "the server has as many connections as it accepts";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_connections", message).retry_after(1)
    }

    /// Whether the rest of the request's body is left unread.
    pub(super) fn leaves_body(&self) -> bool {
        ["body_too_large", "body_timeout", "no_room"].contains(&self.code)
    }

    /// Whether the client took too long to send the body.
    pub(super) fn is_body_timeout(&self) -> bool {
        self.code == "body_timeout"
    }

    fn retry_after(mut self, seconds: u32) -> Self {
        self.detail = Detail::RetryAfter(seconds);
        self
    }

    /// An option of the engine has a value that it cannot have. The message begins with the option.
    pub(super) fn engine_option(option: &'static str, message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::BAD_REQUEST, "invalid_value", message);
        Self { param: Some(Param::EngineOption(option)), ..error }
    }

    /// Names the field that the error is about: the outermost one of a place within fields.
    pub(super) fn at(self, place: &str) -> Self {
        let outermost = |place: &str| place.split(['.', '[']).next().unwrap_or_default().len();
        let dotted = DOTTED.iter().find(|object| place.starts_with(**object)).map_or(0, |object| object.len());
        let length = dotted + outermost(&place[dotted..]);
        self.at_exactly(&place[..length])
    }

    pub(super) fn at_exactly(self, name: &str) -> Self {
        Self { param: Some(Param::Field(name.to_owned())), ..self }
    }

    /// The same error with another code.
    pub(super) fn with_code(self, code: &'static str) -> Self {
        Self { code, ..self }
    }

    /// An error of the engine about a request. `SdkError::message` names no paths and no causes.
    pub(super) fn from_engine(err: &SdkError) -> Self {
        let message = err.message();
        let bad_request = |code: &'static str, option: &'static str| Self {
            param: Some(Param::EngineOption(option)),
            ..Self::new(StatusCode::BAD_REQUEST, code, message)
        };
        match err.kind() {
            ErrorKind::InvalidOption(option) => bad_request("invalid_value", option),
            ErrorKind::InvalidMessage => bad_request("invalid_value", "messages"),
            ErrorKind::UnsupportedContent => bad_request("unsupported_field", "messages"),
            ErrorKind::InvalidFunction => bad_request("invalid_schema", "tools"),
            ErrorKind::FunctionCallingUnsupported => bad_request("unsupported_field", "tools"),
            ErrorKind::PromptExceedsContext { needed, available } => {
                // Clients recognise this error by the beginning of its message.
                let message = format!("this model's maximum context length is {available} tokens: {message}");
                let detail = Detail::Tokens { prompt: needed, context: available };
                Self { message, detail, ..bad_request("context_length_exceeded", "messages") }
            }
            ErrorKind::ModelUnloaded => Self::draining(),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message),
        }
    }

    pub(super) fn into_message(self) -> String {
        self.message
    }

    #[cfg(test)]
    pub(super) fn code(&self) -> &'static str {
        self.code
    }

    /// The body of the response, in the words of the client's dialect.
    pub(super) fn json(&self, dialect: Dialect, request_id: Option<&str>) -> Json {
        let param = self.param.as_ref().map(|param| match param {
            Param::Field(name) => name.as_str(),
            Param::EngineOption(option) => dialect.field(option),
        });
        match dialect.error_form() {
            ErrorForm::OpenAi => self.openai_json(&self.message_in(dialect), param),
            ErrorForm::Anthropic => self.anthropic_json(&self.message_in(dialect), param, request_id),
        }
    }

    /// The message, with the option that it begins with under its name in the dialect.
    fn message_in(&self, dialect: Dialect) -> String {
        let Some(Param::EngineOption(option)) = self.param else { return self.message.clone() };
        match self.message.strip_prefix(option) {
            Some(rest) if !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_') => {
                format!("{}{rest}", dialect.field(option))
            }
            _ => self.message.clone(),
        }
    }

    fn openai_json(&self, message: &str, param: Option<&str>) -> Json {
        let kind = match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            StatusCode::SERVICE_UNAVAILABLE => "unavailable_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        let mut error = json!({ "message": message, "type": kind, "param": param, "code": self.code });
        if let Detail::Tokens { prompt, context } = self.detail {
            error["prompt_tokens"] = json!(prompt);
            error["context_length"] = json!(context);
        }
        json!({ "error": error })
    }

    /// This form has no place for the field, so the message begins with it.
    fn anthropic_json(&self, message: &str, param: Option<&str>, request_id: Option<&str>) -> Json {
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
        let message = match (self.detail, param) {
            // Clients recognise this error by the beginning of its message.
            (Detail::Tokens { prompt, context }, _) => {
                format!("prompt is too long: {prompt} tokens > {context} maximum")
            }
            (_, Some(param)) if !message.starts_with(param) => format!("{param}: {message}"),
            _ => message.to_owned(),
        };
        json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": request_id })
    }
}

impl From<AccessError> for HttpError {
    fn from(err: AccessError) -> Self {
        let unauthorized = |scheme: &'static str, code: &'static str, message: &str| Self {
            detail: Detail::Authenticate(scheme),
            ..Self::new(StatusCode::UNAUTHORIZED, code, message)
        };
        match err {
            AccessError::MissingKey => {
                unauthorized("Key", "missing_key", "the request must have the header Authorization: Key …")
            }
            AccessError::InvalidKey => {
                let message =
                    "the header Authorization must be the word Key, a space and a key that this server accepts";
                unauthorized("Key", "invalid_key", message)
            }
            AccessError::MissingLocalKey => {
                unauthorized("Bearer", "missing_key", "the request must have the header Authorization: Bearer …")
            }
            AccessError::InvalidLocalKey => {
                let message = "the header Authorization must be the word Bearer, a space and the server's API key";
                unauthorized("Bearer", "invalid_key", message)
            }
            AccessError::OtherOrganization => {
                Self::new(StatusCode::FORBIDDEN, "key_not_allowed", "the key belongs to another organization")
            }
        }
    }
}
