//! Why the grammar of a constraint is refused.

use std::fmt::Display;

use crate::error::{ErrorKind, SdkError};

/// The reason why a constraint cannot be created, or cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GrammarFault {
    message: String,
}

impl GrammarFault {
    /// The fault of a grammar that exceeds its limits during generation.
    pub(crate) fn of_limit() -> Self {
        Self::new("the grammar exceeded its limits")
    }

    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// The fault for an error of llguidance. Only its first line is used; the rest is internal state.
    pub(super) fn of_engine(err: impl Display) -> Self {
        let text = err.to_string();
        let line = text.lines().next().unwrap_or_default();
        Self::new(line.chars().take(200).collect::<String>())
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The error for an option that cannot be enforced.
    pub(crate) fn into_error(self, option: &'static str) -> SdkError {
        SdkError::new(ErrorKind::InvalidOption(option), format!("{option} cannot be enforced: {}", self.message))
    }
}
