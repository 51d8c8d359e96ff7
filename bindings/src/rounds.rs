//! Replies whose calls are run along the way, by the other side of the border.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use causerie as core;
use causerie::read_json;
use futures_util::lock::Mutex;

use crate::error::Result;
use crate::function::SdkFunctionCall;
use crate::number::SdkCount;
use crate::response::MessageResponse;
use crate::stream::claim;

/// A reply with rounds of calls; each language wraps it in a stream of its own. Nothing happens before the first pull, and
/// dropping it stops the reply.
#[derive(Debug, uniffi::Object)]
pub struct FunctionRounds {
    rounds: Mutex<core::FunctionRounds>,
    cancel: core::CancelHandle,
    is_claimed: AtomicBool,
}

/// How far a model may go on its own.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct RoundOptions {
    /// Replies whose calls are run, one after the other. Default 8.
    #[uniffi(default)]
    pub max_rounds: Option<SdkCount>,
    /// Seconds that a function may take. Default: as long as it takes.
    #[uniffi(default)]
    pub time_limit: Option<f64>,
    /// Whether all calls of a reply are run at once. Default: one after the other.
    #[uniffi(default = false)]
    pub in_parallel: bool,
}

/// What rounds of calls yield.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
#[expect(clippy::large_enum_variant, reason = "it crosses the border field by field")]
pub enum RoundEvent {
    /// An event for who reads the reply.
    Response {
        /// The event.
        response: MessageResponse,
    },
    /// Calls to be run, at once if they are several; the next pull brings what came of them.
    Run {
        /// The calls. Their arguments fit the functions' parameters.
        calls: Vec<SdkFunctionCall>,
    },
}

/// What comes of running a function.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum FunctionOutcome {
    /// It returned text, which reaches the model as it is.
    Text {
        /// The text.
        text: String,
    },
    /// It returned a value, given as JSON text.
    Json {
        /// The JSON text.
        text: String,
    },
    /// It failed.
    Failed {
        /// Why, for the model to read.
        reason: String,
    },
    /// It took longer than the time limit.
    TimedOut,
}

impl FunctionRounds {
    pub(crate) fn new(rounds: core::FunctionRounds) -> Arc<Self> {
        let cancel = rounds.cancel_handle();
        Arc::new(Self { rounds: Mutex::new(rounds), cancel, is_claimed: AtomicBool::new(false) })
    }
}

#[uniffi::export]
impl FunctionRounds {
    /// Takes what came of the calls that were to be run, in their order, and gives the next event; none after the last
    /// one.
    pub async fn next(&self, outcomes: Vec<FunctionOutcome>) -> Result<Option<RoundEvent>> {
        let mut rounds = self.rounds.lock().await;
        if !outcomes.is_empty() {
            rounds.answer(outcomes.into_iter().map(Into::into).collect());
        }
        Ok(rounds.next().await.transpose()?.map(|event| match event {
            core::RoundEvent::Response(response) => RoundEvent::Response { response: response.into() },
            core::RoundEvent::Run(calls) => RoundEvent::Run { calls: calls.into_iter().map(Into::into).collect() },
        }))
    }

    /// The same for callers that wait on a thread of their own.
    pub fn next_blocking(&self, outcomes: Vec<FunctionOutcome>) -> Result<Option<RoundEvent>> {
        pollster::block_on(self.next(outcomes))
    }

    /// Claims the reply for one reader.
    pub fn claim(&self) -> Result<()> {
        claim(&self.is_claimed)
    }

    /// Stops the reply within one token, and between replies before the next one. It then ends with a `Complete` whose
    /// finish reason is `Interrupted`. Calling it again, or after the end, does nothing.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl From<RoundOptions> for core::RoundOptions {
    fn from(rounds: RoundOptions) -> Self {
        let usual = Self::default();
        // Nothing to wait for is no time; more than can be counted is no limit.
        let time_limit = rounds.time_limit.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)));
        Self {
            max_rounds: rounds.max_rounds.map_or(usual.max_rounds, SdkCount::size),
            time_limit: time_limit.and_then(std::result::Result::ok),
            in_parallel: rounds.in_parallel,
        }
    }
}

impl From<FunctionOutcome> for core::FunctionOutcome {
    fn from(outcome: FunctionOutcome) -> Self {
        match outcome {
            FunctionOutcome::Text { text } => Self::Returned(text.into()),
            FunctionOutcome::Json { text } => match read_json(&text) {
                Some(value) => Self::Returned(value),
                None => Self::Failed("the result is no JSON".to_owned()),
            },
            FunctionOutcome::Failed { reason } => Self::Failed(reason),
            FunctionOutcome::TimedOut => Self::TimedOut,
        }
    }
}
