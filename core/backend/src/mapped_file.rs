//! Files read in place, without a copy in memory.

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;

/// A file whose bytes are read in place.
///
/// ```
/// let path = std::env::temp_dir().join("causerie-mapped-file-example");
/// std::fs::write(&path, b"GGUF")?;
/// assert_eq!(causerie_backend::MappedFile::open(&path)?.bytes(), b"GGUF");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct MappedFile {
    map: Mmap,
}

impl MappedFile {
    /// Maps the whole file for reading. Anything that is not an ordinary file is refused, so that a pipe or a device
    /// can neither block the caller nor grow without end.
    pub fn open(path: &Path) -> io::Result<Self> {
        // Asked before opening: to open a pipe that nobody writes to would block.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an ordinary file"));
        }
        let file = File::open(path)?;
        // SAFETY: the map is read-only and handed out as bytes, for which every value is valid; readers check what they
        // make of them. That no other program changes the file while it is mapped is for its owner to see to: models
        // are replaced by renaming. docs/adr/0002 says what happens to one that is cut short.
        let map = unsafe { Mmap::map(&file) }?;
        Ok(Self { map })
    }

    /// The content of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }
}
