//! The folder for the user's own files: notes, timers, keys.

use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy, choose_native_strategy};

/// The folder that `CAUSERIE_HOME` names, or else the system's usual place.
pub(crate) fn data_folder() -> PathBuf {
    let chosen = std::env::var_os("CAUSERIE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let usual = || Some(choose_native_strategy().ok()?.data_dir().join("causerie"));
    chosen.or_else(usual).unwrap_or_else(|| PathBuf::from(".causerie"))
}

/// The file of keys that was named, or the user's own.
pub(crate) fn key_file(named: Option<&Path>) -> PathBuf {
    named.map_or_else(|| data_folder().join("keys.json"), Path::to_owned)
}
