//! The error of a model whose files cannot be used.

use crate::error::{ErrorKind, SdkError};

/// An error in what a model's files say.
pub(crate) fn invalid(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}
