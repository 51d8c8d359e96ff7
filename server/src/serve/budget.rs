//! The memory budget of all bodies together, which arrive or whose requests wait for a slot.

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bodies of the largest size that fit into the budget.
pub(super) const MAX_LARGE_BODIES: usize = 8;
/// The unit of the budget, in bytes.
pub(super) const STEP: usize = 64 << 10;
/// Bytes of each body that the budget does not count, so that a request of usual size is always read.
pub(super) const SMALL: usize = STEP;

/// A share of the budget, which returns to it when it is dropped.
pub(super) type BodyShare = OwnedSemaphorePermit;

pub(super) fn memory_budget(max_body: usize) -> Semaphore {
    Semaphore::new(max_body.div_ceil(STEP) * MAX_LARGE_BODIES)
}
