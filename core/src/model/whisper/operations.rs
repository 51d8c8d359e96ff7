//! The operations that only models of speech need.

use std::ops::Range;

use crate::error::Result;
use crate::model::linear::Linear;
use crate::model::tower::TowerOperations;

/// Windows of consecutive rows, so that a convolution over time is a product. Rows beyond both ends are zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowWindows {
    /// Rows of a window.
    pub(crate) size: usize,
    /// Rows from the beginning of a window to that of the next.
    pub(crate) stride: usize,
    /// Rows before the first one in the first window.
    pub(crate) padding: usize,
}

pub(crate) trait SpeechOperations: TowerOperations {
    /// Some windows of rows, each as one row of `size * width` values, as inputs of the map `next`.
    fn windows(
        &self,
        rows: &Self::Rows,
        kind: RowWindows,
        windows: Range<usize>,
        next: &Linear<Self>,
        inputs: &mut Self::Inputs,
    ) -> Result<()>;

    /// Adds rows to others.
    fn add_rows(&self, rows: &Self::Rows, stream: &mut Self::Rows) -> Result<()>;
}
