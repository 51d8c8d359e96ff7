//! A model in one file of packed weights, which needs no other file.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::PathBuf;

use crate::checkpoint::Checkpoint;
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::{Compute, LoadProgress, survey};
use crate::options::LoadOptions;
use crate::packing::partial::{PartialPack, unwritable};
use crate::packing::text::write_text;
use crate::weights::{PackedWriter, Weights};

/// Bytes of tensors that are copied at a time.
const CHUNK: usize = 4 << 20;

/// Writes the packed weights of a model's GGUF files with all else that the files have, so that the result needs no other file. It
/// is removed with the returned value.
///
/// # Errors
/// [`ErrorKind::InvalidOption`] for a model that is not in GGUF files, or whose weights are packed already, and if the file exists;
/// errors of reading and writing.
pub(crate) fn write_model(weights: &Weights, path: PathBuf, progress: LoadProgress<'_>) -> Result<PartialPack> {
    let file = File::create_new(&path).map_err(|err| unwritable(&path, err))?;
    let partial = PartialPack { path };
    let file = write_model_to(weights, BufWriter::new(file), progress)?;
    file.into_inner().map_err(|err| unwritable(&partial.path, err.into_error()))?;
    Ok(partial)
}

pub(super) fn write_model_to<W: Write + Seek>(weights: &Weights, file: W, progress: LoadProgress<'_>) -> Result<W> {
    let refused = |rule: &str| SdkError::new(ErrorKind::InvalidOption("model"), rule);
    if weights.packed().is_some() {
        return Err(refused("the model's weights must not be packed already"));
    }
    let headers = weights.gguf_headers()?;
    let headers = headers.ok_or_else(|| refused("a model must be in GGUF files to be packed: quantize writes one"))?;
    let checkpoint = Checkpoint::read(weights)?;
    survey(&checkpoint)?;
    let unwritable = |err| SdkError::new(ErrorKind::ModelLoad, "packed weights cannot be written").caused_by(err);
    let mut writer = PackedWriter::new(file, String::new(), String::new()).map_err(unwritable)?;
    for header in &headers {
        writer.header(header).map_err(unwritable)?;
    }
    Compute::new(&LoadOptions::default())?.pack(&checkpoint, &mut writer, progress)?;
    write_text(weights, &mut writer).map_err(unwritable)?;
    let mut others: Vec<&str> = checkpoint.tensors.iter().map(|tensor| tensor.name).collect();
    others.retain(|name| !writer.has_tensor(name));
    others.sort_unstable();
    for name in others {
        let blocks = checkpoint.tensors.blocks_of(name)?;
        writer.begin_tensor(name, blocks.n_bytes()).map_err(unwritable)?;
        for start in (0..blocks.n_bytes()).step_by(CHUNK) {
            let bytes = blocks.read(start..blocks.n_bytes().min(start + CHUNK));
            writer.put_tensor(&bytes.map_err(|err| blocks.unreadable(err))?).map_err(unwritable)?;
        }
    }
    weights.check_unchanged()?;
    writer.finish().map_err(unwritable)
}
