//! An open file of packed weights, and how its matrices come into memory.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use causerie_backend::{MappedFile, ModelFile};

use crate::error::{ErrorKind, Result, SdkError};
use crate::options::WeightMemory;
use crate::weights::packed::sample::{SAMPLE, SampleHasher};
use crate::weights::packed::section::{SectionBytes, StoredHeader};
use crate::weights::packed::table::{PackedContent, PackedMatrix, PackedPart, RELEASE, broken, is_packed};

/// Bytes that are checked at a time.
const CHUNK: usize = 4 << 20;

/// An open file of packed weights, whose table has been checked.
pub(crate) struct PackedFile {
    file: ModelFile,
    content: PackedContent,
}

impl PackedFile {
    /// Reads the table of a file, and samples of its matrices.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`] for a file that is not one of packed weights, is damaged, or was packed by another release.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let unreadable =
            |err| SdkError::new(ErrorKind::ModelLoad, format!("cannot read {}", path.display())).caused_by(err);
        let with_path = |err: SdkError| SdkError::new(err.kind(), path.display().to_string()).caused_by(err);
        Self::read(ModelFile::open(path).map_err(unreadable)?).map_err(with_path)
    }

    /// As [`open`](Self::open), if the file begins as one of packed weights.
    pub(crate) fn recognise(file: &ModelFile) -> Result<Option<Self>> {
        if !is_packed(file) {
            return Ok(None);
        }
        let whole = file.slice(0..file.n_bytes()).map_err(|err| broken("it ends early").caused_by(err))?;
        Self::read(whole).map(Some)
    }

    pub(super) fn read(file: ModelFile) -> Result<Self> {
        let packed = Self { content: PackedContent::read(&file)?, file };
        for (tensor, matrices) in &packed.content.matrices {
            for matrix in matrices.values() {
                packed.check_sample(tensor, matrix)?;
            }
        }
        let headers = packed.content.headers.iter().map(|(part, _)| ("a header", part));
        let tensors = packed.content.tensors.iter().map(|(name, part)| (name.as_str(), part));
        headers
            .chain(tensors)
            .try_for_each(|(name, PackedPart { bytes, checksum })| packed.check(name, bytes.clone(), *checksum))?;
        Ok(packed)
    }

    /// Checks all bytes of a part.
    fn check(&self, name: &str, mut bytes: Range<usize>, checksum: u32) -> Result<()> {
        let mut hasher = crc32fast::Hasher::new();
        while !bytes.is_empty() {
            let end = bytes.end.min(bytes.start + CHUNK);
            hasher.update(&self.file.read(bytes.start..end).map_err(|err| broken("it ends early").caused_by(err))?);
            bytes.start = end;
        }
        match hasher.finalize() == checksum {
            true => Ok(()),
            false => Err(different(name)),
        }
    }

    /// Checks all of a file that another program may have written to since it was packed: its modification time says so. If it is as it
    /// was, the file gets back its time, so that the next load need not check them.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`] for a part with other bytes.
    pub(crate) fn checked(self, path: &Path) -> Result<Self> {
        let written = UNIX_EPOCH.checked_add(Duration::from_secs(self.content.written));
        let written = written.ok_or_else(|| broken("its time is beyond all calendars"))?;
        if self.content.written == 0 || self.file.modified() == Some(written) {
            return Ok(self);
        }
        for (tensor, matrices) in &self.content.matrices {
            matrices.values().try_for_each(|matrix| self.check(tensor, matrix.bytes.clone(), matrix.checksum))?;
        }
        for (name, PackedPart { bytes, checksum }) in &self.content.sections {
            self.check(name, bytes.clone(), *checksum)?;
        }
        if !self.file.is_unchanged() {
            return Err(broken("another program wrote to it while it was checked"));
        }
        // Where it cannot be set, the file is checked at each load.
        match set_time(path, written) {
            Ok(()) => Self::open(path),
            Err(_) => Ok(self),
        }
    }

    fn check_sample(&self, tensor: &str, matrix: &PackedMatrix) -> Result<()> {
        let place = &matrix.bytes;
        let parts = match place.len() <= SAMPLE {
            true => vec![place.clone()],
            false => vec![place.start..place.start + SAMPLE, place.end - SAMPLE..place.end],
        };
        let mut hasher = SampleHasher::default();
        for part in parts {
            hasher.push(&self.file.read(part).map_err(|err| broken("it ends early").caused_by(err))?);
        }
        match hasher.finish() == matrix.sample {
            true => Ok(()),
            false => Err(different(tensor)),
        }
    }

    /// What the packed model is recognised by; empty for a file that needs no other one.
    pub(crate) fn identity(&self) -> &str {
        &self.content.identity
    }

    /// Where the packed model lies; empty for a file that needs no other one.
    pub(crate) fn source(&self) -> &str {
        &self.content.source
    }

    /// The headers of the model's GGUF files; empty for a file that needs another one.
    pub(crate) fn headers(&self) -> io::Result<Vec<StoredHeader>> {
        let header = |(part, file_length): &(PackedPart, usize)| {
            Ok(StoredHeader { bytes: self.file.read(part.bytes.clone())?, file_length: *file_length })
        };
        self.content.headers.iter().map(header).collect()
    }

    /// The tensors that are not packed, with their places in the file.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.content.tensors.iter().map(|(name, part)| (name.as_str(), part.bytes.clone()))
    }

    /// The open file.
    pub(crate) fn content(&self) -> io::Result<ModelFile> {
        self.file.slice(0..self.file.n_bytes())
    }

    /// The number of matrices, and their bytes.
    pub(crate) fn n_bytes(&self) -> (usize, u64) {
        let matrices = || self.content.matrices.values().flat_map(|matrices| matrices.values());
        (matrices().count(), matrices().map(|matrix| matrix.bytes.len() as u64).sum())
    }
}

/// The packed weights of a model that is being loaded, or is loaded.
pub(crate) struct PackedWeights {
    packed: Arc<PackedFile>,
    /// `None` if the matrices are read into memory.
    map: Option<MappedFile>,
    /// Whether mapped matrices are copied to large pages later.
    copies: bool,
    /// Whether no mapped page is used any more.
    is_copied: AtomicBool,
}

impl PackedWeights {
    pub(crate) fn new(packed: Arc<PackedFile>, memory: WeightMemory) -> Self {
        let map =
            || packed.file.map().inspect_err(|err| log::warn!("packed weights cannot be mapped, they are read: {err}"));
        let map = (memory != WeightMemory::Copied).then(map).and_then(io::Result::ok);
        Self { map, copies: memory == WeightMemory::Auto, is_copied: AtomicBool::new(false), packed }
    }

    /// The matrix that begins at a row of a tensor.
    pub(crate) fn matrix(&self, tensor: &str, first_row: usize) -> Option<&PackedMatrix> {
        self.packed.content.matrices.get(tensor)?.get(&first_row)
    }

    /// The mapped tiles of a matrix; `None` if they are read into memory.
    pub(crate) fn mapped(&self, matrix: &PackedMatrix) -> Option<io::Result<MappedFile>> {
        self.map.as_ref().map(|map| map.slice(matrix.bytes.clone()))
    }

    /// What another part of the model has stored, if it can be read and has not changed. It is mapped where the weights stay so.
    pub(crate) fn section(&self, name: &str) -> Option<SectionBytes> {
        let (_, PackedPart { bytes, checksum }) =
            self.packed.content.sections.iter().find(|(found, _)| found == name)?;
        let section = match self.map.as_ref().filter(|_| !self.copies) {
            Some(map) => map.slice(bytes.clone()).ok().map(SectionBytes::Mapped),
            None => self.packed.file.read(bytes.clone()).ok().map(SectionBytes::Owned),
        };
        let is_unchanged = |section: &SectionBytes| crc32fast::hash(section.bytes()) == *checksum;
        let section = section.filter(is_unchanged);
        if section.is_none() {
            log::warn!("the packed {name} must have the checksum of its table: it is read from the model's files");
        }
        section
    }

    /// As [`section`](Self::section), if this release wrote it: another one may have concluded something else from the same files.
    pub(crate) fn section_of_release(&self, name: &str) -> Option<SectionBytes> {
        if self.packed.content.release == RELEASE { self.section(name) } else { None }
    }

    /// The tiles of a matrix as a part of the file.
    pub(crate) fn part(&self, matrix: &PackedMatrix) -> io::Result<ModelFile> {
        self.packed.file.slice(matrix.bytes.clone())
    }

    /// Whether the matrices stay in the file, so that they take no memory of the process.
    pub(crate) fn is_mapped(&self) -> bool {
        self.map.is_some()
    }

    /// Whether mapped matrices are to be copied to large pages once no reply runs.
    pub(crate) fn copies(&self) -> bool {
        self.copies && self.map.is_some()
    }

    /// Records that all matrices have been copied.
    pub(crate) fn set_copied(&self) {
        self.is_copied.store(true, Ordering::Relaxed);
    }

    /// Checks that no other program has written to the file of matrices that are read from it.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`].
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        if self.map.is_none() || self.is_copied.load(Ordering::Relaxed) || self.packed.file.is_unchanged() {
            return Ok(());
        }
        let message = "the file of packed weights was changed while it was in use: the model must be loaded again";
        Err(SdkError::new(ErrorKind::ModelLoad, message))
    }
}

/// Sets the modification time of a file.
fn set_time(path: &Path, time: SystemTime) -> io::Result<()> {
    File::options().write(true).open(path)?.set_modified(time)
}

fn different(name: &str) -> SdkError {
    broken(format!("the content of {name} must have the checksum of the table"))
}
