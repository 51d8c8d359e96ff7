//! The error of every call.

use std::fmt;

use causerie::{ErrorKind, SessionFault};

use crate::number::{SdkCount, SdkLong, count};

/// A string that begins with the name of an option. A language that spells names in another way does so when it reads the string
/// (`uniffi.toml`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionText(pub String);

uniffi::custom_newtype!(OptionText, String);

impl fmt::Display for OptionText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What can go wrong. `reason` is one readable line.
#[derive(Clone, Debug, PartialEq, thiserror::Error, uniffi::Error)]
#[uniffi::export(Display)]
#[expect(missing_docs, reason = "the kinds are documented in the core")]
pub enum SdkError {
    /// There is no model at the given path.
    #[error("{reason}")]
    ModelNotFound { reason: String },
    /// The model's files are unreadable, damaged, incomplete or of an unknown kind.
    #[error("{reason}")]
    ModelLoad { reason: String },
    /// The model needs more memory than the system gives to this process: `needed` and `available` are bytes.
    #[error("{reason}")]
    OutOfMemory { reason: String, needed: SdkLong, available: SdkLong },
    /// The app cancelled loading.
    #[error("{reason}")]
    LoadCancelled { reason: String },
    /// The model was unloaded. Its conversations can be read, but not continued.
    #[error("{reason}")]
    ModelUnloaded { reason: String },
    /// The conversation is generating a reply: wait for its end or cancel it.
    #[error("{reason}")]
    Busy { reason: String },
    /// The stream was already read.
    #[error("{reason}")]
    StreamAlreadyConsumed { reason: String },
    /// The prompt does not fit the context with at least one token of reply.
    #[error("{reason}")]
    PromptExceedsContext { reason: String, needed: SdkCount, available: SdkCount },
    /// An option is out of its range. `option` is its name.
    #[error("{reason}")]
    InvalidOption { reason: OptionText, option: OptionText },
    /// A message is not valid at its position.
    #[error("{reason}")]
    InvalidMessage { reason: String },
    /// The definition of a function breaks a rule.
    #[error("{reason}")]
    InvalidFunction { reason: String },
    /// An argument or a reply does not fit its type. `argument` is its path.
    #[error("{reason}")]
    InvalidArgument { reason: String, argument: String },
    /// Functions are registered, but the model's chat template does not support them.
    #[error("{reason}")]
    FunctionCallingUnsupported { reason: String },
    /// The model does not support content parts of this kind.
    #[error("{reason}")]
    UnsupportedContent { reason: String },
    /// The computation failed.
    #[error("{reason}")]
    Generation { reason: String },
    /// Text does not have the expected data format.
    #[error("{reason}")]
    Serialization { reason: String },
    /// A saved session cannot be restored. `fault` is `file`, `version`, `model` or `corrupt`.
    #[error("{reason}")]
    Session { reason: String, fault: String },
    /// A model cannot be downloaded. `fault` is one of the codes of the core's `DownloadFault`, such as `network`.
    #[error("{reason}")]
    Download { reason: String, fault: String, is_retryable: bool },
    /// A fault in causerie itself, which was caught.
    #[error("{reason}")]
    Internal { reason: String },
}

impl From<causerie::SdkError> for SdkError {
    fn from(err: causerie::SdkError) -> Self {
        let (reason, is_retryable) = (err.to_string(), err.is_retryable());
        match err.kind() {
            ErrorKind::ModelNotFound => Self::ModelNotFound { reason },
            ErrorKind::ModelLoad => Self::ModelLoad { reason },
            ErrorKind::OutOfMemory { needed, available } => {
                Self::OutOfMemory { reason, needed: SdkLong(needed), available: SdkLong(available) }
            }
            ErrorKind::LoadCancelled => Self::LoadCancelled { reason },
            ErrorKind::ModelUnloaded => Self::ModelUnloaded { reason },
            ErrorKind::Busy => Self::Busy { reason },
            ErrorKind::PromptExceedsContext { needed, available } => {
                Self::PromptExceedsContext { reason, needed: count(needed), available: count(available) }
            }
            ErrorKind::InvalidOption(option) => {
                Self::InvalidOption { reason: OptionText(reason), option: OptionText(option.to_owned()) }
            }
            ErrorKind::InvalidMessage => Self::InvalidMessage { reason },
            ErrorKind::InvalidFunction => Self::InvalidFunction { reason },
            ErrorKind::InvalidArgument => Self::InvalidArgument { reason, argument: String::new() },
            ErrorKind::FunctionCallingUnsupported => Self::FunctionCallingUnsupported { reason },
            ErrorKind::UnsupportedContent => Self::UnsupportedContent { reason },
            ErrorKind::Generation => Self::Generation { reason },
            ErrorKind::Serialization => Self::Serialization { reason },
            ErrorKind::Session(fault) => Self::Session { reason, fault: fault_name(fault).to_owned() },
            ErrorKind::Download(fault) => Self::Download { reason, fault: fault.code().to_owned(), is_retryable },
            _ => Self::Internal { reason },
        }
    }
}

/// An error that the app's own code throws when causerie calls it.
impl From<uniffi::UnexpectedUniFFICallbackError> for SdkError {
    fn from(err: uniffi::UnexpectedUniFFICallbackError) -> Self {
        Self::Internal { reason: err.reason }
    }
}

fn fault_name(fault: SessionFault) -> &'static str {
    match fault {
        SessionFault::Version => "version",
        SessionFault::Model => "model",
        SessionFault::Corrupt => "corrupt",
        _ => "file",
    }
}

/// The result of a call that can fail.
pub(crate) type Result<T> = std::result::Result<T, SdkError>;
