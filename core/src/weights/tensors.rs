//! Tensors as they lie in a file.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::error::{ErrorKind, Result, SdkError};
use crate::memory;
use crate::weights::content::Content;
use crate::weights::dequantise::dequantise;
use crate::weights::tensor_type::TensorType;

/// Bytes of a tensor that are read at a time; a multiple of the size of every value that is not quantised.
const CHUNK: usize = 4 << 20;

/// Which matrix is wanted.
pub(crate) struct MatrixPlace<'a> {
    /// In the file.
    pub(crate) name: &'a str,
    /// `(outputs, inputs)`
    pub(crate) shape: (usize, usize),
    pub(crate) part: TensorPart,
}

/// Which part of a tensor a matrix is.
#[derive(Clone, Copy)]
pub(crate) enum TensorPart {
    Whole,
    /// One of several matrices of the same shape that the tensor stacks.
    OfStack {
        index: usize,
        n_matrices: usize,
    },
    /// Some rows of a larger matrix, which has `n_rows`.
    Rows {
        first: usize,
        n_rows: usize,
    },
}

impl MatrixPlace<'_> {
    /// The shape of the tensor, outermost first.
    pub(super) fn tensor_shape(&self) -> SmallVec<[usize; 3]> {
        let (rows, columns) = self.shape;
        match self.part {
            TensorPart::Whole => smallvec![rows, columns],
            TensorPart::OfStack { n_matrices, .. } => smallvec![n_matrices, rows, columns],
            TensorPart::Rows { n_rows, .. } => smallvec![n_rows, columns],
        }
    }

    /// The part of the tensor's bytes, if it has this many. Rows are whole blocks, so the divisions are exact.
    pub(super) fn bytes_of(&self, n_bytes: usize) -> Range<usize> {
        let (first, n, n_all) = match self.part {
            TensorPart::Whole => return 0..n_bytes,
            TensorPart::OfStack { index, n_matrices } => (index, 1, n_matrices),
            TensorPart::Rows { first, n_rows } => (first, self.shape.0, n_rows),
        };
        let size = n_bytes / n_all.max(1);
        first * size..(first + n) * size
    }
}

/// The blocks of a tensor, or of one of the matrices that it stacks.
pub(crate) struct TensorBlocks<'a> {
    pub(super) name: &'a str,
    pub(super) tensor_type: TensorType,
    pub(super) bytes: Range<usize>,
    pub(super) content: &'a Arc<Content>,
}

impl TensorBlocks<'_> {
    pub(crate) fn tensor_type(&self) -> TensorType {
        self.tensor_type
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// A range of the blocks' bytes. Several threads may read at once.
    pub(crate) fn read(&self, range: Range<usize>) -> io::Result<Cow<'_, [u8]>> {
        self.content.read(self.bytes.start + range.start..self.bytes.start + range.end)
    }

    /// The values, as f32.
    pub(crate) fn values(&self) -> Result<Vec<f32>> {
        let (block, block_bytes) = (self.tensor_type.block(), self.tensor_type.block_bytes());
        let (mut values, n_values) = (Vec::new(), self.n_bytes() / block_bytes * block);
        values.try_reserve_exact(n_values).map_err(|_| self.unreadable(io::ErrorKind::OutOfMemory.into()))?;
        let chunk = CHUNK / block_bytes * block_bytes;
        for start in (0..self.n_bytes()).step_by(chunk) {
            let blocks = self.read(start..self.n_bytes().min(start + chunk)).map_err(|err| self.unreadable(err))?;
            dequantise(self.tensor_type, &blocks, &mut values);
        }
        Ok(values)
    }

    /// Whether other blocks have the same type and bytes.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let chunks = || (0..self.n_bytes()).step_by(CHUNK).map(|start| start..self.n_bytes().min(start + CHUNK));
        let is_same =
            |chunk: Range<usize>| matches!((self.read(chunk.clone()), other.read(chunk)), (Ok(a), Ok(b)) if a == b);
        self.tensor_type == other.tensor_type && self.n_bytes() == other.n_bytes() && chunks().all(is_same)
    }

    /// The error for a file that has changed since its header was checked, or for memory that has ended.
    pub(crate) fn unreadable(&self, err: io::Error) -> SdkError {
        if err.kind() == io::ErrorKind::OutOfMemory {
            return memory::exhausted(&format!("tensor {}", self.name), self.n_bytes());
        }
        SdkError::new(ErrorKind::ModelLoad, format!("cannot read tensor {}", self.name)).caused_by(err)
    }
}

/// A tensor as a header describes it.
pub(crate) struct TensorDescription<'a> {
    pub(crate) name: &'a str,
    pub(crate) tensor_type: TensorType,
    /// Outermost first.
    pub(crate) shape: &'a [usize],
    /// In the file.
    pub(crate) n_bytes: usize,
}

impl TensorDescription<'_> {
    pub(crate) fn n_values(&self) -> u64 {
        self.shape.iter().map(|size| *size as u64).product() // no overflow: the header was checked
    }
}
