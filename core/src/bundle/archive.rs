//! ZIP archives in the form of bundles, and the digests of files.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use crc32fast::Hasher;
use sha2::{Digest, Sha256};

use crate::error::{ErrorKind, Result, SdkError};
use crate::quantise::PartialFile;
use crate::weights::{ALIGNMENT, CENTRAL, END, END_64, LOCAL, LOCAL_LENGTH, LOCATOR_64, WIDE};

/// Bytes that are read at a time.
pub(super) const CHUNK: usize = 1 << 20;
/// The id of the extra field that pads a header; no registered field has it.
const PADDING: u16 = 0x6361;
/// The version of the ZIP format that has sizes of 64 bits.
const VERSION: u16 = 45;

/// Reports how much of the work is done.
pub(super) struct Report<P> {
    pub(super) n_done: u64,
    pub(super) n_total: u64,
    pub(super) progress: P,
}

impl<P: FnMut(f32) -> ControlFlow<()>> Report<P> {
    pub(super) fn add(&mut self, n_bytes: usize) -> Result<()> {
        self.n_done += n_bytes as u64; // usize has at most 64 bits
        match (self.progress)(self.n_done as f32 / self.n_total.max(1) as f32) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(SdkError::new(ErrorKind::LoadCancelled, "the bundle was cancelled")),
        }
    }
}

pub(super) fn unreadable(path: &Path, err: std::io::Error) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, format!("cannot read {}", path.display())).caused_by(err)
}

pub(super) fn read(path: &Path, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut file = File::open(path).map_err(|err| unreadable(path, err))?;
    let mut buffer = vec![0; CHUNK];
    loop {
        match file.read(&mut buffer).map_err(|err| unreadable(path, err))? {
            0 => return Ok(()),
            n_read => take(&buffer[..n_read])?,
        }
    }
}

/// What an archive says about a file.
#[derive(Default)]
pub(super) struct MeasuredFile {
    pub(super) size: u64,
    sha256: Sha256,
    crc: Hasher,
}

impl MeasuredFile {
    pub(super) fn add(&mut self, chunk: &[u8]) {
        self.size += chunk.len() as u64; // usize has at most 64 bits
        self.sha256.update(chunk);
        self.crc.update(chunk);
    }

    pub(super) fn sha256(&self) -> String {
        format!("{:x}", self.sha256.clone().finalize())
    }
}

/// Writes a ZIP archive. All sizes and offsets have 64 bits, so that there is one form for all files.
pub(super) struct ArchiveWriter {
    file: PartialFile,
    length: u64,
    directory: Vec<u8>,
    n_files: u64,
}

impl ArchiveWriter {
    pub(super) fn create(path: &Path) -> Result<Self> {
        Ok(Self { file: PartialFile::create(path)?, length: 0, directory: Vec::new(), n_files: 0 })
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.length += bytes.len() as u64; // usize has at most 64 bits
        self.file.write(bytes)
    }

    /// Writes the header of a file, whose content must follow.
    pub(super) fn begin(&mut self, name: &str, file: &MeasuredFile) -> Result<()> {
        let start = self.length;
        let crc = file.crc.clone().finalize();
        let name_length = name.len() as u16; // a plain path has at most 1024 bytes
        let sizes = wide(&[file.size, file.size]);
        let padding = padding(start + (LOCAL_LENGTH + name.len() + sizes.len()) as u64);
        self.put(&LOCAL.to_le_bytes())?;
        self.put(&common(crc, name_length, (sizes.len() + padding.len()) as u16))?; // below 2 * ALIGNMENT
        self.put(&[name.as_bytes(), &sizes, &padding].concat())?;
        let extra = wide(&[file.size, file.size, start]);
        self.directory.extend([&CENTRAL.to_le_bytes()[..], &VERSION.to_le_bytes()].concat());
        self.directory.extend(common(crc, name_length, extra.len() as u16)); // 28
        self.directory.extend([0; 10]); // comment, disk, attributes
        self.directory.extend(u32::MAX.to_le_bytes());
        self.directory.extend([name.as_bytes(), &extra].concat());
        self.n_files += 1;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        let directory = std::mem::take(&mut self.directory);
        let (start, length, n_files) = (self.length, directory.len() as u64, self.n_files);
        self.put(&directory)?;
        let end = self.length;
        self.put(&END_64.to_le_bytes())?;
        self.put(&44_u64.to_le_bytes())?; // the bytes of this record that follow
        self.put(&[VERSION.to_le_bytes(), VERSION.to_le_bytes(), [0; 2], [0; 2], [0; 2], [0; 2]].concat())?;
        self.put(&[n_files, n_files, length, start].map(u64::to_le_bytes).concat())?;
        self.put(&[&LOCATOR_64.to_le_bytes()[..], &[0; 4], &end.to_le_bytes(), &1_u32.to_le_bytes()].concat())?;
        self.put(&[&END.to_le_bytes()[..], &[0; 4], &[0xFF; 12], &[0; 2]].concat())?;
        self.file.finish()
    }
}

/// What both headers of a file have: version, flags, method, time, checksum, sizes, and the lengths of name and extra fields.
fn common(crc: u32, name_length: u16, extra_length: u16) -> Vec<u8> {
    /// Names are UTF-8.
    const FLAGS: u16 = 1 << 11;
    /// Midnight of 1 January 1980, the first moment that an archive can name: equal files make equal archives.
    const TIME: [u8; 4] = [0, 0, 0x21, 0];
    let head = [VERSION.to_le_bytes(), FLAGS.to_le_bytes(), [0; 2]].concat();
    let lengths = [name_length.to_le_bytes(), extra_length.to_le_bytes()].concat();
    [&head[..], &TIME, &crc.to_le_bytes(), &[0xFF; 8], &lengths].concat()
}

/// The extra field with integers of 64 bits.
fn wide(numbers: &[u64]) -> Vec<u8> {
    let length = size_of_val(numbers) as u16; // two or three
    let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    [&WIDE.to_le_bytes()[..], &length.to_le_bytes(), &numbers].concat()
}

/// The extra field that moves the content after a header to the next multiple of the alignment.
fn padding(header_end: u64) -> Vec<u8> {
    const HEAD: usize = 4;
    let missing = (header_end.next_multiple_of(ALIGNMENT as u64) - header_end) as usize; // below ALIGNMENT
    let n_bytes = if (1..HEAD).contains(&missing) { missing + ALIGNMENT } else { missing };
    let Some(length) = n_bytes.checked_sub(HEAD) else { return Vec::new() };
    let mut field = [PADDING.to_le_bytes(), (length as u16).to_le_bytes()].concat(); // below 2 * ALIGNMENT
    field.resize(n_bytes, 0);
    field
}
