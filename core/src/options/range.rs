//! The error for an option that is out of its range.

use std::fmt::Display;

use crate::error::{ErrorKind, SdkError};

pub(super) fn out_of_range(field: &'static str, value: impl Display, range: &str) -> SdkError {
    SdkError::new(ErrorKind::InvalidOption(field), format!("{field} must be {range}, found {value}"))
}
