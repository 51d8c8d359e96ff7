//! Model files, read part by part or mapped.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use memmap2::{Mmap, MmapOptions};

/// An open file of weights. Reading copies: if another program truncates or overwrites the file in the meantime, reading
/// returns an error, where access to a mapped file may end the process ([`map`](Self::map)).
///
/// ```
/// let path = std::env::temp_dir().join("causerie-model-file-example");
/// std::fs::write(&path, b"GGUF and more")?;
/// let file = causerie_backend::ModelFile::open(&path)?;
/// assert_eq!((file.n_bytes(), file.read(0..4)?), (13, b"GGUF".to_vec()));
/// std::fs::write(&path, b"GG")?;
/// assert!(file.read(0..4).is_err() && !file.is_unchanged());
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct ModelFile {
    file: Arc<File>,
    /// Where it begins in the file on disk, of which it may be a part.
    start: usize,
    n_bytes: usize,
    /// Length of the file on disk.
    file_bytes: usize,
    modified: Option<SystemTime>,
}

impl ModelFile {
    /// Opens a file for reading. Only regular files are accepted, because a pipe or a device could block the caller or
    /// never end.
    pub fn open(path: &Path) -> io::Result<Self> {
        // Checked before opening: opening a pipe without a writer would block.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "must be a regular file"));
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let n_bytes =
            usize::try_from(metadata.len()).map_err(|_| io::Error::other("the file must fit the address space"))?;
        Ok(Self { file: Arc::new(file), start: 0, n_bytes, file_bytes: n_bytes, modified: last_write(&metadata) })
    }

    /// A byte range, which must lie within the file, as a file of its own.
    ///
    /// ```
    /// # let path = std::env::temp_dir().join("causerie-model-file-slice");
    /// std::fs::write(&path, b"before GGUF after")?;
    /// let part = causerie_backend::ModelFile::open(&path)?.slice(7..11)?;
    /// assert_eq!((part.n_bytes(), part.read(0..4)?), (4, b"GGUF".to_vec()));
    /// assert!(part.read(0..5).is_err());
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn slice(&self, range: Range<usize>) -> io::Result<Self> {
        if range.end < range.start || self.n_bytes < range.end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (file, start) = (Arc::clone(&self.file), self.start + range.start); // at most file_bytes
        Ok(Self { file, start, n_bytes: range.len(), file_bytes: self.file_bytes, modified: self.modified })
    }

    /// Length of the file in bytes when it was opened.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Time of the last write before the file was opened; `None` if the system does not report it.
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// Reads a byte range, which must lie within the file.
    pub fn read(&self, range: Range<usize>) -> io::Result<Vec<u8>> {
        if range.end < range.start || self.n_bytes < range.end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(range.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        bytes.resize(range.len(), 0);
        self.read_into(range.start, &mut bytes)?;
        Ok(bytes)
    }

    /// Fills a buffer with the bytes from `start` on, which must lie within the file.
    pub fn read_into(&self, start: usize, bytes: &mut [u8]) -> io::Result<()> {
        if start.checked_add(bytes.len()).is_none_or(|end| self.n_bytes < end) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read_at(&self.file, bytes, (self.start + start) as u64) // usize has at most 64 bits
    }

    /// Maps the file for reading: no byte is copied, and processes that map the same file share its memory.
    ///
    /// A program that overwrites the file changes the bytes that are read; one that truncates it makes reading end the process on
    /// Unix (on Windows, a mapped file cannot be truncated). [`is_unchanged`](Self::is_unchanged) finds out whether one has.
    ///
    /// ```
    /// # let path = std::env::temp_dir().join("causerie-model-file-map");
    /// std::fs::write(&path, b"before GGUF after")?;
    /// let part = causerie_backend::ModelFile::open(&path)?.slice(7..17)?.map()?;
    /// assert_eq!(part.bytes(), b"GGUF after");
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn map(&self) -> io::Result<MappedFile> {
        if self.n_bytes == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "an empty file cannot be mapped"));
        }
        if !self.is_unchanged() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file changed since it was opened"));
        }
        // SAFETY: the range lies in the file, as it was a moment ago. The file is opened for reading only, and nothing here writes
        // to it. Another program may: kernels compute any bytes without reading outside of the range, and the documentation
        // above says what truncation does.
        let map = unsafe { MmapOptions::new().offset(self.start as u64).len(self.n_bytes).map(&*self.file)? };
        Ok(MappedFile { map: Arc::new(map), bytes: 0..self.n_bytes })
    }

    /// Whether length and modification time have not changed since the file was opened.
    pub fn is_unchanged(&self) -> bool {
        let now = self.file.metadata();
        now.is_ok_and(|now| now.len() == self.file_bytes as u64 && last_write(&now) == self.modified)
    }
}

/// A byte range of a mapped file. Clones share the mapping.
#[derive(Clone)]
pub struct MappedFile {
    map: Arc<Mmap>,
    bytes: Range<usize>,
}

impl MappedFile {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map[self.bytes.clone()]
    }

    /// A byte range, which must lie within this one.
    pub fn slice(&self, range: Range<usize>) -> io::Result<Self> {
        if range.end < range.start || self.bytes.len() < range.end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let start = self.bytes.start;
        Ok(Self { map: Arc::clone(&self.map), bytes: start + range.start..start + range.end })
    }

    /// Reports that these bytes will not be read soon, so that the system may drop them from the process's memory.
    pub(crate) fn release(&self) {
        #[cfg(unix)]
        {
            // The first and the last page may hold bytes of others, which are read from the file again.
            // SAFETY: the mapping is shared and read-only, so that dropped pages have the same content when they are read again.
            let advised = unsafe {
                self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, self.bytes.start, self.bytes.len())
            };
            drop(advised); // it is advice
        }
    }
}

/// Reads without moving the file's cursor, so that several threads can read at once.
#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut start: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, start)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => (bytes, start) = (&mut bytes[n..], start + n as u64),
        }
    }
    Ok(())
}

/// Time of the last write; `None` if the system does not report it.
fn last_write(metadata: &Metadata) -> Option<SystemTime> {
    metadata.modified().ok()
}
