//! Memory for weights: blocks of zeroed bytes, aligned for vectors and placed next to each other, on large pages where the
//! system grants them. Every token reads all weights, and each page costs a look-up.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Bytes of a cache line, and of the widest vector.
const LINE: usize = 64;
/// Bytes of a large page on x86-64 and on most aarch64 systems.
const LARGE_PAGE: usize = 2 << 20;
/// Bytes to request from the system at a time. Pages that are never written take no memory.
const CHUNK: usize = 64 << 20;

/// Allocates memory from chunks. A chunk is freed once all its allocations are dropped; the last one stays until the arena is
/// dropped as well.
#[derive(Default)]
pub(crate) struct Arena {
    last: Mutex<Option<(Arc<Chunk>, usize)>>,
}

impl Arena {
    /// Allocates zeroed bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::OutOfMemory`].
    pub(crate) fn take(&self, n_bytes: usize) -> io::Result<ArenaBytes> {
        let n_reserved = n_bytes.checked_next_multiple_of(LINE).ok_or(io::ErrorKind::OutOfMemory)?;
        // Only small allocations share chunks, so that little of a chunk is wasted.
        if CHUNK / 4 <= n_reserved {
            return Ok(ArenaBytes { chunk: Arc::new(Chunk::new(n_reserved)?), start: 0, n_bytes });
        }
        let mut last = self.last.lock();
        let (chunk, n_taken) = match last.take() {
            Some((chunk, n_taken)) if n_reserved <= chunk.n_bytes - n_taken => (chunk, n_taken),
            _ => (Arc::new(Chunk::new(CHUNK)?), 0),
        };
        *last = Some((Arc::clone(&chunk), n_taken + n_reserved));
        Ok(ArenaBytes { chunk, start: n_taken, n_bytes })
    }
}

/// Bytes of an arena, zero at first.
pub(crate) struct ArenaBytes {
    chunk: Arc<Chunk>,
    start: usize,
    n_bytes: usize,
}

impl ArenaBytes {
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes lie in the chunk, are initialised and belong to this value alone, as `take` never returns a byte
        // twice. They are borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.chunk.start.as_ptr().add(self.start), self.n_bytes) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.chunk.start.as_ptr().add(self.start), self.n_bytes) }
    }
}

/// Whether the system would reserve this many bytes now. Nothing stays reserved, and no page is written.
pub fn is_reservable(n_bytes: usize) -> bool {
    n_bytes == 0 || system::allocate(n_bytes).map(|mut allocation| system::free(&mut allocation)).is_some()
}

/// Returns unused memory to the system. glibc otherwise keeps most of what was freed, expecting that the program will soon
/// need it again.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call has no preconditions.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// The system's allocator for a program that ends in an ordinary way when memory does: after
/// [`exit_without_memory`](Self::exit_without_memory), an allocation that fails where it cannot be reported as an error ends
/// the process with exit code 1 and one line instead of a signal.
#[derive(Debug)]
pub struct ProgramAllocator;

/// The size of the last allocation that failed; 0 if none did.
static FAILED: AtomicUsize = AtomicUsize::new(0);

impl ProgramAllocator {
    /// Ends the process with exit code 1 where it would be aborted because memory ended. On Windows, it is aborted all the
    /// same.
    pub fn exit_without_memory() {
        #[cfg(unix)]
        // SAFETY: the handler only calls functions that may be called in a signal handler. It is installed before any other
        // thread runs, and a process that aborts for another reason is aborted: `abort` restores the default and raises the
        // signal again.
        unsafe {
            libc::signal(libc::SIGABRT, on_abort as *const () as libc::sighandler_t);
        }
    }

    fn note(start: *mut u8, n_bytes: usize) -> *mut u8 {
        if start.is_null() {
            FAILED.store(n_bytes, Ordering::Relaxed);
        }
        start
    }
}

#[cfg(unix)]
extern "C" fn on_abort(_: libc::c_int) {
    if FAILED.load(Ordering::Relaxed) == 0 {
        return;
    }
    let message = b"causerie: not enough memory\n";
    // SAFETY: both functions may be called in a signal handler, and the message is static.
    unsafe {
        libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
        libc::_exit(1);
    }
}

// SAFETY: every call is passed on to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for ProgramAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        Self::note(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        Self::note(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, n_bytes: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`.
        Self::note(unsafe { System.realloc(start, layout, n_bytes) }, n_bytes)
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(start, layout) };
    }
}

/// Zeroed memory from the system, which provides each page when a thread first writes to it.
struct Chunk {
    allocation: system::Allocation,
    /// The first byte at a large-page boundary.
    start: NonNull<u8>,
    /// Usable bytes from `start` on.
    n_bytes: usize,
}

// SAFETY: the chunk owns its memory, and only disjoint parts of it are borrowed, each through one `ArenaBytes`.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Chunk {
    fn new(n_bytes: usize) -> io::Result<Self> {
        // Pointer offsets must not exceed isize::MAX.
        let with_margin = n_bytes.checked_add(LARGE_PAGE).filter(|n_bytes| isize::try_from(*n_bytes).is_ok());
        let with_margin = with_margin.ok_or(io::ErrorKind::OutOfMemory)?;
        let allocation = system::allocate(with_margin).ok_or(io::ErrorKind::OutOfMemory)?;
        let before = allocation.start.addr().get().wrapping_neg() % LARGE_PAGE;
        // SAFETY: the offset is less than the margin, so it stays within the allocation.
        let start = unsafe { allocation.start.add(before) };
        // Before the first write, which decides the size of the pages.
        system::advise(start, n_bytes / LARGE_PAGE * LARGE_PAGE);
        Ok(Self { allocation, start, n_bytes })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        system::free(&mut self.allocation);
    }
}

/// Allocation from the system. On Unix it bypasses the allocator, which would write zeros itself and keep freed memory.
#[cfg(unix)]
mod system {
    use std::ptr::{self, NonNull};

    pub(super) struct Allocation {
        pub(super) start: NonNull<u8>,
        n_bytes: usize,
    }

    pub(super) fn allocate(n_bytes: usize) -> Option<Allocation> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
        // SAFETY: a new anonymous mapping at an address that the system chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), n_bytes, access, kind, -1, 0) };
        (start != libc::MAP_FAILED).then_some(Allocation { start: NonNull::new(start.cast())?, n_bytes })
    }

    pub(super) fn free(allocation: &mut Allocation) {
        // SAFETY: mapped by `allocate` with this length; the owner is being dropped.
        unsafe { libc::munmap(allocation.start.as_ptr().cast(), allocation.n_bytes) };
    }

    #[cfg(target_os = "linux")]
    pub(super) fn advise(start: NonNull<u8>, n_bytes: usize) {
        // SAFETY: advice about our own memory, which affects speed only.
        unsafe { libc::madvise(start.as_ptr().cast(), n_bytes, libc::MADV_HUGEPAGE) };
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn advise(_: NonNull<u8>, _: usize) {}
}

#[cfg(not(unix))]
mod system {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ptr::NonNull;

    pub(super) struct Allocation {
        pub(super) start: NonNull<u8>,
        layout: Layout,
    }

    pub(super) fn allocate(n_bytes: usize) -> Option<Allocation> {
        let layout = Layout::from_size_align(n_bytes, 1).ok().filter(|layout| layout.size() != 0)?;
        // SAFETY: the layout has a non-zero size.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Allocation { start, layout })
    }

    pub(super) fn free(allocation: &mut Allocation) {
        // SAFETY: allocated by `allocate` with this layout; the owner is being dropped.
        unsafe { dealloc(allocation.start.as_ptr(), allocation.layout) };
    }

    pub(super) fn advise(_: NonNull<u8>, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_system_has_is_not_reservable() {
        assert!(is_reservable(0) && is_reservable(1 << 20) && !is_reservable(usize::MAX >> 1));
    }

    #[test]
    fn allocations_are_zeroed_aligned_and_disjoint() {
        let arena = Arena::default();
        let mut taken: Vec<ArenaBytes> =
            [0, 1, 63, 64, 65, CHUNK / 4 - 400, CHUNK / 5, CHUNK / 5, CHUNK / 5, CHUNK / 5, CHUNK + 1, 7]
                .map(|n_bytes| arena.take(n_bytes).unwrap())
                .into();
        drop(arena);
        for (memory, at) in taken.iter_mut().zip(1..) {
            assert!(memory.bytes().as_ptr().addr().is_multiple_of(LINE));
            let bytes = memory.bytes_mut();
            assert!(bytes.iter().step_by(61).all(|byte| *byte == 0));
            bytes.fill(at);
        }
        for (memory, at) in taken.iter().zip(1..) {
            assert!(memory.bytes().iter().step_by(61).all(|byte| *byte == at));
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for n_bytes in [usize::MAX, usize::MAX / 2] {
            assert_eq!(Arena::default().take(n_bytes).err().map(|err| err.kind()), Some(io::ErrorKind::OutOfMemory));
        }
    }
}
