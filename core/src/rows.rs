//! Rows of embedded contents that were computed, for contents that are shown again.
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::Result;
use crate::position::{ContentDigest, EmbeddingJob};

/// The rows of contents by their digests, within a limit of bytes. Clones share it.
#[derive(Clone)]
pub(crate) struct RowCache {
    entries: Arc<Mutex<Vec<RowEntry>>>,
    max_bytes: usize,
}

struct RowEntry {
    digest: ContentDigest,
    rows: Arc<[f32]>,
}

impl RowCache {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { entries: Arc::default(), max_bytes }
    }

    pub(crate) fn find(&self, digest: ContentDigest) -> Option<Arc<[f32]>> {
        let mut entries = self.entries.lock();
        let at = entries.iter().position(|entry| entry.digest == digest)?;
        let entry = entries.remove(at);
        let rows = Arc::clone(&entry.rows);
        entries.push(entry); // the most recently used one is last
        Some(rows)
    }

    /// Keeps rows, and evicts those that were not used for the longest time.
    pub(crate) fn keep(&self, digest: ContentDigest, rows: &Arc<[f32]>) {
        let mut entries = self.entries.lock();
        entries.retain(|entry| entry.digest != digest);
        entries.push(RowEntry { digest, rows: Arc::clone(rows) });
        let mut n_bytes: usize = entries.iter().map(RowEntry::n_bytes).sum();
        while self.max_bytes < n_bytes {
            n_bytes -= entries.remove(0).n_bytes();
        }
    }

    /// Computes the rows of a content, unless they are here by then.
    pub(crate) fn job(&self, digest: ContentDigest, pass: impl EmbeddingJob + 'static) -> Box<dyn EmbeddingJob> {
        Box::new(CachingJob { digest, pass: Box::new(pass), cache: self.clone() })
    }

    /// The rows of a content as a job, if they are here.
    pub(crate) fn cached_job(&self, digest: ContentDigest) -> Option<Box<dyn EmbeddingJob>> {
        self.find(digest).map(|rows| Box::new(CachedRows(rows)) as Box<dyn EmbeddingJob>)
    }
}

impl RowEntry {
    fn n_bytes(&self) -> usize {
        size_of_val(&*self.rows)
    }
}

/// The computation of a content, whose rows are kept.
struct CachingJob {
    digest: ContentDigest,
    pass: Box<dyn EmbeddingJob>,
    cache: RowCache,
}

/// Rows that were in the cache.
struct CachedRows(Arc<[f32]>);

impl EmbeddingJob for CachingJob {
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>> {
        // Another reply may have shown the same content meanwhile.
        let rows = match self.cache.find(self.digest) {
            Some(rows) => Some(rows),
            None => self.pass.advance()?,
        };
        if let Some(rows) = &rows {
            self.cache.keep(self.digest, rows);
        }
        Ok(rows)
    }
}

impl EmbeddingJob for CachedRows {
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>> {
        Ok(Some(Arc::clone(&self.0)))
    }
}
