//! Where the command keeps what is a person's own: notes, timers, keys.

use std::path::PathBuf;

use etcetera::base_strategy::{BaseStrategy, choose_native_strategy};

/// `CAUSERIE_HOME`, or else the system's usual place.
pub(crate) fn data_folder() -> PathBuf {
    let chosen = std::env::var_os("CAUSERIE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let usual = || Some(choose_native_strategy().ok()?.data_dir().join("causerie"));
    chosen.or_else(usual).unwrap_or_else(|| PathBuf::from(".causerie"))
}
