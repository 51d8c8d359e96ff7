//! Files of which parts are read where they are asked for.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

/// An open file of weights. What is read of it is a copy: a file that another program cuts short or writes over in the
/// meantime gives an error, where one that is mapped would end the process.
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
    file: File,
    n_bytes: usize,
    modified: Option<SystemTime>,
}

impl ModelFile {
    /// Opens a file for reading. Anything that is not an ordinary file is refused, so that a pipe or a device can neither
    /// block the caller nor grow without end.
    pub fn open(path: &Path) -> io::Result<Self> {
        // Asked before opening: to open a pipe that nobody writes to would block.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an ordinary file"));
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let n_bytes = usize::try_from(metadata.len()).map_err(|_| io::Error::other("larger than the address space"))?;
        Ok(Self { file, n_bytes, modified: modified(&metadata) })
    }

    /// Bytes of the file when it was opened.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Reads a part of the file, which must lie within it.
    pub fn read(&self, range: Range<usize>) -> io::Result<Vec<u8>> {
        if range.end < range.start || self.n_bytes < range.end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; range.len()];
        read_at(&self.file, &mut bytes, range.start as u64)?; // usize has at most 64 bits
        Ok(bytes)
    }

    /// Whether the file is as long as when it was opened, and was not written to since, as far as the system tells.
    pub fn is_unchanged(&self) -> bool {
        let now = self.file.metadata();
        now.is_ok_and(|now| now.len() == self.n_bytes as u64 && modified(&now) == self.modified)
    }
}

/// Without a place of its own in the file, so that several threads can read at once.
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

/// `None` on systems that do not know.
fn modified(metadata: &Metadata) -> Option<SystemTime> {
    metadata.modified().ok()
}
