//! Memory for weights: one zeroed stretch of bytes, aligned for vectors, on large pages where the system grants them.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

/// Of a cache line, and of the widest vector.
const LINE: usize = 64;
/// A large page of x86-64 and of most aarch64 systems. Weights are read from end to end for every token, and each page
/// costs a look-up.
const LARGE_PAGE: usize = 2 << 20;

/// Bytes that start as zeros.
pub(crate) struct Memory {
    start: NonNull<u8>,
    layout: Layout,
    n_bytes: usize,
}

// SAFETY: the memory belongs to this value alone, and is written through `&mut` only.
unsafe impl Send for Memory {}
// SAFETY: as above; through `&` it is only read.
unsafe impl Sync for Memory {}

impl Memory {
    /// `None` when there is not enough memory.
    pub(crate) fn zeroed(n_bytes: usize) -> Option<Self> {
        let alignment = if LARGE_PAGE <= n_bytes { LARGE_PAGE } else { LINE };
        let layout = Layout::from_size_align(n_bytes.max(LINE), alignment).ok()?;
        // SAFETY: the layout is not of zero size.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        // Before the first touch, which settles what pages there are.
        advise(start, &layout);
        // SAFETY: the bytes of the allocation.
        unsafe { start.as_ptr().write_bytes(0, layout.size()) };
        Some(Self { start, layout, n_bytes })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `n_bytes` of the allocation are initialised, and borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.n_bytes) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.n_bytes) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this layout, and freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

#[cfg(target_os = "linux")]
fn advise(start: NonNull<u8>, layout: &Layout) {
    if layout.align() == LARGE_PAGE {
        // SAFETY: advice about memory of our own; whether it is taken makes no difference but in speed.
        unsafe { libc::madvise(start.as_ptr().cast(), layout.size() / LARGE_PAGE * LARGE_PAGE, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_: NonNull<u8>, _: &Layout) {}
