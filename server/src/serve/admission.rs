//! Permits to generate, and the queue for them: some requests are answered at once, some wait, and further ones are
//! refused with 429.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use crate::serve::error::HttpError;

/// Replies for each permit that may wait for their clients without one. Each keeps its part of the model's memory.
const MAX_PAUSED: usize = 4;

pub(super) struct Admission {
    permits: Arc<Semaphore>,
    n_permits: usize,
    n_waiting: AtomicUsize,
    max_waiting: usize,
    /// Replies that may wait for their clients without a permit.
    pauses: Arc<Semaphore>,
    /// Has no permits; it is closed once no request is taken any more.
    end_of_requests: Semaphore,
    /// Has no permits; it is closed once running replies must end.
    end_of_replies: Semaphore,
}

/// The right to generate, which returns to the queue when it is dropped.
pub(super) type Permit = OwnedSemaphorePermit;

/// The right to wait for a client without a permit.
pub(super) type Pause = OwnedSemaphorePermit;

/// The wait for a permit. Dropping it leaves the queue.
pub(super) type PermitWait = Pin<Box<dyn Future<Output = Result<Permit, HttpError>> + Send>>;

impl Admission {
    pub(super) fn new(n_permits: usize, max_waiting: usize) -> Self {
        let n_permits = n_permits.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(n_permits)),
            n_permits,
            n_waiting: AtomicUsize::new(0),
            max_waiting,
            pauses: Arc::new(Semaphore::new(n_permits.saturating_mul(MAX_PAUSED).min(Semaphore::MAX_PERMITS))),
            end_of_requests: Semaphore::new(0),
            end_of_replies: Semaphore::new(0),
        }
    }

    /// A permit, at once or in the order of requests; an error when the queue is full.
    pub(super) fn enter(self: &Arc<Self>) -> Result<PermitWait, HttpError> {
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => return Ok(Box::pin(ready(Ok(permit)))),
            Err(TryAcquireError::Closed) => return Err(HttpError::draining()),
            Err(TryAcquireError::NoPermits) => {}
        }
        let (queued, permit) = (WaitingRequest::count(self)?, Arc::clone(&self.permits).acquire_owned());
        Ok(Box::pin(async move {
            let _queued = queued;
            permit.await.map_err(|_| HttpError::draining())
        }))
    }

    /// Lets a reply wait for its client without a permit; an error when too many do.
    pub(super) fn pause(&self) -> Result<Pause, HttpError> {
        Arc::clone(&self.pauses).try_acquire_owned().map_err(|_| HttpError::unread_reply())
    }

    /// A permit for a reply that has waited for its client. Such replies are not part of the queue, and once the queue is
    /// closed they need no permit.
    pub(super) fn resume(&self) -> Pin<Box<dyn Future<Output = Option<Permit>> + Send>> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        Box::pin(async { permit.await.ok() })
    }

    /// Refuses new requests, and those that wait.
    pub(super) fn close(&self) {
        self.permits.close();
        self.end_of_requests.close();
    }

    /// Asks running replies to end.
    pub(super) fn end_replies(&self) {
        self.end_of_replies.close();
    }

    /// Waits until no request is taken any more.
    pub(super) async fn requests_must_end(&self) {
        let _ = self.end_of_requests.acquire().await; // never a permit
    }

    /// Waits until running replies must end.
    pub(super) async fn replies_must_end(&self) {
        let _ = self.end_of_replies.acquire().await; // never a permit
    }

    pub(super) fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }

    /// Requests in the queue.
    pub(super) fn n_waiting(&self) -> usize {
        self.n_waiting.load(Ordering::Relaxed)
    }

    /// Requests that have a permit.
    pub(super) fn n_running(&self) -> usize {
        self.n_permits - self.permits.available_permits()
    }
}

/// Counts as waiting until it is dropped.
struct WaitingRequest(Arc<Admission>);

impl WaitingRequest {
    fn count(admission: &Arc<Admission>) -> Result<Self, HttpError> {
        let one_more = |n: usize| (n < admission.max_waiting).then_some(n + 1);
        match admission.n_waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more) {
            Ok(_) => Ok(Self(Arc::clone(admission))),
            Err(_) => Err(HttpError::queue_full()),
        }
    }
}

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        self.0.n_waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
