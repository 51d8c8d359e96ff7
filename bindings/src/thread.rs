//! Work on a thread of its own.

use std::thread;

use futures_channel::oneshot;

use crate::error::{Result, SdkError};

/// Starts a thread.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|err| SdkError::Internal { reason: format!("cannot start a thread: {err}") })
}

/// The result of work that blocks its thread. It ends as soon as the work, also if nobody waits for it any more.
pub(crate) async fn on_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = oneshot::channel();
    // Sending fails if the caller has stopped waiting.
    spawn(name, move || drop(sender.send(work())))?;
    receiver.await.map_err(|_| SdkError::Internal { reason: format!("the thread {name} ended early") })?
}
