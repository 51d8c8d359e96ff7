//! What can go wrong, as a caller sees it.

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

/// What a caller can act upon.
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
    /// No file, or no model, at the place given.
    ModelNotFound,
    /// The model's files are unreadable, broken, incomplete or of a kind that causerie does not know.
    ModelLoad,
    /// Loading was cancelled by who watches its progress.
    LoadCancelled,
    /// The model was unloaded: its conversations can be read, but not go on.
    ModelUnloaded,
    /// The conversation is generating: wait for its end or cancel it.
    Busy,
    /// The prompt leaves no room in the context for one token of reply.
    PromptExceedsContext {
        /// Tokens of the prompt; of one many times too long, those that it has at least.
        needed: usize,
        /// Tokens that the context can hold.
        available: usize,
    },
    /// An option, of generation or of loading, is out of its range; the field is named.
    InvalidOption(&'static str),
    /// A message cannot stand where it was given.
    InvalidMessage,
    /// The definition of a function breaks a rule.
    InvalidFunction,
    /// An argument, or a reply, is not what its type says.
    InvalidArgument,
    /// Functions are registered, but the model's chat template cannot offer them.
    FunctionCallingUnsupported,
    /// The model cannot take a content part of this kind.
    UnsupportedContent,
    /// The computation failed, for example on weights that hold no number.
    Generation,
    /// Text that should hold data of a known form does not.
    Serialization,
    /// A saved session cannot be restored.
    Session(SessionFault),
    /// A fault of causerie itself, caught before it reached the app.
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
    /// The file is of a version that this build does not know.
    Version,
    /// It was saved with another model, or with another chat template.
    Model,
    /// The file is damaged or no session.
    Corrupt,
}

/// The error of every operation: a [kind](ErrorKind) to act upon, and one line to read.
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
    /// An error of a kind. The message names the thing and the place; lower case, no full stop.
    ///
    /// ```
    /// use causerie::{ErrorKind, SdkError};
    /// let err = SdkError::new(ErrorKind::InvalidArgument, "days is -1, expected 1 or more");
    /// assert_eq!(err.to_string(), "days is -1, expected 1 or more");
    /// ```
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), cause: None }
    }

    /// Keeps what led to this error as its [source](Error::source).
    ///
    /// ```
    /// use causerie::{ErrorKind, SdkError};
    /// let cause = "x".parse::<u8>().unwrap_err();
    /// let err = SdkError::new(ErrorKind::InvalidArgument, "days is no number").caused_by(cause);
    /// assert_eq!(err.to_string(), "days is no number: invalid digit found in string");
    /// ```
    pub fn caused_by(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }

    /// What a caller can act upon.
    ///
    /// ```
    /// let err = causerie::ModelRunner::load("no/such/model.gguf").unwrap_err();
    /// assert_eq!(err.kind(), causerie::ErrorKind::ModelNotFound);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the same call can succeed later, with nothing changed but time.
    ///
    /// ```
    /// assert!(causerie::SdkError::new(causerie::ErrorKind::Busy, "the conversation is generating").is_retryable());
    /// ```
    pub fn is_retryable(&self) -> bool {
        self.kind == ErrorKind::Busy
    }

    /// One readable line, without the text of any cause.
    ///
    /// ```
    /// let cause = "x".parse::<u8>().unwrap_err();
    /// let err = causerie::SdkError::new(causerie::ErrorKind::InvalidArgument, "days is no number").caused_by(cause);
    /// assert_eq!(err.message(), "days is no number");
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
