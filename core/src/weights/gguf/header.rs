//! Reads the header of a GGUF file and checks every number in it, since no later reader does.
//!
//! Format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>. Values are not copied: the header keeps the place of
//! each, and their count is limited, so that no file makes the reader allocate more than some MiB.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::tensor_type::TensorType;

/// Real headers have a few MiB, most of it vocabulary.
pub(super) const MAX_HEADER: usize = 64 << 20;
/// Real files have some hundred values and some thousand tensors.
const MAX_ENTRIES: u64 = 1 << 16;
const MAX_ARRAY_DEPTH: usize = 4;
const MAX_ALIGNMENT: u64 = 1 << 20;

/// The type of a metadata value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64,
}

impl ValueType {
    /// The types by their number in files.
    const ALL: [Self; 13] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::F32,
        Self::Bool,
        Self::String,
        Self::Array,
        Self::U64,
        Self::I64,
        Self::F64,
    ];

    /// The type's number in files.
    pub(super) fn number(self) -> u32 {
        self as u32 // the variants are in this order
    }
}

/// The place of a metadata value in the file.
pub(crate) struct ValueEntry {
    pub(crate) value_type: ValueType,
    pub(crate) bytes: Range<usize>,
}

/// A tensor of the file.
pub(crate) struct TensorEntry {
    pub(crate) tensor_type: TensorType,
    /// Outermost first: `(rows, columns)` for a matrix.
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Range<usize>,
}

/// The content of a file before its weights.
pub(crate) struct Header {
    pub(crate) values: HashMap<String, ValueEntry>,
    pub(crate) tensors: HashMap<String, TensorEntry>,
}

impl Header {
    /// Reads the header at the beginning of a file of this size.
    pub(crate) fn read(reader: &mut HeaderReader<'_>, file_size: usize) -> Result<Self> {
        let (n_tensors, n_values) = read_counts(reader)?;
        let values = read_values(reader, n_values)?;
        let alignment = alignment(reader.bytes, &values)?;
        let entries = read_tensors(reader, n_tensors)?;
        let start = reader.at.next_multiple_of(alignment);
        let tensors = place(entries, start, alignment, file_size)?;
        Ok(Self { values, tensors })
    }
}

/// An error in the content of a file; the caller adds the file's name.
pub(crate) fn broken(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}

/// Reads the beginning of a header: how many tensors and metadata values it has.
fn read_counts(reader: &mut HeaderReader<'_>) -> Result<(u64, u64)> {
    if reader.take(4).ok() != Some(b"GGUF") {
        return Err(broken("not a GGUF file: its first bytes must be GGUF"));
    }
    let version = reader.u32()?;
    if version != 2 && version != 3 {
        return Err(broken(format!("GGUF version must be 2 or 3, little-endian, found {version}")));
    }
    let (n_tensors, n_values) = (reader.u64()?, reader.u64()?);
    if MAX_ENTRIES < n_tensors.max(n_values) {
        return Err(broken(format!(
            "a header must have at most {MAX_ENTRIES} tensors and metadata values, found {n_tensors} and {n_values}"
        )));
    }
    Ok((n_tensors, n_values))
}

/// Visits the metadata values of a header as far as its bytes are here.
pub(super) fn walk_values(reader: &mut HeaderReader<'_>, mut visit: impl FnMut(&str, &ValueEntry)) {
    let Ok((_, n_values)) = read_counts(reader) else { return };
    for _ in 0..n_values {
        let Ok((key, entry)) = read_value(reader) else { return };
        visit(&key, &entry);
    }
}

fn read_value(reader: &mut HeaderReader<'_>) -> Result<(String, ValueEntry)> {
    let key = reader.name("a metadata key")?;
    let value_type = reader.value_type()?;
    let start = reader.at;
    reader.skip_value(value_type, 0)?;
    Ok((key, ValueEntry { value_type, bytes: start..reader.at }))
}

fn read_values(reader: &mut HeaderReader<'_>, count: u64) -> Result<HashMap<String, ValueEntry>> {
    let mut values = HashMap::new();
    for _ in 0..count {
        let (key, entry) = read_value(reader)?;
        if values.insert(key.clone(), entry).is_some() {
            return Err(broken(format!("metadata key {key:?} appears twice")));
        }
    }
    Ok(values)
}

fn alignment(bytes: &[u8], values: &HashMap<String, ValueEntry>) -> Result<usize> {
    let Some(entry) = values.get("general.alignment") else {
        return Ok(32);
    };
    let mut reader = HeaderReader::new(&bytes[entry.bytes.clone()]);
    let alignment = match entry.value_type {
        ValueType::U32 => u64::from(reader.u32()?),
        ValueType::U64 => reader.u64()?,
        other => return Err(broken(format!("general.alignment must be a U32, found {other:?}"))),
    };
    if !alignment.is_power_of_two() || MAX_ALIGNMENT < alignment {
        return Err(broken(format!("general.alignment must be a power of two up to 1 MiB, found {alignment}")));
    }
    Ok(alignment as usize) // at most 1 MiB, as checked
}

/// A tensor as the header describes it, whose place in the file is not checked yet.
struct UncheckedTensor {
    name: String,
    tensor_type: TensorType,
    shape: Vec<usize>,
    offset: usize,
    size: usize,
}

fn read_tensors(reader: &mut HeaderReader<'_>, count: u64) -> Result<Vec<UncheckedTensor>> {
    let mut tensors = Vec::new();
    for _ in 0..count {
        let name = reader.name("a tensor name")?;
        let n_dims = reader.u32()?;
        if !(1..=4).contains(&n_dims) {
            return Err(broken(format!("tensor {name} must have 1 to 4 dimensions, found {n_dims}")));
        }
        let mut shape = Vec::new();
        for _ in 0..n_dims {
            shape.push(reader.length()?);
        }
        shape.reverse(); // the file lists the innermost first
        let tensor_type = TensorType::of_gguf(reader.u32()?)
            .map_err(|unreadable| broken(format!("tensor {name} has type {unreadable}, which is not supported")))?;
        let size = size(&shape, tensor_type).ok_or_else(|| {
            let type_name = tensor_type.name();
            broken(format!("tensor {name} must have whole {type_name} blocks, found shape {shape:?}"))
        })?;
        tensors.push(UncheckedTensor { name, tensor_type, shape, offset: reader.length()?, size });
    }
    Ok(tensors)
}

/// Bytes of a tensor; `None` if a dimension is 0, a product overflows, or rows are not whole blocks.
fn size(shape: &[usize], tensor_type: TensorType) -> Option<usize> {
    let columns = *shape.last()?;
    let elements = shape.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim))?;
    if elements == 0 || !columns.is_multiple_of(tensor_type.block()) {
        return None;
    }
    (elements / tensor_type.block()).checked_mul(tensor_type.block_bytes())
}

/// Checks that every tensor lies in the file, aligned, and overlaps no other.
fn place(
    mut unchecked: Vec<UncheckedTensor>,
    start: usize,
    alignment: usize,
    file_size: usize,
) -> Result<HashMap<String, TensorEntry>> {
    unchecked.sort_by_key(|tensor| tensor.offset);
    let mut tensors = HashMap::new();
    let mut free_from = start;
    for UncheckedTensor { name, tensor_type, shape, offset, size } in unchecked {
        let range = start.checked_add(offset).and_then(|from| Some(from..from.checked_add(size)?));
        let bytes = range.filter(|range| range.end <= file_size).ok_or_else(|| {
            broken(format!("tensor {name} of {size} bytes at offset {offset} must end before the file does"))
        })?;
        if !offset.is_multiple_of(alignment) {
            return Err(broken(format!("tensor {name} must be aligned to {alignment} bytes, found offset {offset}")));
        }
        if bytes.start < free_from {
            return Err(broken(format!("tensor {name} overlaps another")));
        }
        free_from = bytes.end;
        if tensors.insert(name.clone(), TensorEntry { tensor_type, shape, bytes }).is_some() {
            return Err(broken(format!("tensor {name} appears twice")));
        }
    }
    Ok(tensors)
}

/// Reads little-endian values one after the other; the end of the bytes is an error.
pub(crate) struct HeaderReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bytes that were needed, once the bytes have ended early.
    wanted: Option<usize>,
}

impl<'a> HeaderReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, wanted: None }
    }

    /// Bytes that have been read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Bytes that were needed, once the bytes have ended early.
    pub(super) fn wanted(&self) -> Option<usize> {
        self.wanted
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.saturating_add(count);
        if self.bytes.len() < end {
            self.wanted = Some(end);
            return Err(broken(format!("the header ends early, at byte {}", self.at)));
        }
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A number of elements or bytes. No real one exceeds the address space.
    fn length(&mut self) -> Result<usize> {
        let length = self.u64()?;
        usize::try_from(length).map_err(|_| broken(format!("a length must fit into memory, found {length}")))
    }

    pub(crate) fn string(&mut self) -> Result<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    fn name(&mut self, what: &str) -> Result<String> {
        let name = std::str::from_utf8(self.string()?).ok();
        let name = name.filter(|name| !name.is_empty() && !name.contains('\0'));
        Ok(name.ok_or_else(|| broken(format!("{what} must be UTF-8 text without NUL, and not empty")))?.to_owned())
    }

    pub(crate) fn value_type(&mut self) -> Result<ValueType> {
        let number = self.u32()?;
        let known = usize::try_from(number).ok().and_then(|number| ValueType::ALL.get(number));
        known.copied().ok_or_else(|| broken(format!("metadata type must be below 13, found {number}")))
    }

    /// The element type and length of an array, whose elements follow.
    pub(crate) fn array_head(&mut self) -> Result<(ValueType, usize)> {
        Ok((self.value_type()?, self.length()?))
    }

    fn skip_value(&mut self, value_type: ValueType, depth: usize) -> Result<()> {
        match value_type {
            ValueType::String => self.string().map(drop),
            ValueType::Array if depth == MAX_ARRAY_DEPTH => Err(broken("metadata arrays must nest at most 4 deep")),
            ValueType::Array => {
                let (element, length) = self.array_head()?;
                match width(element) {
                    Some(width) => {
                        let size = length.checked_mul(width).ok_or_else(|| broken("an array must fit into memory"))?;
                        self.take(size).map(drop)
                    }
                    // Each element takes bytes of the header, so the end of the header bounds this loop.
                    None => (0..length).try_for_each(|_| self.skip_value(element, depth + 1)),
                }
            }
            scalar => self.take(width(scalar).unwrap_or_default()).map(drop),
        }
    }
}

/// Bytes of a value, for types of fixed size.
pub(crate) fn width(value_type: ValueType) -> Option<usize> {
    use ValueType::{Array, Bool, F32, F64, I8, I16, I32, I64, String, U8, U16, U32, U64};
    match value_type {
        U8 | I8 | Bool => Some(1),
        U16 | I16 => Some(2),
        U32 | I32 | F32 => Some(4),
        U64 | I64 | F64 => Some(8),
        String | Array => None,
    }
}
