//! The computation of one image of a picture.

use std::sync::Arc;

use crate::error::Result;
use crate::model::TowerPass;
use crate::position::{ContentDigest, EmbeddingJob};
use crate::vision::rows::RowCache;

pub(super) struct ImageJob {
    pub(super) digest: ContentDigest,
    pub(super) pass: TowerPass,
    pub(super) cache: RowCache,
}

/// Rows that were in the cache.
pub(super) struct CachedRows(pub(super) Arc<[f32]>);

impl EmbeddingJob for ImageJob {
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>> {
        // Another reply may have shown the same picture meanwhile.
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
