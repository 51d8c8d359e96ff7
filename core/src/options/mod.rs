//! Options of a generation and of loading, and their defaults.

mod choices;
mod generation;
mod sampling;
mod loading;

use crate::error::{ErrorKind, SdkError};

pub use choices::{ContextPolicy, OnBusy, OnCancel, Strictness, ToolCallConstraint, ToolChoice};
pub use generation::GenerationOptions;
pub use loading::{CacheType, Device, LoadOptions};
pub use sampling::{Sampling, SamplingDefaults};

fn out_of_range(field: &'static str, value: impl std::fmt::Display, range: &str) -> SdkError {
    SdkError::new(ErrorKind::InvalidOption(field), format!("{field} must be {range}, found {value}"))
}
