//! The error of every call.

use causerie::{ErrorKind, SessionFault};

use crate::number::{SdkCount, count};

/// What can go wrong. `reason` is one readable line.
#[derive(Clone, Debug, PartialEq, thiserror::Error, uniffi::Error)]
#[uniffi::export(Display)]
#[expect(missing_docs, reason = "the kinds are told in the core")]
pub enum SdkError {
    /// No file, or no model, at the place given.
    #[error("{reason}")]
    ModelNotFound { reason: String },
    /// The model's files are unreadable, broken, incomplete or of a kind that is not known.
    #[error("{reason}")]
    ModelLoad { reason: String },
    /// The app cancelled loading.
    #[error("{reason}")]
    LoadCancelled { reason: String },
    /// The model was unloaded: its conversations can be read, but not go on.
    #[error("{reason}")]
    ModelUnloaded { reason: String },
    /// The conversation is generating: wait for its end or cancel it.
    #[error("{reason}")]
    Busy { reason: String },
    /// The stream of a reply was read before.
    #[error("{reason}")]
    StreamAlreadyConsumed { reason: String },
    /// The prompt leaves no room in the context for one token of reply.
    #[error("{reason}")]
    PromptExceedsContext { reason: String, needed: SdkCount, available: SdkCount },
    /// An option is out of its range; the option is named.
    #[error("{reason}")]
    InvalidOption { reason: String, option: String },
    /// A message cannot stand where it was given.
    #[error("{reason}")]
    InvalidMessage { reason: String },
    /// The definition of a function breaks a rule.
    #[error("{reason}")]
    InvalidFunction { reason: String },
    /// An argument, or a reply, is not what its type says; its place is named.
    #[error("{reason}")]
    InvalidArgument { reason: String, argument: String },
    /// Functions are registered, but the model's chat template cannot offer them.
    #[error("{reason}")]
    FunctionCallingUnsupported { reason: String },
    /// The model cannot take a content part of this kind.
    #[error("{reason}")]
    UnsupportedContent { reason: String },
    /// The computation failed.
    #[error("{reason}")]
    Generation { reason: String },
    /// Text that should hold data of a known form does not.
    #[error("{reason}")]
    Serialization { reason: String },
    /// A saved session cannot be restored: `file`, `version`, `model` or `corrupt`.
    #[error("{reason}")]
    Session { reason: String, fault: String },
    /// A fault of causerie itself, caught before it reached the app.
    #[error("{reason}")]
    Internal { reason: String },
}

impl From<causerie::SdkError> for SdkError {
    fn from(err: causerie::SdkError) -> Self {
        let reason = err.to_string();
        match err.kind() {
            ErrorKind::ModelNotFound => Self::ModelNotFound { reason },
            ErrorKind::ModelLoad => Self::ModelLoad { reason },
            ErrorKind::LoadCancelled => Self::LoadCancelled { reason },
            ErrorKind::ModelUnloaded => Self::ModelUnloaded { reason },
            ErrorKind::Busy => Self::Busy { reason },
            ErrorKind::PromptExceedsContext { needed, available } => {
                Self::PromptExceedsContext { reason, needed: count(needed), available: count(available) }
            }
            ErrorKind::InvalidOption(option) => Self::InvalidOption { reason, option: option.to_owned() },
            ErrorKind::InvalidMessage => Self::InvalidMessage { reason },
            ErrorKind::InvalidFunction => Self::InvalidFunction { reason },
            ErrorKind::InvalidArgument => Self::InvalidArgument { reason, argument: String::new() },
            ErrorKind::FunctionCallingUnsupported => Self::FunctionCallingUnsupported { reason },
            ErrorKind::UnsupportedContent => Self::UnsupportedContent { reason },
            ErrorKind::Generation => Self::Generation { reason },
            ErrorKind::Serialization => Self::Serialization { reason },
            ErrorKind::Session(fault) => Self::Session { reason, fault: fault_name(fault).to_owned() },
            _ => Self::Internal { reason },
        }
    }
}

/// For what an app's own code throws where causerie calls it.
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

/// The result of every call that can fail.
pub(crate) type Result<T> = std::result::Result<T, SdkError>;
