//! A checksum of the beginning and the end of a matrix, which costs the same for every size: it finds files that were cut, mixed
//! up or overwritten, at every load. It does not find a changed bit in the middle.

use crc32fast::Hasher;

/// Bytes at the beginning, and at the end.
pub(super) const SAMPLE: usize = 4096;

/// The checksum of bytes that arrive in pieces.
#[derive(Default)]
pub(super) struct SampleHasher {
    first: Vec<u8>,
    last: Vec<u8>,
}

impl SampleHasher {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let missing = SAMPLE - self.first.len();
        self.first.extend_from_slice(&bytes[..bytes.len().min(missing)]);
        self.last.extend_from_slice(&bytes[bytes.len() - bytes.len().min(SAMPLE)..]);
        self.last.drain(..self.last.len().saturating_sub(SAMPLE));
    }

    pub(super) fn finish(&self) -> u32 {
        let mut hasher = Hasher::new();
        hasher.update(&self.first);
        hasher.update(&self.last);
        hasher.finalize()
    }
}
