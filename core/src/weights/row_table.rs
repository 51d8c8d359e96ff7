//! A matrix whose rows are read from the file each time they are needed, because the whole would take too much memory.

use std::io;

use crate::weights::dequantise::dequantise;
use crate::weights::source::FileBytes;

/// A table in an open file.
pub(crate) struct RowTable {
    file: FileBytes,
    row_bytes: usize,
    n_rows: usize,
}

impl RowTable {
    /// A tensor as a table with this many rows.
    pub(super) fn new(file: FileBytes, n_rows: usize) -> Self {
        let row_bytes = file.bytes.len() / n_rows.max(1); // exact: rows are whole blocks
        Self { file, row_bytes, n_rows }
    }

    /// Appends the values of a row. `buffer` is reused.
    ///
    /// # Errors
    /// A file that cannot be read any more, and a row that the table does not have.
    pub(crate) fn read_row(&self, row: usize, buffer: &mut Vec<u8>, values: &mut Vec<f32>) -> io::Result<()> {
        if self.n_rows <= row {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let FileBytes { content, bytes, tensor_type } = &self.file;
        let start = bytes.start + row * self.row_bytes; // within the file: the header was checked
        dequantise(*tensor_type, content.read_with(start..start + self.row_bytes, buffer)?, values);
        Ok(())
    }
}
