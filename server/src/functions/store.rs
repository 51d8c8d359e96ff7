//! Small lists in JSON files of the user's data folder.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A list kept in a file.
pub(super) struct Store {
    path: PathBuf,
}

impl Store {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The list; empty before the first is saved. Read anew each time, since another chat may have changed it.
    pub(super) fn load<T: DeserializeOwned>(&self) -> Result<Vec<T>, String> {
        let failed = |err: &dyn std::fmt::Display| format!("cannot read {}: {err}", self.path.display());
        match fs::read_to_string(&self.path) {
            Ok(text) => serde_json::from_str(&text).map_err(|err| failed(&err)),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(err) => Err(failed(&err)),
        }
    }

    /// Replaces the list, whole or not at all.
    pub(super) fn save<T: Serialize>(&self, list: &[T]) -> Result<(), String> {
        let write = || -> io::Result<()> {
            if let Some(folder) = self.path.parent() {
                fs::create_dir_all(folder)?;
            }
            let unfinished = self.path.with_extension(format!("{}.tmp", std::process::id()));
            fs::write(&unfinished, serde_json::to_vec_pretty(list)?)?;
            fs::rename(unfinished, &self.path)
        };
        write().map_err(|err| format!("cannot write {}: {err}", self.path.display()))
    }
}
