//! Writes packed weights: into a folder of the app, beside the model that they are from, or as a file that needs no other one.

#[cfg(test)]
mod damage_tests;
mod folder;
mod model;
mod partial;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::{Compute, LoadProgress};
use crate::options::{Device, LoadOptions};
use crate::weights::{PackedFile, PackedWeights, Weights};

pub(crate) use folder::EXTENSION;
use folder::folder_weights;
pub(crate) use model::write_model;
pub(crate) use text::{packed_facts, packed_vocabulary};

/// The packed weights of a model, if it is loaded with them: its own, or those in the folder of the options, which are written if
/// they are missing. What prevents that is logged, and then the model's own files are read.
///
/// # Errors
/// [`ErrorKind::LoadCancelled`]; [`ErrorKind::InvalidOption`] for a device that cannot use the weights that the model has.
pub(crate) fn packed_weights(
    weights: &Weights,
    options: &LoadOptions,
    compute: &Compute,
    progress: LoadProgress<'_>,
) -> Result<Option<Arc<PackedWeights>>> {
    let of_file = |file: Arc<PackedFile>| Some(Arc::new(PackedWeights::new(file, options.weight_memory)));
    let is_on_cpu = matches!(options.device, Device::Cpu | Device::Auto) && compute.is_cpu();
    if let Some(own) = weights.packed() {
        return match is_on_cpu {
            true => Ok(of_file(Arc::clone(own))),
            false => Err(SdkError::new(ErrorKind::InvalidOption("device"), "packed weights are for the CPU alone")),
        };
    }
    let Some(folder) = options.packed_folder.as_deref().filter(|_| is_on_cpu) else {
        return Ok(None);
    };
    match folder_weights(folder, weights, options.packed_bytes, compute, progress) {
        Ok(file) => Ok(file.map(Arc::new).and_then(of_file)),
        Err(err) if err.kind() == ErrorKind::LoadCancelled => Err(err),
        Err(err) => {
            log::warn!("the model is loaded without packed weights: {err}");
            Ok(None)
        }
    }
}
