//! Where the values of a tensor come from: bytes of a file as they are, rows of a folder's tensors in another order, or values
//! that the files only describe.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::weights::content::Content;
use crate::weights::dequantise::dequantise;
use crate::weights::tensor_type::TensorType;

/// Bytes of two tensors that are compared.
const COMPARED: usize = 4 << 20;

/// Where the values of a tensor come from. Several threads may read at once.
pub(crate) enum TensorSource {
    File(FileBytes),
    Rows(MappedRows),
    /// Blocks of the tensor's type that no file holds.
    Blocks(Vec<u8>),
}

impl TensorSource {
    /// Values that no file holds.
    pub(crate) fn of_values(values: &[f32]) -> Self {
        Self::Blocks(values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    /// Whether no other program has written to its files since they were opened.
    #[cfg(feature = "gpu")]
    pub(super) fn is_unchanged(&self) -> bool {
        match self {
            Self::File(file) => file.content.is_unchanged(),
            Self::Rows(rows) => rows.parts.iter().all(|part| part.content.is_unchanged()),
            Self::Blocks(_) => true,
        }
    }

    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            Self::File(file) => file.bytes.len(),
            Self::Rows(rows) => rows.n_rows() * rows.row_bytes(),
            Self::Blocks(bytes) => bytes.len(),
        }
    }

    /// A range of the tensor's bytes.
    pub(super) fn read(&self, range: Range<usize>) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Self::File(file) => file.read(range),
            Self::Rows(rows) => rows.read(range).map(Cow::Owned),
            Self::Blocks(bytes) => Ok(Cow::Borrowed(&bytes[range])),
        }
    }
}

/// A tensor as it lies in a file.
#[derive(Clone)]
pub(crate) struct FileBytes {
    pub(super) content: Arc<Content>,
    pub(super) bytes: Range<usize>,
    pub(super) tensor_type: TensorType,
}

impl FileBytes {
    pub(crate) fn tensor_type(&self) -> TensorType {
        self.tensor_type
    }

    /// The values of a small tensor.
    pub(crate) fn values(&self) -> io::Result<Vec<f32>> {
        let mut values = Vec::new();
        dequantise(self.tensor_type, &self.read(0..self.bytes.len())?, &mut values);
        Ok(values)
    }

    /// Whether another tensor has the same type and size, and begins with the same bytes.
    pub(crate) fn begins_as(&self, other: &Self) -> bool {
        let range = 0..self.bytes.len().min(COMPARED);
        self.tensor_type == other.tensor_type
            && self.bytes.len() == other.bytes.len()
            && matches!((self.read(range.clone()), other.read(range)), (Ok(a), Ok(b)) if a == b)
    }

    fn read(&self, range: Range<usize>) -> io::Result<Cow<'_, [u8]>> {
        self.content.read(self.bytes.start + range.start..self.bytes.start + range.end)
    }
}

/// The rows of a folder's tensors, which are not quantised.
pub(crate) struct MappedRows {
    /// Tensors of one type and size, one after the other.
    parts: Vec<FileBytes>,
    /// Values of a row of the parts.
    n_columns: usize,
    /// For each row its place in the parts, if the order differs.
    order: Option<Vec<usize>>,
    /// For each column its place in a row of the parts, if these differ.
    columns: Option<Vec<usize>>,
}

impl MappedRows {
    /// `None` if the parts differ in type or size, or if they have no such rows or columns.
    pub(crate) fn new(
        parts: Vec<FileBytes>,
        n_columns: usize,
        order: Option<Vec<usize>>,
        columns: Option<Vec<usize>>,
    ) -> Option<Self> {
        let (tensor_type, n_bytes) = parts.first().map(|first| (first.tensor_type, first.bytes.len()))?;
        let rows = Self { parts, n_columns, order, columns };
        let part_row = rows.part_row_bytes();
        if tensor_type.is_quantised() || part_row == 0 || rows.row_bytes() == 0 || !n_bytes.is_multiple_of(part_row) {
            return None;
        }
        let n_in_parts = rows.parts.len() * rows.rows_of_part();
        let is_alike = |part: &FileBytes| part.tensor_type == tensor_type && part.bytes.len() == n_bytes;
        let fits = rows.parts.iter().all(is_alike)
            && rows.order.iter().flatten().all(|row| *row < n_in_parts)
            && rows.columns.iter().flatten().all(|column| *column < n_columns);
        fits.then_some(rows)
    }

    fn row_bytes(&self) -> usize {
        self.columns.as_ref().map_or(self.n_columns, Vec::len) * self.value_bytes()
    }

    fn part_row_bytes(&self) -> usize {
        self.n_columns * self.value_bytes()
    }

    fn value_bytes(&self) -> usize {
        self.parts.first().map_or(1, |part| part.tensor_type.block_bytes()) // the type is not quantised
    }

    fn rows_of_part(&self) -> usize {
        self.parts.first().map_or(0, |part| part.bytes.len() / self.part_row_bytes())
    }

    fn n_rows(&self) -> usize {
        self.order.as_ref().map_or_else(|| self.parts.len() * self.rows_of_part(), Vec::len)
    }

    /// The place in the parts of a row.
    fn place(&self, row: usize) -> usize {
        self.order.as_ref().map_or(row, |order| order[row])
    }

    fn read(&self, range: Range<usize>) -> io::Result<Vec<u8>> {
        let row_bytes = self.row_bytes();
        let (first, end) = (range.start / row_bytes, range.end.div_ceil(row_bytes));
        let mut bytes = Vec::new();
        bytes.try_reserve_exact((end - first) * row_bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let mut row = first;
        while row < end {
            row = self.append_rows(row, end, &mut bytes)?;
        }
        bytes.truncate(range.end - first * row_bytes);
        bytes.drain(..range.start - first * row_bytes);
        Ok(bytes)
    }

    /// Appends as many rows as lie near each other in one part; returns the row after them.
    fn append_rows(&self, first: usize, end: usize, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let (row_bytes, rows_of_part) = (self.part_row_bytes(), self.rows_of_part());
        let part = self.place(first) / rows_of_part;
        let (mut span, mut next) = (self.place(first)..self.place(first) + 1, first + 1);
        // Pairs of rotated rows alternate between two halves of a head: reading both halves at once costs one call.
        let mut widened = span.clone();
        for row in first + 1..end {
            let place = self.place(row);
            if place / rows_of_part != part {
                break;
            }
            widened = widened.start.min(place)..widened.end.max(place + 1);
            if widened.len() <= row + 1 - first {
                (span, next) = (widened.clone(), row + 1);
            }
        }
        let in_part = span.start - part * rows_of_part..span.end - part * rows_of_part;
        let rows = self.parts[part].read(in_part.start * row_bytes..in_part.end * row_bytes)?;
        for row in first..next {
            let at = (self.place(row) - span.start) * row_bytes;
            self.append_row(&rows[at..at + row_bytes], bytes);
        }
        Ok(next)
    }

    fn append_row(&self, row: &[u8], bytes: &mut Vec<u8>) {
        let size = self.value_bytes();
        match &self.columns {
            None => bytes.extend_from_slice(row),
            Some(columns) => columns.iter().for_each(|column| bytes.extend_from_slice(&row[column * size..][..size])),
        }
    }
}
