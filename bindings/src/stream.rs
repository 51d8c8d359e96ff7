//! The stream of a reply, pulled by the foreign language.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use causerie as core;
use futures_util::lock::Mutex;

use crate::error::{Result, SdkError};
use crate::response::MessageResponse;
use crate::rounds::FunctionOutcome;

/// The events of a reply. Nothing happens before the first pull. Nothing follows the last event or an error. Dropping the
/// stream stops the reply.
#[derive(Debug, uniffi::Object)]
pub struct ResponseStream {
    stream: Mutex<core::ResponseStream>,
    /// Outcomes that the next pull hands over, so that answering never waits for the lock of the stream.
    outcomes: parking_lot::Mutex<Vec<FunctionOutcome>>,
    cancel: core::CancelHandle,
    is_claimed: AtomicBool,
}

impl ResponseStream {
    pub(crate) fn new(stream: core::ResponseStream) -> Arc<Self> {
        let cancel = stream.cancel_handle();
        Arc::new(Self {
            stream: Mutex::new(stream),
            outcomes: parking_lot::Mutex::default(),
            cancel,
            is_claimed: AtomicBool::new(false),
        })
    }
}

#[uniffi::export]
impl ResponseStream {
    /// The next event; none after the last one.
    pub async fn next(&self) -> Result<Option<MessageResponse>> {
        let mut stream = self.stream.lock().await;
        let outcomes = std::mem::take(&mut *self.outcomes.lock());
        if !outcomes.is_empty() {
            match outcomes.into_iter().map(TryInto::try_into).collect::<Result<_>>() {
                Ok(outcomes) => stream.answer(outcomes),
                Err(err) => {
                    stream.cancel();
                    while stream.next().await.is_some() {}
                    return Err(err);
                }
            }
        }
        Ok(stream.next().await.transpose()?.map(Into::into))
    }

    /// The next event, for callers that wait on a thread of their own.
    pub fn next_blocking(&self) -> Result<Option<MessageResponse>> {
        pollster::block_on(self.next())
    }

    /// Answers the calls of the last `RunFunctions`, in their order. The next pull continues from there, and ends the reply
    /// with an error if a result is not JSON.
    pub fn answer(&self, outcomes: Vec<FunctionOutcome>) {
        *self.outcomes.lock() = outcomes;
    }

    /// Claims the stream for one reader.
    pub fn claim(&self) -> Result<()> {
        if self.is_claimed.swap(true, Ordering::Relaxed) {
            return Err(SdkError::StreamAlreadyConsumed { reason: "the stream was already read".to_owned() });
        }
        Ok(())
    }

    /// Stops the reply within one token, and between two replies before the next one. It then ends with a `Complete` whose
    /// finish reason is `Interrupted`. Calling it again, or after the end, does nothing.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}
