//! Slots, and the queue before them: so many requests are answered at once, so many wait, and the rest is told to come
//! again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use crate::serve::fault::Fault;

pub(super) struct Admission {
    slots: Arc<Semaphore>,
    n_slots: usize,
    waiting: AtomicUsize,
    queue: usize,
}

/// A slot, free again when it is dropped.
pub(super) type Slot = OwnedSemaphorePermit;

impl Admission {
    pub(super) fn new(slots: usize, queue: usize) -> Self {
        let n_slots = slots.clamp(1, Semaphore::MAX_PERMITS);
        Self { slots: Arc::new(Semaphore::new(n_slots)), n_slots, waiting: AtomicUsize::new(0), queue }
    }

    /// A slot, at once or when those before have theirs. To drop the future is to leave the queue.
    pub(super) async fn enter(self: &Arc<Self>) -> Result<Slot, Fault> {
        match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(slot) => return Ok(slot),
            Err(TryAcquireError::Closed) => return Err(Fault::draining()),
            Err(TryAcquireError::NoPermits) => {}
        }
        let _place = Place::take(self)?;
        Arc::clone(&self.slots).acquire_owned().await.map_err(|_| Fault::draining())
    }

    /// From now on nobody enters, and those who wait are told.
    pub(super) fn close(&self) {
        self.slots.close();
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

/// A place in the queue.
struct Place<'a>(&'a Admission);

impl<'a> Place<'a> {
    fn take(admission: &'a Admission) -> Result<Self, Fault> {
        let one_more = |waiting: usize| (waiting < admission.queue).then_some(waiting + 1);
        match admission.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more) {
            Ok(_) => Ok(Self(admission)),
            Err(_) => Err(Fault::queue_full()),
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
