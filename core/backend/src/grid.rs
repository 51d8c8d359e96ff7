//! Rows of floats that several threads fill, each thread its own part.

use std::marker::PhantomData;
use std::ops::Range;

/// A borrowed slice of rows of which threads take parts that do not overlap.
pub(crate) struct Grid<'a> {
    start: *mut f32,
    n_rows: usize,
    pub(crate) n_columns: usize,
    borrowed: PhantomData<&'a mut [f32]>,
}

// SAFETY: the values are reached through `part` alone, whose callers take parts that do not overlap.
unsafe impl Sync for Grid<'_> {}

impl<'a> Grid<'a> {
    /// `values` is `(rows, columns)`.
    pub(crate) fn new(values: &'a mut [f32], n_columns: usize) -> Self {
        Self { start: values.as_mut_ptr(), n_rows: values.len() / n_columns, n_columns, borrowed: PhantomData }
    }

    /// Returns some columns of a row.
    ///
    /// # Safety
    /// No overlapping part may exist while this one does.
    ///
    /// # Panics
    /// If the row or the columns are out of range.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "parts do not overlap")]
    pub(crate) unsafe fn part(&self, row: usize, columns: Range<usize>) -> &mut [f32] {
        let is_within = row < self.n_rows && columns.start <= columns.end && columns.end <= self.n_columns;
        assert!(
            is_within,
            "columns {columns:?} of row {row} must be within {} rows of {}",
            self.n_rows, self.n_columns
        );
        // SAFETY: the part is within the borrowed slice, as checked, and the caller guarantees that it does not overlap others.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(row * self.n_columns + columns.start), columns.len()) }
    }
}
