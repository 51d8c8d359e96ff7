//! Slots, and the queue before them: so many requests are answered at once, so many wait, and the rest is told to come
//! again.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use crate::serve::fault::Fault;

pub(super) struct Admission {
    slots: Arc<Semaphore>,
    n_slots: usize,
    waiting: AtomicUsize,
    queue: usize,
    /// Without a permit; closed once replies under way are to end.
    patience: Semaphore,
}

/// A slot, free again when it is dropped.
pub(super) type Slot = OwnedSemaphorePermit;

/// A place in the queue, which becomes a slot. To drop it is to leave the queue.
pub(super) type Turn = Pin<Box<dyn Future<Output = Result<Slot, Fault>> + Send>>;

impl Admission {
    pub(super) fn new(slots: usize, queue: usize) -> Self {
        let n_slots = slots.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            slots: Arc::new(Semaphore::new(n_slots)),
            n_slots,
            waiting: AtomicUsize::new(0),
            queue,
            patience: Semaphore::new(0),
        }
    }

    /// A slot, at once or when those before have theirs; an error when too many wait for one.
    pub(super) fn enter(self: &Arc<Self>) -> Result<Turn, Fault> {
        match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(slot) => return Ok(Box::pin(ready(Ok(slot)))),
            Err(TryAcquireError::Closed) => return Err(Fault::draining()),
            Err(TryAcquireError::NoPermits) => {}
        }
        let (place, slot) = (Place::take(self)?, Arc::clone(&self.slots).acquire_owned());
        Ok(Box::pin(async move {
            let _place = place;
            slot.await.map_err(|_| Fault::draining())
        }))
    }

    /// From now on nobody enters, and those who wait are told.
    pub(super) fn close(&self) {
        self.slots.close();
    }

    /// Asks replies under way to end.
    pub(super) fn give_up(&self) {
        self.patience.close();
    }

    /// Waits until replies under way are to end.
    pub(super) async fn given_up(&self) {
        let _ = self.patience.acquire().await; // never a permit
    }

    pub(super) fn is_closed(&self) -> bool {
        self.slots.is_closed()
    }

    /// Requests in the queue.
    pub(super) fn n_waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Requests that have a slot.
    pub(super) fn n_running(&self) -> usize {
        self.n_slots - self.slots.available_permits()
    }
}

/// Counts as waiting.
struct Place(Arc<Admission>);

impl Place {
    fn take(admission: &Arc<Admission>) -> Result<Self, Fault> {
        let one_more = |waiting: usize| (waiting < admission.queue).then_some(waiting + 1);
        match admission.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more) {
            Ok(_) => Ok(Self(Arc::clone(admission))),
            Err(_) => Err(Fault::queue_full()),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
