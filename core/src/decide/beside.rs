//! Work on a thread of its own, whose result a future waits for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use parking_lot::Mutex;

use crate::error::{ErrorKind, Result, SdkError};

/// Runs work on a thread that begins when the future is polled. Dropping the future sets the flag that the work gets.
pub(super) async fn beside<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> Result<T> + Send + 'static,
) -> Result<T> {
    let waited = WaitedWork(Arc::new(SharedWork::default()));
    let shared = Arc::clone(&waited.0);
    let run = move || {
        let panicked = |_| Err(SdkError::new(ErrorKind::Internal, "deciding panicked"));
        let result = catch_unwind(AssertUnwindSafe(|| work(&shared.is_dropped))).unwrap_or_else(panicked);
        *shared.result.lock() = Some(result);
        if let Some(waker) = shared.waker.lock().take() {
            waker.wake();
        }
    };
    let started = thread::Builder::new().name("causerie-decide".to_owned()).spawn(run);
    started.map_err(|err| SdkError::new(ErrorKind::Generation, "no thread could be started").caused_by(err))?;
    waited.await
}

struct SharedWork<T> {
    result: Mutex<Option<Result<T>>>,
    waker: Mutex<Option<Waker>>,
    is_dropped: AtomicBool,
}

impl<T> Default for SharedWork<T> {
    fn default() -> Self {
        Self { result: Mutex::default(), waker: Mutex::default(), is_dropped: AtomicBool::default() }
    }
}

struct WaitedWork<T>(Arc<SharedWork<T>>);

impl<T> Future for WaitedWork<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Result<T>> {
        // The waker is left before the result is looked for, so that none is missed.
        *self.0.waker.lock() = Some(ctx.waker().clone());
        match self.0.result.lock().take() {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for WaitedWork<T> {
    fn drop(&mut self) {
        self.0.is_dropped.store(true, Ordering::Relaxed);
    }
}
