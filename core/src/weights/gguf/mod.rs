//! GGUF files: metadata and tensors in one file, or the tensors in several.

mod header;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use causerie_backend::ModelFile;

use crate::error::{Result, SdkError};
use crate::weights::tensors::{Content, Part, Stated, unreadable};

use header::{Cursor, Header, LONGEST_HEADER, TensorEntry, ValueEntry, ValueType, broken, width};

/// Bytes of a file that are read at first, to find its header: more than most headers have.
const FIRST_READ: usize = 4 << 20;

/// Files that a model may be split into.
const MOST_PARTS: usize = 1000;

/// An open GGUF file whose header has been checked.
pub(crate) struct GgufFile {
    /// The beginning of the file, or of the first one, with all of the header.
    head: Vec<u8>,
    values: HashMap<String, ValueEntry>,
    contents: Vec<Content>,
    /// Each with the number of its content.
    tensors: HashMap<String, (usize, TensorEntry)>,
}

impl GgufFile {
    /// Opens a file, or all those that a model is split into, whichever of them is named.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = Self::open_one(path)?;
        let Some(n_parts) = file.n_parts()? else { return Ok(file) };
        let paths = paths_of_parts(path, n_parts).ok_or_else(|| {
            broken(format!(
                "{} is one of {n_parts} files of a model, but is not called …-00001-of-{n_parts:05}.gguf",
                path.display()
            ))
        })?;
        let mut parts = paths.iter().map(|path| Self::open_one(path));
        let mut whole = parts.next().unwrap_or(Ok(file))?;
        for (part, path) in parts.zip(&paths[1..]) {
            whole.add(part?, path)?;
        }
        Ok(whole)
    }

    /// Of how many files this is one, if of more than one.
    fn n_parts(&self) -> Result<Option<usize>> {
        let n_parts = self.count("split.count")?.filter(|n_parts| 1 < *n_parts);
        match n_parts {
            Some(MOST_PARTS..) => Err(broken("the model is split into too many files")),
            n_parts => Ok(n_parts),
        }
    }

    fn add(&mut self, part: Self, path: &Path) -> Result<()> {
        for (name, (_, tensor)) in part.tensors {
            if self.tensors.insert(name.clone(), (self.contents.len(), tensor)).is_some() {
                return Err(broken(format!("tensor {name} stands twice, also in {}", path.display())));
            }
        }
        self.contents.extend(part.contents);
        Ok(())
    }

    fn open_one(path: &Path) -> Result<Self> {
        let file = ModelFile::open(path).map_err(unreadable(path))?;
        let placed = |err: SdkError| SdkError::new(err.kind(), path.display().to_string()).caused_by(err);
        let most = file.n_bytes().min(LONGEST_HEADER);
        let mut length = most.min(FIRST_READ);
        loop {
            let head = file.read(0..length).map_err(unreadable(path))?;
            let mut cursor = Cursor::new(&head);
            match Header::read(&mut cursor, file.n_bytes()) {
                Ok(header) => {
                    return Ok(Self::of(Content::OnDisk(file), head, header));
                }
                // What has been read ended, not the file.
                Err(_) if length < most && cursor.wanted().is_some_and(|wanted| wanted <= most) => {
                    length = most.min(8 * length.max(cursor.wanted().unwrap_or_default() / 8));
                }
                Err(err) => return Err(placed(err)),
            }
        }
    }

    pub(crate) fn from_bytes(bytes: Cow<'static, [u8]>) -> Result<Self> {
        let mut cursor = Cursor::new(&bytes[..bytes.len().min(LONGEST_HEADER)]);
        let header = Header::read(&mut cursor, bytes.len())?;
        // Not the whole: an owned file would be in memory twice.
        let head = bytes[..cursor.at()].to_vec();
        let file = Self::of(Content::InMemory(bytes), head, header);
        match file.n_parts()? {
            Some(n_parts) => Err(broken(format!("the model is split into {n_parts} files, of which this is one"))),
            None => Ok(file),
        }
    }

    fn of(content: Content, head: Vec<u8>, header: Header) -> Self {
        let tensors = header.tensors.into_iter().map(|(name, tensor)| (name, (0, tensor))).collect();
        Self { head, values: header.values, contents: vec![content], tensors }
    }

    /// Whether no other program has written to the file since it was opened.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.contents.iter().all(Content::is_unchanged)
    }

    /// A whole number of any width, if the key is there.
    pub(crate) fn integer(&self, key: &str) -> Result<Option<i64>> {
        self.value(key, "a whole number", |value_type, cursor| read_integer(value_type, cursor))
    }

    /// A count or id, if the key is there.
    pub(crate) fn count(&self, key: &str) -> Result<Option<usize>> {
        let count = self.integer(key)?.map(usize::try_from).transpose();
        count.map_err(|_| broken(format!("metadata {key} is negative")))
    }

    pub(crate) fn float(&self, key: &str) -> Result<Option<f32>> {
        self.value(key, "a number", |value_type, cursor| match value_type {
            ValueType::F32 => Ok(Some(f32::from_bits(cursor.u32()?))),
            ValueType::F64 => Ok(Some(f64::from_bits(cursor.u64()?) as f32)), // rounding is fine for settings
            _ => Ok(None),
        })
    }

    pub(crate) fn boolean(&self, key: &str) -> Result<Option<bool>> {
        self.value(key, "true or false", |value_type, cursor| match value_type {
            ValueType::Bool => Ok(Some(cursor.take(1)? != [0])),
            _ => Ok(None),
        })
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&str>> {
        self.value(key, "UTF-8 text", |value_type, cursor| match value_type {
            ValueType::String => Ok(std::str::from_utf8(cursor.string()?).ok()),
            _ => Ok(None),
        })
    }

    /// Whole numbers of any width, one or an array of them.
    pub(crate) fn integers(&self, key: &str) -> Result<Option<Vec<i64>>> {
        self.value(key, "whole numbers", |value_type, cursor| match value_type {
            ValueType::Array => read_array(cursor, read_integer),
            single => Ok(read_integer(single, cursor)?.map(|integer| vec![integer])),
        })
    }

    /// Numbers of an array of f32.
    pub(crate) fn numbers(&self, key: &str) -> Result<Option<Vec<f32>>> {
        self.value(key, "an array of numbers", |value_type, cursor| match value_type {
            ValueType::Array => read_array(cursor, |element, cursor| match element {
                ValueType::F32 => Ok(Some(f32::from_bits(cursor.u32()?))),
                _ => Ok(None),
            }),
            _ => Ok(None),
        })
    }

    /// The byte strings of an array. Vocabularies may hold tokens that are no UTF-8.
    pub(crate) fn byte_strings(&self, key: &str) -> Result<Option<Vec<&[u8]>>> {
        self.value(key, "an array of texts", |value_type, cursor| match value_type {
            ValueType::Array => read_array(cursor, |element, cursor| match element {
                ValueType::String => cursor.string().map(Some),
                _ => Ok(None),
            }),
            _ => Ok(None),
        })
    }

    /// True or false, of an array; numbers count as true unless 0.
    pub(crate) fn booleans(&self, key: &str) -> Result<Option<Vec<bool>>> {
        self.value(key, "an array of true and false", |value_type, cursor| match value_type {
            ValueType::Array => read_array(cursor, |element, cursor| match element {
                ValueType::Bool => cursor.take(1).map(|byte| Some(byte != [0])),
                number => Ok(read_integer(number, cursor)?.map(|number| number != 0)),
            }),
            _ => Ok(None),
        })
    }

    fn value<'a, T>(
        &'a self,
        key: &str,
        expected: &str,
        read: impl Fn(ValueType, &mut Cursor<'a>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let Some(entry) = self.values.get(key) else {
            return Ok(None);
        };
        let mut cursor = Cursor::new(&self.head[entry.bytes.clone()]);
        match read(entry.value_type, &mut cursor)? {
            Some(value) => Ok(Some(value)),
            None => Err(broken(format!("metadata {key} is not {expected}"))),
        }
    }

    pub(crate) fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|(_, tensor)| tensor.shape.as_slice())
    }

    pub(crate) fn tensors(&self) -> impl Iterator<Item = Stated<'_>> {
        let tensors = self.tensors.values();
        tensors.map(|(_, tensor)| Stated {
            tensor_type: tensor.tensor_type,
            shape: &tensor.shape,
            n_bytes: tensor.bytes.len(),
        })
    }

    pub(in crate::weights) fn part(&self, name: &str) -> Option<Part<'_>> {
        let (content, tensor) = self.tensors.get(name)?;
        Some(Part { tensor_type: tensor.tensor_type, bytes: tensor.bytes.clone(), content: &self.contents[*content] })
    }
}

/// Where all files of a split model lie, by the name of one of them, `NAME-00002-of-00003.gguf`.
fn paths_of_parts(path: &Path, n_parts: usize) -> Option<Vec<PathBuf>> {
    let name = path.file_name()?.to_str()?;
    let (name, number) = name.strip_suffix(&format!("-of-{n_parts:05}.gguf"))?.rsplit_once('-')?;
    (number.len() == 5 && number.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| (1..=n_parts).map(|at| path.with_file_name(format!("{name}-{at:05}-of-{n_parts:05}.gguf"))).collect())
}

fn read_integer(value_type: ValueType, cursor: &mut Cursor<'_>) -> Result<Option<i64>> {
    use ValueType::{I8, I16, I32, I64, U8, U16, U32, U64};
    if !matches!(value_type, U8 | I8 | U16 | I16 | U32 | I32 | U64 | I64) {
        return Ok(None);
    }
    let taken = cursor.take(width(value_type).unwrap_or_default())?;
    let is_negative = matches!(value_type, I8 | I16 | I32 | I64) && taken.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut bytes = [if is_negative { 0xFF } else { 0 }; 8];
    bytes[..taken.len()].copy_from_slice(taken);
    let integer = i64::from_le_bytes(bytes);
    Ok((value_type != U64 || 0 <= integer).then_some(integer))
}

fn read_array<'a, T>(
    cursor: &mut Cursor<'a>,
    read: impl Fn(ValueType, &mut Cursor<'a>) -> Result<Option<T>>,
) -> Result<Option<Vec<T>>> {
    let (element, length) = cursor.array_head()?;
    (0..length).map(|_| read(element, cursor)).collect()
}
