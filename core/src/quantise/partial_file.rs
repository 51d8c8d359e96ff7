//! A file that appears under its name only once it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{ErrorKind, Result, SdkError};

/// A file under a temporary name beside its own. It is removed unless it is finished.
pub(crate) struct PartialFile {
    writer: BufWriter<File>,
    part: PathBuf,
    path: PathBuf,
}

impl PartialFile {
    /// Creates the temporary file.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`] if a file of this name exists, or none can be created.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let mut name = path.file_name().ok_or_else(|| refused(path, "be a file name"))?.to_owned();
        if path.symlink_metadata().is_ok() {
            return Err(refused(path, "not exist yet"));
        }
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let file =
            File::create_new(&part).map_err(|err| refused(path, "be a file that can be created").caused_by(err))?;
        Ok(Self { writer: BufWriter::new(file), part, path: path.to_owned() })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(|err| self.unwritable(err))
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.writer.flush().map_err(|err| self.unwritable(err))?;
        if self.path.symlink_metadata().is_ok() {
            return Err(refused(&self.path, "not exist yet"));
        }
        fs::rename(&self.part, &self.path).map_err(|err| self.unwritable(err))
    }

    fn unwritable(&self, err: io::Error) -> SdkError {
        refused(&self.path, "be on a file system that can hold it").caused_by(err)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // After the file has its name, there is none with this one.
        let _ = fs::remove_file(&self.part);
    }
}

fn refused(path: &Path, rule: &str) -> SdkError {
    SdkError::new(ErrorKind::InvalidOption("output"), format!("the output must {rule}, found {}", path.display()))
}
