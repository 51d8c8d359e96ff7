//! The error type of the public API.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The result of every call that can fail.
///
/// ```
/// use causerie::{ChatMessage, ModelRunner, Result};
///
/// fn ask(runner: &ModelRunner, question: &str) -> Result<()> {
///     for event in runner.create_conversation("").generate_response(ChatMessage::user(question), Default::default()) {
///         println!("{:?}", event?);
///     }
///     Ok(())
/// }
/// ```
pub type Result<T, E = SdkError> = std::result::Result<T, E>;

/// What went wrong, as far as a caller can act on it.
///
/// ```
/// use causerie::{ErrorKind, SdkError};
///
/// fn advice(err: &SdkError) -> String {
///     match err.kind() {
///         ErrorKind::ModelNotFound => "Download the model first.".to_owned(),
///         ErrorKind::PromptExceedsContext { needed, available } => format!("{} tokens too many.", needed - available),
///         ErrorKind::Busy => "One reply after the other, please.".to_owned(),
///         _ => err.to_string(),
///     }
/// }
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The given location has no file, or no model.
    ModelNotFound,
    /// The model's files are unreadable, broken, incomplete or of an unsupported kind.
    ModelLoad,
    /// The model needs more memory than the system gives to this process.
    OutOfMemory {
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are left, as far as the system says.
        available: u64,
    },
    /// The progress callback cancelled the loading, the quantising, or the computation of embeddings.
    LoadCancelled,
    /// The model was unloaded. Its conversations can be read, but not continued.
    ModelUnloaded,
    /// The conversation is generating a reply. Wait for its end, or cancel it.
    Busy,
    /// The prompt and one token of reply do not fit the context.
    PromptExceedsContext {
        /// Tokens of the prompt; a lower bound if the prompt is many times too long.
        needed: usize,
        /// Tokens that the context can hold.
        available: usize,
    },
    /// An option of generation or of loading is out of range. Holds the name of the field.
    InvalidOption(&'static str),
    /// A message is not valid at its position in the conversation.
    InvalidMessage,
    /// A function definition is not valid.
    InvalidFunction,
    /// An argument or a reply does not match its type.
    InvalidArgument,
    /// Functions are registered, but the model's chat template cannot present them to the model.
    FunctionCallingUnsupported,
    /// The model does not support a content part of this kind.
    UnsupportedContent,
    /// The computation failed, for example because the weights contain NaN.
    Generation,
    /// A string is not valid JSON, or not JSON of the expected form.
    Serialization,
    /// A saved session cannot be restored.
    Session(SessionFault),
    /// A model cannot be downloaded.
    Download(DownloadFault),
    /// A bug in causerie, caught before it reached the app.
    Internal,
}

/// Why a saved session cannot be restored.
///
/// ```
/// use causerie::{ErrorKind, SessionFault};
/// # let runner = causerie::testing::ScriptedModel::new().load()?;
/// let err = runner.restore_session("no/such/file.session").unwrap_err();
/// assert_eq!(err.kind(), ErrorKind::Session(SessionFault::File));
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionFault {
    /// The file cannot be read or written.
    File,
    /// The file has a format version that this build does not support.
    Version,
    /// The session was saved with another model, or with another chat template.
    Model,
    /// The file is damaged, or is not a session.
    Corrupt,
}

/// Why a model cannot be downloaded. What has been received is kept, except for damaged files.
///
/// ```
/// use causerie::{DownloadFault, ErrorKind, SdkError};
///
/// let err = SdkError::new(ErrorKind::Download(DownloadFault::Network { is_retryable: true }), "the connection broke");
/// assert!(err.is_retryable());
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownloadFault {
    /// The download was cancelled.
    Cancelled,
    /// Requests are switched off, and the cache does not have the model.
    Offline,
    /// The server cannot be reached, or gives an answer that makes no sense.
    Network {
        /// Whether the same download can succeed later.
        is_retryable: bool,
    },
    /// The server refuses access.
    AccessDenied(AccessFault),
    /// The server refuses more requests for now.
    RateLimited {
        /// Seconds until it accepts requests again.
        seconds: u64,
    },
    /// The disk has too little space.
    NoSpace {
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// A file has another content than its name says, twice.
    Corrupt,
    /// The cache cannot be read or written.
    Storage,
}

impl DownloadFault {
    /// The fault as a word, the same in every language.
    ///
    /// ```
    /// assert_eq!(causerie::DownloadFault::Corrupt.code(), "corrupt");
    /// ```
    pub fn code(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Offline => "offline",
            Self::Network { .. } => "network",
            Self::AccessDenied(AccessFault::SignIn) => "sign_in",
            Self::AccessDenied(AccessFault::Conditions) => "conditions",
            Self::AccessDenied(AccessFault::Token) => "token",
            Self::AccessDenied(AccessFault::Forbidden) => "forbidden",
            Self::RateLimited { .. } => "rate_limited",
            Self::NoSpace { .. } => "no_space",
            Self::Corrupt => "corrupt",
            Self::Storage => "storage",
        }
    }
}

/// Why a server refuses access to a model.
///
/// ```
/// use causerie::{AccessFault, DownloadFault, ErrorKind};
/// assert_ne!(ErrorKind::Download(DownloadFault::AccessDenied(AccessFault::SignIn)), ErrorKind::ModelNotFound);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessFault {
    /// The repository does not exist, or it is private and no token was sent.
    SignIn,
    /// The account must accept the conditions of the repository on its page.
    Conditions,
    /// The token is not valid.
    Token,
    /// The account may not read the repository.
    Forbidden,
}

/// The error type of every operation: a [kind](ErrorKind) to act on, and one line to read.
///
/// ```
/// let err = causerie::ModelRunner::load("no/such/place/model.gguf").unwrap_err();
/// assert_eq!(err.kind(), causerie::ErrorKind::ModelNotFound);
/// assert_eq!(err.to_string(), "no model at no/such/place/model.gguf");
/// ```
#[derive(Clone, Debug)]
pub struct SdkError {
    kind: ErrorKind,
    message: String,
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl SdkError {
    /// Creates an error. The message names the thing and the place, in lower case and without a full stop.
    ///
    /// ```
    /// use causerie::{ErrorKind, SdkError};
    /// let err = SdkError::new(ErrorKind::InvalidArgument, "days must be 1 or more, found -1");
    /// assert_eq!(err.to_string(), "days must be 1 or more, found -1");
    /// ```
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), cause: None }
    }

    /// Sets the error that caused this one, as its [source](Error::source).
    ///
    /// ```
    /// use causerie::{ErrorKind, SdkError};
    /// let cause = "x".parse::<u8>().unwrap_err();
    /// let err = SdkError::new(ErrorKind::InvalidArgument, "days must be an integer").caused_by(cause);
    /// assert_eq!(err.to_string(), "days must be an integer: invalid digit found in string");
    /// ```
    pub fn caused_by(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }

    /// Puts the place that the error is about before its message.
    pub(crate) fn at(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// The kind of error, to act on.
    ///
    /// ```
    /// let err = causerie::ModelRunner::load("no/such/model.gguf").unwrap_err();
    /// assert_eq!(err.kind(), causerie::ErrorKind::ModelNotFound);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the same call can succeed later without any change by the caller.
    ///
    /// ```
    /// assert!(causerie::SdkError::new(causerie::ErrorKind::Busy, "the conversation is generating").is_retryable());
    /// ```
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::Busy
                | ErrorKind::Download(
                    DownloadFault::Network { is_retryable: true } | DownloadFault::RateLimited { .. }
                )
        )
    }

    /// One readable line, without the text of the cause.
    ///
    /// ```
    /// let cause = "x".parse::<u8>().unwrap_err();
    /// let err = causerie::SdkError::new(causerie::ErrorKind::InvalidArgument, "days must be an integer").caused_by(cause);
    /// assert_eq!(err.message(), "days must be an integer");
    /// ```
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for SdkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl Error for SdkError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}
