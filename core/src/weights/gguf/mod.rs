//! GGUF files: metadata and tensors in one file, or tensors spread over several files.

mod header;
mod layout;
mod metadata_value;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Result, SdkError};
use crate::weights::content::{Content, unreadable};
use crate::weights::identity::FileIdentity;
use crate::weights::origin::ModelOrigin;
use crate::weights::packed::{PackedFile, StoredHeader};
use crate::weights::source::{FileBytes, TensorSource};
use crate::weights::tensors::{Tensor, TensorDescription};

pub(crate) use layout::{TensorLayout, gguf_header, padding};
pub(crate) use metadata_value::MetadataValue;

use header::{Header, HeaderReader, MAX_HEADER, TensorEntry, ValueEntry, ValueType, broken, width};

/// Bytes of a file that are read first, to find its header: more than most headers have.
const FIRST_READ: usize = 4 << 20;

/// Files that a model may be split into.
const MAX_PARTS: usize = 1000;

/// An open GGUF file whose header has been checked.
pub(crate) struct GgufFile {
    /// The beginning of the file, or of the first one, with all of the header.
    head: Vec<u8>,
    values: HashMap<String, ValueEntry>,
    contents: Vec<Arc<Content>>,
    /// `None` for a file in memory.
    path: Option<PathBuf>,
    pub(super) origin: ModelOrigin,
    /// Each with the index of its content.
    tensors: HashMap<String, (usize, TensorEntry)>,
    /// The file of packed weights that was opened instead of GGUF files, and has their headers.
    packed: Option<Arc<PackedFile>>,
}

impl GgufFile {
    /// Opens a file, or all files that a model is split into, if `path` is one of them.
    pub(crate) fn open(path: &Path, origin: ModelOrigin) -> Result<Self> {
        let whole = Self::open_parts(path, &origin)?;
        Ok(Self { path: Some(path.to_owned()), origin, ..whole })
    }

    /// The file of packed weights that was opened.
    pub(crate) fn packed(&self) -> Option<&Arc<PackedFile>> {
        self.packed.as_ref()
    }

    /// Reads the headers in a file of packed weights. The matrices that it has packed are nowhere else.
    fn of_packed(packed: PackedFile) -> Result<Self> {
        let cut = |err| broken("it ends early").caused_by(err);
        let mut whole: Option<Self> = None;
        for StoredHeader { bytes, file_length } in packed.headers().map_err(cut)? {
            let file = Self::of_head(bytes, file_length)?;
            match &mut whole {
                None => whole = Some(file),
                Some(whole) => whole.add(file, Path::new("another header"))?,
            }
        }
        let mut whole = whole.ok_or_else(|| {
            broken("it has the packed weights of another file, which must be loaded instead with this folder of packed weights")
        })?;
        let content = whole.contents.len();
        whole.contents.push(Arc::new(Content::OnDisk(packed.content().map_err(cut)?)));
        for (name, bytes) in packed.tensors() {
            match whole.tensors.get_mut(name) {
                Some((place, tensor)) if tensor.bytes.len() == bytes.len() => {
                    *place = content;
                    tensor.bytes = bytes;
                }
                _ => return Err(broken(format!("tensor {name} must have the size that its header states"))),
            }
        }
        Ok(Self { packed: Some(Arc::new(packed)), ..whole })
    }

    /// The path that the file was opened by.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The paths of all files of the model, in order; empty for a file in memory.
    pub(crate) fn paths(&self) -> Result<Vec<PathBuf>> {
        match (self.path(), self.n_parts()?) {
            (Some(path), Some(n_parts)) if self.packed.is_none() => paths_of_parts(path, n_parts),
            (path, _) => Ok(path.map(Path::to_owned).into_iter().collect()),
        }
    }

    fn open_parts(path: &Path, origin: &ModelOrigin) -> Result<Self> {
        let file = Self::open_one(path, origin)?;
        let Some(n_parts) = file.n_parts()?.filter(|_| file.packed.is_none()) else { return Ok(file) };
        let paths = paths_of_parts(path, n_parts)?;
        let mut parts = paths.iter().map(|path| Self::open_one(path, origin));
        let mut whole = parts.next().unwrap_or(Ok(file))?;
        for (part, path) in parts.zip(&paths[1..]) {
            whole.add(part?, path)?;
        }
        Ok(whole)
    }

    /// The number of files that the model is split into; `None` for a single file.
    fn n_parts(&self) -> Result<Option<usize>> {
        let n_parts = self.count("split.count")?.filter(|n_parts| 1 < *n_parts);
        match n_parts {
            Some(MAX_PARTS..) => Err(broken("a model must be split into fewer than 1000 files")),
            n_parts => Ok(n_parts),
        }
    }

    fn add(&mut self, part: Self, path: &Path) -> Result<()> {
        for (name, (_, tensor)) in part.tensors {
            if self.tensors.insert(name.clone(), (self.contents.len(), tensor)).is_some() {
                return Err(broken(format!("tensor {name} appears twice, also in {}", path.display())));
            }
        }
        self.contents.extend(part.contents);
        Ok(())
    }

    fn open_one(path: &Path, origin: &ModelOrigin) -> Result<Self> {
        let file = origin.open(path).map_err(unreadable(path))?;
        let with_path = |err: SdkError| SdkError::new(err.kind(), path.display().to_string()).caused_by(err);
        if let Some(packed) = PackedFile::recognise(&file).map_err(with_path)? {
            return Self::of_packed(packed).map_err(with_path);
        }
        let most = file.n_bytes().min(MAX_HEADER);
        let mut length = most.min(FIRST_READ);
        loop {
            let head = file.read(0..length).map_err(unreadable(path))?;
            let mut reader = HeaderReader::new(&head);
            match Header::read(&mut reader, file.n_bytes()) {
                Ok(header) => {
                    return Ok(Self::new(Content::OnDisk(file), head, header));
                }
                // The bytes read so far have ended, not the file.
                Err(_) if length < most && reader.wanted().is_some_and(|wanted| wanted <= most) => {
                    length = most.min(8 * length.max(reader.wanted().unwrap_or_default() / 8));
                }
                Err(err) => return Err(with_path(err)),
            }
        }
    }

    pub(crate) fn from_bytes(bytes: Cow<'static, [u8]>, origin: ModelOrigin) -> Result<Self> {
        let mut reader = HeaderReader::new(&bytes[..bytes.len().min(MAX_HEADER)]);
        let header = Header::read(&mut reader, bytes.len())?;
        // Only the header: an owned file would be in memory twice.
        let head = bytes[..reader.at()].to_vec();
        let file = Self { origin, ..Self::new(Content::InMemory(bytes), head, header) };
        match file.n_parts()? {
            Some(n_parts) => Err(broken(format!("a model in memory must be one file, found one of {n_parts} files"))),
            None => Ok(file),
        }
    }

    /// Reads the header of a file of this size, of which only the beginning is here.
    pub(crate) fn of_head(head: Vec<u8>, file_size: usize) -> Result<Self> {
        let header = Header::read(&mut HeaderReader::new(&head), file_size)?;
        Ok(Self::new(Content::Elsewhere, head, header))
    }

    fn new(content: Content, head: Vec<u8>, header: Header) -> Self {
        let tensors = header.tensors.into_iter().map(|(name, tensor)| (name, (0, tensor))).collect();
        Self {
            head,
            values: header.values,
            contents: vec![Arc::new(content)],
            path: None,
            origin: ModelOrigin::Disk,
            tensors,
            packed: None,
        }
    }

    /// The header of each file.
    ///
    /// # Errors
    /// Errors of reading, and [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for a file in memory.
    pub(crate) fn headers(&self) -> Result<Vec<StoredHeader>> {
        let paths = self.paths()?;
        if paths.is_empty() {
            return Err(broken("the model must be a file, found one in memory"));
        }
        let header = |path: &PathBuf| {
            let file = Self::open_one(path, &self.origin)?;
            let file_length = file.contents.first().map_or(0, |content| content.n_bytes());
            let mut reader = HeaderReader::new(&file.head);
            Header::read(&mut reader, file_length)?;
            Ok(StoredHeader { bytes: file.head[..reader.at()].to_vec(), file_length })
        };
        paths.iter().map(header).collect()
    }

    /// Whether no other program has written to the file since it was opened.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.contents.iter().all(|content| content.is_unchanged())
    }

    /// Adds what the file is recognised by; returns whether all of it is on disk.
    pub(super) fn identify(&self, identity: &mut FileIdentity) -> bool {
        identity.add_header(&self.head);
        self.contents.iter().all(|content| content.identify(identity))
    }

    /// An integer of any width, if the key exists.
    pub(crate) fn integer(&self, key: &str) -> Result<Option<i64>> {
        self.value(key, "an integer", |value_type, reader| read_integer(value_type, reader))
    }

    /// A count or id, if the key exists.
    pub(crate) fn count(&self, key: &str) -> Result<Option<usize>> {
        let count = self.integer(key)?.map(usize::try_from).transpose();
        count.map_err(|_| broken(format!("metadata {key} must be 0 or more")))
    }

    pub(crate) fn float(&self, key: &str) -> Result<Option<f32>> {
        self.value(key, "a number", |value_type, reader| match value_type {
            ValueType::F32 => Ok(Some(f32::from_bits(reader.u32()?))),
            ValueType::F64 => Ok(Some(f64::from_bits(reader.u64()?) as f32)), // rounding is fine for settings
            _ => Ok(None),
        })
    }

    pub(crate) fn boolean(&self, key: &str) -> Result<Option<bool>> {
        self.value(key, "a boolean", |value_type, reader| match value_type {
            ValueType::Bool => Ok(Some(reader.take(1)? != [0])),
            _ => Ok(None),
        })
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&str>> {
        self.value(key, "a UTF-8 string", |value_type, reader| match value_type {
            ValueType::String => Ok(std::str::from_utf8(reader.string()?).ok()),
            _ => Ok(None),
        })
    }

    /// Integers of any width: one, or an array of them.
    pub(crate) fn integers(&self, key: &str) -> Result<Option<Vec<i64>>> {
        self.value(key, "an integer or an array of integers", |value_type, reader| match value_type {
            ValueType::Array => read_array(reader, read_integer),
            single => Ok(read_integer(single, reader)?.map(|integer| vec![integer])),
        })
    }

    /// The values of an array of f32.
    pub(crate) fn numbers(&self, key: &str) -> Result<Option<Vec<f32>>> {
        self.value(key, "an array of F32", |value_type, reader| match value_type {
            ValueType::Array => read_array(reader, |element, reader| match element {
                ValueType::F32 => Ok(Some(f32::from_bits(reader.u32()?))),
                _ => Ok(None),
            }),
            _ => Ok(None),
        })
    }

    /// The strings of an array, as bytes: not all tokens of a vocabulary are UTF-8.
    pub(crate) fn byte_strings(&self, key: &str) -> Result<Option<Vec<&[u8]>>> {
        self.value(key, "an array of strings", |value_type, reader| match value_type {
            ValueType::Array => read_array(reader, |element, reader| match element {
                ValueType::String => reader.string().map(Some),
                _ => Ok(None),
            }),
            _ => Ok(None),
        })
    }

    /// The booleans of an array; integers count as true unless they are 0.
    pub(crate) fn booleans(&self, key: &str) -> Result<Option<Vec<bool>>> {
        self.value(key, "an array of booleans", |value_type, reader| match value_type {
            ValueType::Array => read_array(reader, |element, reader| match element {
                ValueType::Bool => reader.take(1).map(|byte| Some(byte != [0])),
                number => Ok(read_integer(number, reader)?.map(|number| number != 0)),
            }),
            _ => Ok(None),
        })
    }

    fn value<'a, T>(
        &'a self,
        key: &str,
        expected: &str,
        read: impl Fn(ValueType, &mut HeaderReader<'a>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let Some(entry) = self.values.get(key) else {
            return Ok(None);
        };
        let mut reader = HeaderReader::new(&self.head[entry.bytes.clone()]);
        match read(entry.value_type, &mut reader)? {
            Some(value) => Ok(Some(value)),
            None => Err(broken(format!("metadata {key} must be {expected}"))),
        }
    }

    /// All metadata, in the order of the file.
    pub(crate) fn metadata(&self) -> Vec<(&str, MetadataValue)> {
        let mut entries: Vec<_> = self.values.iter().collect();
        entries.sort_by_key(|(_, entry)| entry.bytes.start);
        let copy = |entry: &ValueEntry| MetadataValue::Copy(entry.value_type, self.head[entry.bytes.clone()].to_vec());
        entries.into_iter().map(|(key, entry)| (key.as_str(), copy(entry))).collect()
    }

    /// The names of all tensors, in the order of the files.
    pub(crate) fn tensor_names(&self) -> Vec<&str> {
        let mut tensors: Vec<_> = self.tensors.iter().collect();
        tensors.sort_by_key(|(_, (content, tensor))| (*content, tensor.bytes.start));
        tensors.into_iter().map(|(name, _)| name.as_str()).collect()
    }

    pub(crate) fn tensors(&self) -> impl Iterator<Item = TensorDescription<'_>> {
        let tensors = self.tensors.iter();
        tensors.map(|(name, (_, tensor))| TensorDescription {
            name,
            tensor_type: tensor.tensor_type,
            shape: &tensor.shape,
            n_bytes: tensor.bytes.len(),
        })
    }

    /// All tensors under their names, with their sources.
    pub(crate) fn named_tensors(&self) -> impl Iterator<Item = (String, Tensor)> {
        self.tensors.iter().map(|(name, (content, TensorEntry { tensor_type, bytes, shape, .. }))| {
            let content = Arc::clone(&self.contents[*content]);
            let file = FileBytes { content, bytes: bytes.clone(), tensor_type: *tensor_type };
            (name.clone(), Tensor::new(*tensor_type, shape.clone(), TensorSource::File(file)))
        })
    }
}

/// The paths of all files of a split model, by the name of one of them, `NAME-00002-of-00003.gguf`.
fn paths_of_parts(path: &Path, n_parts: usize) -> Result<Vec<PathBuf>> {
    let stem = || {
        let name = path.file_name()?.to_str()?;
        let (name, number) = name.strip_suffix(&format!("-of-{n_parts:05}.gguf"))?.rsplit_once('-')?;
        (number.len() == 5 && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
    };
    let name = stem().ok_or_else(|| {
        broken(format!(
            "a file of a model in {n_parts} files must be named …-00001-of-{n_parts:05}.gguf, found {}",
            path.display()
        ))
    })?;
    Ok((1..=n_parts).map(|at| path.with_file_name(format!("{name}-{at:05}-of-{n_parts:05}.gguf"))).collect())
}

/// The length of an embedding in a model's header, of which only the beginning is here; `None` if it is not in there.
pub(crate) fn embedding_length(head: &[u8]) -> Option<usize> {
    let mut reader = HeaderReader::new(head);
    let mut found = None;
    header::walk_values(&mut reader, |key, entry| {
        if key.ends_with(".embedding_length") {
            let mut reader = HeaderReader::new(&head[entry.bytes.clone()]);
            found = found.or(read_integer(entry.value_type, &mut reader).ok().flatten());
        }
    });
    usize::try_from(found?).ok()
}

fn read_integer(value_type: ValueType, reader: &mut HeaderReader<'_>) -> Result<Option<i64>> {
    use ValueType::{I8, I16, I32, I64, U8, U16, U32, U64};
    if !matches!(value_type, U8 | I8 | U16 | I16 | U32 | I32 | U64 | I64) {
        return Ok(None);
    }
    let taken = reader.take(width(value_type).unwrap_or_default())?;
    let is_negative = matches!(value_type, I8 | I16 | I32 | I64) && taken.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut bytes = [if is_negative { 0xFF } else { 0 }; 8];
    bytes[..taken.len()].copy_from_slice(taken);
    let integer = i64::from_le_bytes(bytes);
    Ok((value_type != U64 || 0 <= integer).then_some(integer))
}

fn read_array<'a, T>(
    reader: &mut HeaderReader<'a>,
    read: impl Fn(ValueType, &mut HeaderReader<'a>) -> Result<Option<T>>,
) -> Result<Option<Vec<T>>> {
    let (element, length) = reader.array_head()?;
    (0..length).map(|_| read(element, reader)).collect()
}
