//! Values between two operations on the CPU.

/// `(rows, width)`, in memory that is reused.
#[derive(Default)]
pub(crate) struct FloatRows {
    pub(super) values: Vec<f32>,
    pub(super) width: usize,
}

impl FloatRows {
    /// Sets the shape; the values are undefined afterwards.
    pub(super) fn reshape(&mut self, n_rows: usize, width: usize) {
        self.values.resize(n_rows * width, 0.0);
        self.width = width;
    }

    pub(super) fn n_rows(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    pub(super) fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.width..(row + 1) * self.width]
    }
}
