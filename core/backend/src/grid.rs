//! Rows of floats that several threads fill, each a part of its own.

use std::marker::PhantomData;
use std::ops::Range;

pub(crate) struct Grid<'a> {
    start: *mut f32,
    n_rows: usize,
    pub(crate) n_columns: usize,
    borrowed: PhantomData<&'a mut [f32]>,
}

// SAFETY: reached through `part` alone, whose callers keep to parts of their own.
unsafe impl Sync for Grid<'_> {}

impl<'a> Grid<'a> {
    /// `values` is `(rows, columns)`.
    pub(crate) fn new(values: &'a mut [f32], n_columns: usize) -> Self {
        Self { start: values.as_mut_ptr(), n_rows: values.len() / n_columns, n_columns, borrowed: PhantomData }
    }

    /// Some columns of a row.
    ///
    /// # Safety
    /// Nobody else has a part that overlaps this one, as long as it lives.
    ///
    /// # Panics
    /// When there is no such part.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "each caller has a part of its own")]
    pub(crate) unsafe fn part(&self, row: usize, columns: Range<usize>) -> &mut [f32] {
        let is_within = row < self.n_rows && columns.start <= columns.end && columns.end <= self.n_columns;
        assert!(is_within, "no columns {columns:?} in row {row}");
        // SAFETY: within the borrowed slice, as checked, and nobody else's, as the caller says.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(row * self.n_columns + columns.start), columns.len()) }
    }
}
