//! Reads the header of a GGUF file and checks every number in it, since no later reader does.
//!
//! Format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>. Values are not copied: the header keeps where
//! each stands, and their count is capped, so that no file makes the reader allocate more than some MiB.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::tensor_type::TensorType;

/// Real headers hold a few MiB, most of it vocabulary.
pub(super) const LONGEST_HEADER: usize = 64 << 20;
/// Real files hold some hundred values, and some thousand tensors.
const MOST_ENTRIES: u64 = 1 << 16;
const DEEPEST_ARRAY: usize = 4;
const LARGEST_ALIGNMENT: u64 = 1 << 20;

/// The kind of a metadata value, by the number that stands in the file.
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

/// Where a metadata value stands in the file.
pub(crate) struct ValueEntry {
    pub(crate) value_type: ValueType,
    pub(crate) bytes: Range<usize>,
}

/// A tensor of the file.
pub(crate) struct TensorEntry {
    pub(crate) tensor_type: &'static TensorType,
    /// Outermost first: `(rows, columns)` for a matrix.
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Range<usize>,
}

/// All that a file says before its weights.
pub(crate) struct Header {
    pub(crate) values: HashMap<String, ValueEntry>,
    pub(crate) tensors: HashMap<String, TensorEntry>,
}

impl Header {
    /// Reads the header at the beginning of a file of so many bytes.
    pub(crate) fn read(cursor: &mut Cursor<'_>, file_size: usize) -> Result<Self> {
        if cursor.take(4).ok() != Some(b"GGUF") {
            return Err(broken("no GGUF file: its first bytes are not GGUF"));
        }
        let version = cursor.u32()?;
        if version != 2 && version != 3 {
            return Err(broken(format!("GGUF version {version} is unknown, expected 2 or 3, little-endian")));
        }
        let (n_tensors, n_values) = (cursor.u64()?, cursor.u64()?);
        if MOST_ENTRIES < n_tensors.max(n_values) {
            return Err(broken(format!("{n_tensors} tensors and {n_values} metadata values are too many")));
        }
        let values = read_values(cursor, n_values)?;
        let alignment = alignment(cursor.bytes, &values)?;
        let entries = read_tensors(cursor, n_tensors)?;
        let start = cursor.at.next_multiple_of(alignment);
        let tensors = place(entries, start, alignment, file_size)?;
        Ok(Self { values, tensors })
    }
}

/// An error of the file's content; the caller adds the file's name.
pub(crate) fn broken(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}

fn read_values(cursor: &mut Cursor<'_>, count: u64) -> Result<HashMap<String, ValueEntry>> {
    let mut values = HashMap::new();
    for _ in 0..count {
        let key = cursor.name("a metadata key")?;
        let value_type = cursor.value_type()?;
        let start = cursor.at;
        cursor.skip_value(value_type, 0)?;
        let entry = ValueEntry { value_type, bytes: start..cursor.at };
        if values.insert(key.clone(), entry).is_some() {
            return Err(broken(format!("metadata key {key:?} stands twice")));
        }
    }
    Ok(values)
}

fn alignment(bytes: &[u8], values: &HashMap<String, ValueEntry>) -> Result<usize> {
    let Some(entry) = values.get("general.alignment") else {
        return Ok(32);
    };
    let mut cursor = Cursor::new(&bytes[entry.bytes.clone()]);
    let alignment = match entry.value_type {
        ValueType::U32 => u64::from(cursor.u32()?),
        ValueType::U64 => cursor.u64()?,
        other => return Err(broken(format!("general.alignment is a {other:?}, expected U32"))),
    };
    if !alignment.is_power_of_two() || LARGEST_ALIGNMENT < alignment {
        return Err(broken(format!("general.alignment is {alignment}, expected a power of two up to 1 MiB")));
    }
    Ok(alignment as usize) // at most 1 MiB, as checked
}

/// A tensor as the header states it, not yet placed in the file.
struct Stated {
    name: String,
    tensor_type: &'static TensorType,
    shape: Vec<usize>,
    offset: usize,
    size: usize,
}

fn read_tensors(cursor: &mut Cursor<'_>, count: u64) -> Result<Vec<Stated>> {
    let mut tensors = Vec::new();
    for _ in 0..count {
        let name = cursor.name("a tensor name")?;
        let n_dims = cursor.u32()?;
        if !(1..=4).contains(&n_dims) {
            return Err(broken(format!("tensor {name} has {n_dims} dimensions, expected 1 to 4")));
        }
        let mut shape = Vec::new();
        for _ in 0..n_dims {
            shape.push(cursor.length()?);
        }
        shape.reverse(); // the file states the innermost first
        let tensor_type = TensorType::of_gguf(cursor.u32()?).map_err(|unread| {
            broken(format!("tensor {name} has quantisation type {unread}, which is not supported"))
        })?;
        let size = size(&shape, tensor_type).ok_or_else(|| {
            let type_name = tensor_type.name;
            broken(format!("tensor {name} of shape {shape:?} does not make whole {type_name} blocks"))
        })?;
        tensors.push(Stated { name, tensor_type, shape, offset: cursor.length()?, size });
    }
    Ok(tensors)
}

/// Bytes of a tensor; `None` when a dimension is 0, a product overflows, or rows do not divide into blocks.
fn size(shape: &[usize], tensor_type: &TensorType) -> Option<usize> {
    let columns = *shape.last()?;
    let elements = shape.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim))?;
    if elements == 0 || !columns.is_multiple_of(tensor_type.block) {
        return None;
    }
    (elements / tensor_type.block).checked_mul(tensor_type.block_bytes)
}

/// Checks that every tensor lies in the file, aligned, and on bytes of its own.
fn place(
    mut stated: Vec<Stated>,
    start: usize,
    alignment: usize,
    file_size: usize,
) -> Result<HashMap<String, TensorEntry>> {
    stated.sort_by_key(|tensor| tensor.offset);
    let mut tensors = HashMap::new();
    let mut free_from = start;
    for Stated { name, tensor_type, shape, offset, size } in stated {
        let range = start.checked_add(offset).and_then(|from| Some(from..from.checked_add(size)?));
        let bytes = range.filter(|range| range.end <= file_size).ok_or_else(|| {
            broken(format!("tensor {name} of {size} bytes at offset {offset} reaches beyond the file's end"))
        })?;
        if !offset.is_multiple_of(alignment) {
            return Err(broken(format!("tensor {name} at offset {offset} is not aligned to {alignment}")));
        }
        if bytes.start < free_from {
            return Err(broken(format!("tensor {name} overlaps another")));
        }
        free_from = bytes.end;
        if tensors.insert(name.clone(), TensorEntry { tensor_type, shape, bytes }).is_some() {
            return Err(broken(format!("tensor {name} stands twice")));
        }
    }
    Ok(tensors)
}

/// Reads little-endian values one after the other; the end of the bytes is an error.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bytes that there should have been, once they ended early.
    wanted: Option<usize>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, wanted: None }
    }

    /// Bytes that have been read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Bytes that there should have been, once they ended early.
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

    /// A count of things or bytes; one beyond the address space cannot be right.
    fn length(&mut self) -> Result<usize> {
        let length = self.u64()?;
        usize::try_from(length).map_err(|_| broken(format!("a length of {length} is too large")))
    }

    pub(crate) fn string(&mut self) -> Result<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    fn name(&mut self, what: &str) -> Result<String> {
        let name = std::str::from_utf8(self.string()?).ok();
        let name = name.filter(|name| !name.is_empty() && !name.contains('\0'));
        Ok(name.ok_or_else(|| broken(format!("{what} is empty or no UTF-8 text")))?.to_owned())
    }

    pub(crate) fn value_type(&mut self) -> Result<ValueType> {
        use ValueType::{Array, Bool, F32, F64, I8, I16, I32, I64, String, U8, U16, U32, U64};
        let types = [U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64];
        let number = self.u32()?;
        let known = usize::try_from(number).ok().and_then(|number| types.get(number));
        known.copied().ok_or_else(|| broken(format!("metadata type {number} is unknown")))
    }

    /// The element type and length of an array, whose elements follow.
    pub(crate) fn array_head(&mut self) -> Result<(ValueType, usize)> {
        Ok((self.value_type()?, self.length()?))
    }

    fn skip_value(&mut self, value_type: ValueType, depth: usize) -> Result<()> {
        match value_type {
            ValueType::String => self.string().map(drop),
            ValueType::Array if depth == DEEPEST_ARRAY => Err(broken("metadata arrays nest too deep")),
            ValueType::Array => {
                let (element, length) = self.array_head()?;
                match width(element) {
                    Some(width) => {
                        let size = length.checked_mul(width).ok_or_else(|| broken("an array is too long"))?;
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

/// Bytes of a value of fixed size.
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
