//! A matrix whose rows are read from the file each time they are needed, because the whole would take too much memory.

use std::io;
use std::sync::Arc;

use crate::weights::content::Content;
use crate::weights::dequantise::dequantise;
use crate::weights::tensor_type::TensorType;

/// A table in an open file.
pub(crate) struct RowTable {
    pub(super) content: Arc<Content>,
    pub(super) tensor_type: TensorType,
    /// The first byte of the table in the file.
    pub(super) start: usize,
    pub(super) row_bytes: usize,
    pub(super) n_rows: usize,
}

impl RowTable {
    /// Appends the values of a row. `buffer` is reused.
    ///
    /// # Errors
    /// A file that cannot be read any more, and a row that the table does not have.
    pub(crate) fn read_row(&self, row: usize, buffer: &mut Vec<u8>, values: &mut Vec<f32>) -> io::Result<()> {
        if self.n_rows <= row {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let start = self.start + row * self.row_bytes; // within the file: the header was checked
        dequantise(self.tensor_type, self.content.read_with(start..start + self.row_bytes, buffer)?, values);
        Ok(())
    }
}
