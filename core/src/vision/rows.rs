//! Rows of images that were computed, for pictures that are shown again.
use std::sync::Arc;

use parking_lot::Mutex;

use crate::position::ContentDigest;

/// The rows of images by their digests, within a limit of bytes. Clones share it.
#[derive(Clone)]
pub(super) struct RowCache {
    entries: Arc<Mutex<Vec<RowEntry>>>,
    max_bytes: usize,
}

struct RowEntry {
    digest: ContentDigest,
    rows: Arc<[f32]>,
}

impl RowCache {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { entries: Arc::default(), max_bytes }
    }

    pub(super) fn find(&self, digest: ContentDigest) -> Option<Arc<[f32]>> {
        let mut entries = self.entries.lock();
        let at = entries.iter().position(|entry| entry.digest == digest)?;
        let entry = entries.remove(at);
        let rows = Arc::clone(&entry.rows);
        entries.push(entry); // the most recently used one is last
        Some(rows)
    }

    /// Keeps rows, and evicts those that were not used for the longest time.
    pub(super) fn keep(&self, digest: ContentDigest, rows: &Arc<[f32]>) {
        let mut entries = self.entries.lock();
        entries.retain(|entry| entry.digest != digest);
        entries.push(RowEntry { digest, rows: Arc::clone(rows) });
        let mut n_bytes: usize = entries.iter().map(RowEntry::n_bytes).sum();
        while self.max_bytes < n_bytes {
            n_bytes -= entries.remove(0).n_bytes();
        }
    }
}

impl RowEntry {
    fn n_bytes(&self) -> usize {
        size_of_val(&*self.rows)
    }
}
