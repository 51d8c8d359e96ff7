//! Counts work in tests, so that they can prove linear time without a clock. Production code does not count.

#[cfg(test)]
thread_local! {
    static WORK: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Adds bytes that were looked at.
#[inline]
pub(crate) fn count(_n_bytes: usize) {
    #[cfg(test)]
    WORK.set(WORK.get() + _n_bytes);
}

/// The bytes that were looked at since the last call.
#[cfg(test)]
pub(crate) fn take() -> usize {
    WORK.take()
}
