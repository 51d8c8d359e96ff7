//! Function calls that the foreign language runs within a stream: their limits and outcomes.

use std::time::Duration;

use causerie as core;
use causerie::read_json;

use crate::error::{Result, SdkError};
use crate::message::ChatMessageContent;
use crate::number::SdkCount;

/// Limits on the function calls of one message.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct RoundOptions {
    /// Maximum number of replies whose calls are run. The calls of the next reply are left to the app. Default 8.
    #[uniffi(default)]
    pub max_rounds: Option<SdkCount>,
    /// Seconds that a function may take. Default: no limit.
    #[uniffi(default)]
    pub time_limit: Option<f64>,
    /// Whether all calls of a reply are run at once. Default: one after the other.
    #[uniffi(default = false)]
    pub in_parallel: bool,
}

/// The outcome of running a function.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
pub enum FunctionOutcome {
    /// It returned a string, which the model reads as it is.
    Text {
        /// The string.
        text: String,
    },
    /// It returned a value, given as JSON text.
    Json {
        /// The JSON text.
        text: String,
    },
    /// It returned parts of a message, such as a picture.
    Content {
        /// The parts.
        content: Vec<ChatMessageContent>,
    },
    /// It failed.
    Failed {
        /// The reason, for the model to read.
        reason: String,
    },
    /// It took longer than the time limit.
    TimedOut,
}

impl From<RoundOptions> for core::RoundOptions {
    fn from(rounds: RoundOptions) -> Self {
        let defaults = Self::default();
        // A negative limit is no time at all. One that is too large for a duration is no limit.
        let time_limit = rounds.time_limit.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)));
        Self {
            max_rounds: rounds.max_rounds.map_or(defaults.max_rounds, SdkCount::size),
            time_limit: time_limit.and_then(|limit| limit.ok()),
            in_parallel: rounds.in_parallel,
        }
    }
}

impl TryFrom<FunctionOutcome> for core::FunctionOutcome {
    type Error = SdkError;

    /// Refuses text that is not JSON: an error of the app, which the model must not read as one of the function.
    fn try_from(outcome: FunctionOutcome) -> Result<Self> {
        Ok(match outcome {
            FunctionOutcome::Text { text } => Self::Returned(text.into()),
            FunctionOutcome::Json { text } => Self::Returned(read_json(&text).ok_or_else(|| {
                SdkError::Serialization { reason: "the result of a function must be valid JSON".to_owned() }
            })?),
            FunctionOutcome::Content { content } => Self::Content(content.into_iter().map(Into::into).collect()),
            FunctionOutcome::Failed { reason } => Self::Failed(core::FunctionError::new(reason)),
            FunctionOutcome::TimedOut => Self::TimedOut,
        })
    }
}
