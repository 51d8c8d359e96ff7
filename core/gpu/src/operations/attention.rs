//! Attention over pages of keys and values.

use std::ops::Range;

use crate::error::GpuError;
use crate::kernels::Kernel;
use crate::past::{GpuKeyValues, PAGE};
use crate::recorder::Recorder;
use crate::rows::GpuRows;

/// The tokens that a row attends to.
pub struct AttentionRow<'a> {
    /// Keys and values of its sequence.
    pub past: &'a GpuKeyValues,
    /// Tokens, counted from the sequence's first one.
    pub seen: Range<usize>,
}

impl Recorder {
    /// Attention of queries, `(rows, query heads * head_dim)`. All rows have keys and values of the same shape.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn attention(
        &self,
        queries: &GpuRows,
        rows: &[AttentionRow<'_>],
        scale: f32,
        mixed: &mut GpuRows,
    ) -> Result<(), GpuError> {
        let Some(first) = rows.first() else { return Ok(()) };
        let (shape, n_rows) = (first.past.shape, queries.n_rows);
        let (gpu, mut recording) = (self.gpu(), self.record());
        recording.reserve(gpu, &mut mixed.values, n_rows * queries.width)?;
        (mixed.n_rows, mixed.width) = (n_rows, queries.width);
        let mut entries = Vec::with_capacity(4 * n_rows);
        let mut last: Option<(&GpuKeyValues, u32)> = None;
        for AttentionRow { past, seen } in rows {
            // Rows of a sequence follow one another, and share its list of pages.
            let pages = match last {
                Some((known, pages)) if std::ptr::eq(known, *past) => pages,
                _ => recording.append(gpu, past.pages.iter().map(|page| page.number))?,
            };
            last = Some((past, pages));
            entries.extend([seen.start as u32, seen.end as u32, pages, past.first_page as u32]);
            debug_assert!(past.first_page * PAGE <= seen.start && seen.end <= past.n_tokens);
        }
        let table = recording.append(gpu, entries)?;
        let (tables, pages) = (recording.table_buffer(), first.past.pool.buffer()?);
        let bindings = [(0, queries.values.get()?), (1, &tables), (2, &pages), (3, mixed.values.get()?)];
        let n_queries = queries.width / shape.head_dim;
        let numbers = [n_queries as u32, shape.n_heads as u32, scale.to_bits(), table];
        let kernel = Kernel::Attention { format: shape.format, head_dim: shape.head_dim as u32 };
        recording.run(gpu, kernel, &bindings, &numbers, [n_rows, n_queries, 1]);
        Ok(())
    }
}
