//! Files that are not complete.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{ErrorKind, SdkError};

/// A file that is being written, or is needed for a while; it is removed unless it gets another name.
pub(crate) struct PartialPack {
    pub(super) path: PathBuf,
}

impl Drop for PartialPack {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

pub(super) fn unwritable(path: &Path, err: io::Error) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, format!("cannot write {}", path.display())).caused_by(err)
}
