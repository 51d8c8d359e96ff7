//! Memory for weights: stretches of zeroed bytes, aligned for vectors, side by side on large pages where the system grants
//! them. Weights are read from end to end for every token, and each page costs a look-up.

use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// Of a cache line, and of the widest vector.
const LINE: usize = 64;
/// A large page of x86-64 and of most aarch64 systems.
const LARGE_PAGE: usize = 2 << 20;
/// What the system is asked for at a time. What is not written to takes no memory.
const CHUNK: usize = 64 << 20;

/// Gives out memory. A chunk is freed when all that was given out of it is dropped, the last one with the arena.
#[derive(Default)]
pub(crate) struct Arena {
    last: Mutex<Option<(Arc<Chunk>, usize)>>,
}

impl Arena {
    /// # Errors
    /// [`io::ErrorKind::OutOfMemory`].
    pub(crate) fn take(&self, n_bytes: usize) -> io::Result<Memory> {
        let room = n_bytes.checked_next_multiple_of(LINE).ok_or(io::ErrorKind::OutOfMemory)?;
        // Small ones alone share chunks, so that little room is left over.
        if CHUNK / 4 <= room {
            return Ok(Memory { chunk: Arc::new(Chunk::new(room)?), start: 0, n_bytes });
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (chunk, n_taken) = match last.take() {
            Some((chunk, n_taken)) if room <= chunk.n_bytes - n_taken => (chunk, n_taken),
            _ => (Arc::new(Chunk::new(CHUNK)?), 0),
        };
        *last = Some((Arc::clone(&chunk), n_taken + room));
        Ok(Memory { chunk, start: n_taken, n_bytes })
    }
}

/// Bytes of an arena that start as zeros.
pub(crate) struct Memory {
    chunk: Arc<Chunk>,
    start: usize,
    n_bytes: usize,
}

impl Memory {
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the part lies in the chunk, whose bytes are initialised, and it is no other's, as `take` never gives out
        // a byte twice; through this value it is borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.chunk.start.as_ptr().add(self.start), self.n_bytes) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.chunk.start.as_ptr().add(self.start), self.n_bytes) }
    }
}

/// Gives memory that nothing uses back to the system. glibc keeps most of what was freed otherwise, as if the program
/// would soon want it again.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it has no conditions.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// Zeroed memory of the system's, which gives it page by page to the thread that first writes there.
struct Chunk {
    allocation: system::Allocation,
    /// The first byte that begins a large page.
    start: NonNull<u8>,
    /// From `start` on.
    n_bytes: usize,
}

// SAFETY: the chunk owns its memory, and only disjoint parts of it are lent, each through one `Memory`.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Chunk {
    fn new(n_bytes: usize) -> io::Result<Self> {
        // Pointers reach no further than isize::MAX.
        let with_margin = n_bytes.checked_add(LARGE_PAGE).filter(|n_bytes| isize::try_from(*n_bytes).is_ok());
        let with_margin = with_margin.ok_or(io::ErrorKind::OutOfMemory)?;
        let allocation = system::allocate(with_margin).ok_or(io::ErrorKind::OutOfMemory)?;
        let before = allocation.start.addr().get().wrapping_neg() % LARGE_PAGE;
        // SAFETY: less than the margin behind the allocation's start.
        let start = unsafe { allocation.start.add(before) };
        // Before the first touch, which settles what pages there are.
        system::advise(start, n_bytes / LARGE_PAGE * LARGE_PAGE);
        Ok(Self { allocation, start, n_bytes })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        system::free(&mut self.allocation);
    }
}

/// What the system gives. On Unix past the allocator, which would write zeros itself, and keep what is given back.
#[cfg(unix)]
mod system {
    use std::ptr::{self, NonNull};

    pub(super) struct Allocation {
        pub(super) start: NonNull<u8>,
        n_bytes: usize,
    }

    pub(super) fn allocate(n_bytes: usize) -> Option<Allocation> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
        // SAFETY: a new mapping of no file, wherever the system likes.
        let start = unsafe { libc::mmap(ptr::null_mut(), n_bytes, access, kind, -1, 0) };
        (start != libc::MAP_FAILED).then_some(Allocation { start: NonNull::new(start.cast())?, n_bytes })
    }

    pub(super) fn free(allocation: &mut Allocation) {
        // SAFETY: mapped in `allocate` with this length; its owner is being dropped.
        unsafe { libc::munmap(allocation.start.as_ptr().cast(), allocation.n_bytes) };
    }

    #[cfg(target_os = "linux")]
    pub(super) fn advise(start: NonNull<u8>, n_bytes: usize) {
        // SAFETY: advice about memory of our own; whether it is taken makes no difference but in speed.
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
        // SAFETY: the layout is not of zero size.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Allocation { start, layout })
    }

    pub(super) fn free(allocation: &mut Allocation) {
        // SAFETY: allocated in `allocate` with this layout; its owner is being dropped.
        unsafe { dealloc(allocation.start.as_ptr(), allocation.layout) };
    }

    pub(super) fn advise(_: NonNull<u8>, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_zero_aligned_and_nobody_elses() {
        let arena = Arena::default();
        let mut taken: Vec<Memory> =
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
    fn more_than_there_can_be_is_refused() {
        for n_bytes in [usize::MAX, usize::MAX / 2] {
            assert_eq!(Arena::default().take(n_bytes).err().map(|err| err.kind()), Some(io::ErrorKind::OutOfMemory));
        }
    }
}
