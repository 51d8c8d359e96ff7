//! What a model's files say of it, in either form.

use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::{config, metadata};
use crate::weights::Weights;

/// Reads and checks the description.
pub(crate) fn read(weights: &Weights) -> Result<Architecture> {
    let architecture = match weights {
        Weights::Gguf(file) => metadata::read(file)?,
        Weights::Folder(folder) => config::read(folder.config())?,
    };
    architecture.check()?;
    Ok(architecture)
}
