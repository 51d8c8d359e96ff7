//! Lists in JSON files of the user's data folder.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;

/// A list in a JSON file.
pub(crate) struct ListFile {
    path: PathBuf,
}

impl ListFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Reads the list, which is empty if there is no file yet. It is not cached, since another chat may change it.
    pub(crate) fn load<T: DeserializeOwned>(&self) -> Result<Vec<T>, String> {
        let failed = |err: &dyn std::fmt::Display| format!("cannot read {}: {err}", self.path.display());
        match fs::read_to_string(&self.path) {
            Ok(text) => serde_json::from_str(&text).map_err(|err| failed(&err)),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(err) => Err(failed(&err)),
        }
    }

    /// Replaces the whole list atomically.
    pub(crate) fn save<T: Serialize>(&self, list: &[T]) -> Result<(), String> {
        let write = || -> io::Result<()> {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            let mut file = NamedTempFile::new_in(folder)?;
            file.write_all(&serde_json::to_vec_pretty(list)?)?;
            file.persist(&self.path)?;
            Ok(())
        };
        write().map_err(|err| format!("cannot write {}: {err}", self.path.display()))
    }
}
