//! The stream of a reply, pulled from the other side of the border.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use causerie::CancelHandle;
use futures_util::lock::Mutex;

use crate::error::{Result, SdkError};
use crate::response::MessageResponse;

/// A reply as it is written. Nothing happens before the first pull. After the last event, and after an error, there is
/// nothing more. Dropping it stops the reply.
#[derive(Debug, uniffi::Object)]
pub struct ResponseStream {
    stream: Mutex<causerie::ResponseStream>,
    cancel: CancelHandle,
    is_claimed: AtomicBool,
}

impl ResponseStream {
    pub(crate) fn new(stream: causerie::ResponseStream) -> Arc<Self> {
        let cancel = stream.cancel_handle();
        Arc::new(Self { stream: Mutex::new(stream), cancel, is_claimed: AtomicBool::new(false) })
    }
}

#[uniffi::export]
impl ResponseStream {
    /// The next event; none after the last one.
    pub async fn next(&self) -> Result<Option<MessageResponse>> {
        let event = self.stream.lock().await.next().await;
        Ok(event.transpose()?.map(Into::into))
    }

    /// The next event, for callers that wait on a thread of their own.
    pub fn next_blocking(&self) -> Result<Option<MessageResponse>> {
        pollster::block_on(self.next())
    }

    /// Claims the stream for one reader.
    pub fn claim(&self) -> Result<()> {
        claim(&self.is_claimed)
    }

    /// Stops the reply within one token. It then ends with a `Complete` whose finish reason is `Interrupted`. Calling it
    /// again, or after the end, does nothing.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

/// Refuses a second reader.
pub(crate) fn claim(is_claimed: &AtomicBool) -> Result<()> {
    if is_claimed.swap(true, Ordering::Relaxed) {
        return Err(SdkError::StreamAlreadyConsumed { reason: "the stream was read before".to_owned() });
    }
    Ok(())
}
