//! Counts work in tests, so that they can prove linear time without a clock. Production code does not count.

thread_local! {
    static WORK: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Adds bytes that were looked at.
pub(crate) fn count(n_bytes: usize) {
    WORK.set(WORK.get() + n_bytes);
}

/// The bytes that were looked at since the last call.
pub(crate) fn take() -> usize {
    WORK.take()
}
