//! Writes files of packed weights.

use std::io::{self, Seek, SeekFrom, Write};

use causerie_backend::Format;
use crc32fast::Hasher;

use crate::weights::packed::sample::SampleHasher;
use crate::weights::packed::section::StoredHeader;
use crate::weights::packed::table::{ExtentRow, HEAD, HeaderRow, MatrixRow, PAGE, PackedTable, RELEASE, head};

/// Writes a file of packed weights, matrix by matrix. The head comes last, so that a file that is not complete is refused.
pub(crate) struct PackedWriter<W: Write + Seek> {
    file: W,
    length: u64,
    table: PackedTable,
}

impl<W: Write + Seek> PackedWriter<W> {
    /// Begins a file. `identity` is what the packed model is recognised by, `source` where it lies.
    pub(crate) fn new(file: W, identity: String, source: String) -> io::Result<Self> {
        let table = PackedTable { identity, source, release: RELEASE.to_owned(), ..PackedTable::default() };
        let mut writer = Self { file, length: 0, table };
        writer.put(&[0; HEAD])?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.length += bytes.len() as u64; // usize has at most 64 bits
        self.file.write_all(bytes)
    }

    fn pad(&mut self) -> io::Result<()> {
        let missing = self.length.next_multiple_of(PAGE as u64) - self.length;
        self.put(&vec![0; missing as usize]) // less than a page
    }

    /// Whether the matrix that begins at a row of a tensor has been written.
    pub(crate) fn has_matrix(&self, tensor: &str, first_row: usize) -> bool {
        self.table.matrices.iter().rev().any(|row| row.first_row == first_row as u64 && row.tensor == tensor)
    }

    /// Whether some matrix of a tensor has been written.
    pub(crate) fn has_tensor(&self, tensor: &str) -> bool {
        self.table.matrices.iter().any(|row| row.tensor == tensor)
    }

    /// Begins the matrix that begins at a row of a tensor; its tiles follow in pieces.
    pub(crate) fn begin(
        &mut self,
        (tensor, first_row): (&str, usize),
        format: Format,
        (rows, columns): (usize, usize),
    ) -> io::Result<PackedMatrixWriter<'_, W>> {
        self.pad()?;
        self.table.matrices.push(MatrixRow {
            tensor: tensor.to_owned(),
            first_row: first_row as u64,
            format: format.name().to_owned(),
            rows: rows as u64,
            columns: columns as u64,
            start: self.length,
            sample: 0,
            checksum: 0,
        });
        Ok(PackedMatrixWriter { writer: self, hasher: SampleHasher::default() })
    }

    /// Writes the header of a GGUF file.
    pub(crate) fn header(&mut self, StoredHeader { bytes, file_length }: &StoredHeader) -> io::Result<()> {
        let (start, length) = (self.length, bytes.len() as u64);
        let checksum = crc32fast::hash(bytes);
        self.table.headers.push(HeaderRow { start, length, file_length: *file_length as u64, checksum });
        self.put(bytes)
    }

    /// Begins a tensor that is not packed; its bytes follow.
    pub(crate) fn begin_tensor(&mut self, name: &str, length: usize) -> io::Result<()> {
        self.pad()?;
        let (start, length) = (self.length, length as u64);
        self.table.tensors.push(ExtentRow { name: name.to_owned(), start, length, checksum: 0 });
        Ok(())
    }

    /// Writes bytes of the tensor that was begun last.
    pub(crate) fn put_tensor(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(row) = self.table.tensors.last_mut() {
            row.checksum = continued(row.checksum, bytes);
        }
        self.put(bytes)
    }

    /// Writes what another part of the model stores.
    pub(crate) fn section(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.pad()?;
        let (start, length) = (self.length, bytes.len() as u64);
        self.table.sections.push(ExtentRow { name: name.to_owned(), start, length, checksum: crc32fast::hash(bytes) });
        self.put(bytes)
    }

    /// Sets the modification time that the file is going to have.
    pub(crate) fn set_written(&mut self, seconds: u64) {
        self.table.written = seconds;
    }

    /// Writes the table and the head.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let table = serde_json::to_vec(&self.table).map_err(io::Error::other)?;
        let start = self.length;
        self.put(&table)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&head(start, &table))?;
        self.file.flush()?;
        Ok(self.file)
    }
}

/// Writes the tiles of one matrix.
pub(crate) struct PackedMatrixWriter<'a, W: Write + Seek> {
    writer: &'a mut PackedWriter<W>,
    hasher: SampleHasher,
}

impl<W: Write + Seek> PackedMatrixWriter<'_, W> {
    pub(crate) fn put(&mut self, tiles: &[u8]) -> io::Result<()> {
        self.hasher.push(tiles);
        if let Some(row) = self.writer.table.matrices.last_mut() {
            row.checksum = continued(row.checksum, tiles);
        }
        self.writer.put(tiles)
    }

    pub(crate) fn finish(self) {
        if let Some(row) = self.writer.table.matrices.last_mut() {
            row.sample = self.hasher.finish();
        }
    }
}

/// The checksum of bytes whose beginning has this one.
fn continued(checksum: u32, bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(checksum);
    hasher.update(bytes);
    hasher.finalize()
}
