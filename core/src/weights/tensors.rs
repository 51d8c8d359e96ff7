//! The tensors of a model under the names of GGUF files, and their blocks.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::{SmallVec, smallvec};

use crate::error::{ErrorKind, Result, SdkError};
use crate::memory;
use crate::weights::dequantise::dequantise;
use crate::weights::packed::{PackedMatrix, PackedWeights};
use crate::weights::row_table::RowTable;
use crate::weights::source::TensorSource;
use crate::weights::tensor_type::TensorType;

/// Bytes of a tensor that are read at a time; a multiple of the size of every value that is not quantised.
const CHUNK: usize = 4 << 20;

/// Which matrix is wanted.
pub(crate) struct MatrixPlace<'a> {
    /// In GGUF files.
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

    /// The matrix's first row in the tensor, whose rows are counted through all matrices that it stacks.
    pub(crate) fn first_row(&self) -> usize {
        match self.part {
            TensorPart::Whole => 0,
            TensorPart::OfStack { index, .. } => index * self.shape.0,
            TensorPart::Rows { first, .. } => first,
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
    /// The tensor's name in the files.
    pub(super) name: &'a str,
    pub(super) tensor_type: TensorType,
    /// In the source.
    pub(super) bytes: Range<usize>,
    pub(super) source: &'a TensorSource,
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
        self.source.read(self.bytes.start + range.start..self.bytes.start + range.end)
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

    /// The error for a file that has changed since its header was checked, or for memory that has ended.
    pub(crate) fn unreadable(&self, err: io::Error) -> SdkError {
        if err.kind() == io::ErrorKind::OutOfMemory {
            return memory::exhausted(&format!("tensor {}", self.name), self.n_bytes());
        }
        SdkError::new(ErrorKind::ModelLoad, format!("cannot read tensor {}", self.name)).caused_by(err)
    }
}

/// The tensors of a model by their names in GGUF files, whatever the form of its files.
#[derive(Default)]
pub(crate) struct Tensors {
    tensors: HashMap<String, Tensor>,
    /// Names in the files, where they differ: of tensors, and of tensors that are missing.
    file_names: HashMap<String, String>,
    /// The types of tensors that cannot be read.
    unreadable: HashMap<String, String>,
    /// The file with packed matrices, if there is one.
    packed: Option<Arc<PackedWeights>>,
}

/// A tensor, and where its values come from.
pub(crate) struct Tensor {
    tensor_type: TensorType,
    shape: Vec<usize>,
    source: TensorSource,
    is_read: AtomicBool,
}

impl Tensor {
    /// A tensor of this shape, outermost first.
    pub(crate) fn new(tensor_type: TensorType, shape: Vec<usize>, source: TensorSource) -> Self {
        Self { tensor_type, shape, source, is_read: AtomicBool::new(false) }
    }
}

impl FromIterator<(String, Tensor)> for Tensors {
    fn from_iter<I: IntoIterator<Item = (String, Tensor)>>(tensors: I) -> Self {
        Self { tensors: tensors.into_iter().collect(), ..Self::default() }
    }
}

impl Tensors {
    pub(crate) fn insert(&mut self, name: String, tensor: Tensor) {
        self.tensors.insert(name, tensor);
    }

    /// Adds the tensors of other files.
    pub(crate) fn extend(&mut self, others: Self) {
        self.file_names.extend(others.file_names.into_iter().filter(|(name, _)| others.tensors.contains_key(name)));
        self.tensors.extend(others.tensors);
        self.unreadable.extend(others.unreadable);
    }

    /// Whether no other program has written to the files since they were opened.
    #[cfg(feature = "gpu")]
    pub(crate) fn are_unchanged(&self) -> bool {
        self.tensors.values().all(|tensor| tensor.source.is_unchanged())
    }

    /// Takes matrices from a file of packed weights, as far as it has them.
    pub(crate) fn set_packed(&mut self, packed: Arc<PackedWeights>) {
        self.packed = Some(packed);
    }

    /// The packed matrix, if there is one.
    ///
    /// # Errors
    /// As [`blocks`](Self::blocks), and for packed weights of another model.
    pub(crate) fn packed(&self, place: &MatrixPlace<'_>) -> Result<Option<(&PackedWeights, &PackedMatrix)>> {
        let found = || {
            let packed = self.packed.as_deref()?;
            Some((packed, packed.matrix(place.name, place.first_row())?))
        };
        let Some((packed, matrix)) = found() else { return Ok(None) };
        self.blocks(place)?;
        if matrix.shape != place.shape {
            let (name, shape, found) = (self.file_name(place.name), place.shape, matrix.shape);
            let message = format!("the packed weights of tensor {name} must have shape {shape:?}, found {found:?}");
            return Err(SdkError::new(ErrorKind::ModelLoad, message));
        }
        Ok(Some((packed, matrix)))
    }

    /// Whether packed matrices that are mapped are to be copied later.
    pub(crate) fn copies_packed(&self) -> bool {
        self.packed.as_ref().is_some_and(|packed| packed.copies())
    }

    /// Records the name that a tensor has, or would have, in the files.
    pub(crate) fn name_in_files(&mut self, name: String, in_files: String) {
        self.file_names.insert(name, in_files);
    }

    /// Records a tensor of a type that is not supported.
    pub(crate) fn insert_unreadable(&mut self, name: String, found: String) {
        self.unreadable.insert(name, found);
    }

    /// The tensor's name in the files.
    pub(crate) fn file_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.file_names.get(name).map_or(name, String::as_str)
    }

    /// The shape of a tensor, outermost first; `None` when there is no such tensor.
    pub(crate) fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|tensor| tensor.shape.as_slice())
    }

    /// Whether the tensor's blocks have been handed out.
    pub(crate) fn is_read(&self, name: &str) -> bool {
        self.tensors.get(name).is_some_and(|tensor| tensor.is_read.load(Ordering::Relaxed))
    }

    /// All tensors, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = TensorDescription<'_>> {
        self.tensors.iter().map(|(name, tensor)| TensorDescription {
            name,
            tensor_type: tensor.tensor_type,
            shape: &tensor.shape,
            n_bytes: tensor.source.n_bytes(),
        })
    }

    /// The values of a tensor of this shape.
    pub(crate) fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        self.expect(name, shape)?;
        self.blocks_of(name)?.values()
    }

    /// The blocks of a matrix.
    pub(crate) fn blocks<'a>(&'a self, place: &MatrixPlace<'a>) -> Result<TensorBlocks<'a>> {
        self.expect(place.name, &place.tensor_shape())?;
        let mut blocks = self.blocks_of(place.name)?;
        blocks.bytes = place.bytes_of(blocks.n_bytes());
        Ok(blocks)
    }

    /// The blocks of a tensor.
    pub(crate) fn blocks_of<'a>(&'a self, name: &'a str) -> Result<TensorBlocks<'a>> {
        let tensor = self.tensors.get(name).ok_or_else(|| self.missing(name))?;
        tensor.is_read.store(true, Ordering::Relaxed);
        Ok(TensorBlocks {
            name: self.file_name(name),
            tensor_type: tensor.tensor_type,
            bytes: 0..tensor.source.n_bytes(),
            source: &tensor.source,
        })
    }

    /// A matrix of this shape whose rows are read from the file when they are needed.
    pub(crate) fn row_table(&self, name: &str, shape: (usize, usize)) -> Result<RowTable> {
        self.expect(name, &[shape.0, shape.1])?;
        match self.tensors.get(name) {
            Some(Tensor { source: TensorSource::File(file), is_read, .. }) => {
                is_read.store(true, Ordering::Relaxed);
                Ok(RowTable::new(file.clone(), shape.0))
            }
            _ => Err(self.missing(name)),
        }
    }

    fn expect(&self, name: &str, shape: &[usize]) -> Result<()> {
        match self.shape(name) {
            Some(found) if found == shape => Ok(()),
            Some(found) => Err(SdkError::new(
                ErrorKind::ModelLoad,
                format!("tensor {} must have shape {shape:?}, found {found:?}", self.file_name(name)),
            )),
            None => Err(self.missing(name)),
        }
    }

    /// The error for a needed tensor that does not exist, or has a type that cannot be read.
    pub(crate) fn missing(&self, name: &str) -> SdkError {
        let message = match self.unreadable.get(name) {
            Some(found) => format!("tensor {} is of type {found}, which is not supported", self.file_name(name)),
            None => format!("tensor {} is missing", self.file_name(name)),
        };
        SdkError::new(ErrorKind::ModelLoad, message)
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
