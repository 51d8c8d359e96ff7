//! Packed weights in a folder of the app: found by what their model is recognised by, or written.
//!
//! One process packs at a time. It holds a lock while it writes under a temporary name, and gives the file its name when it is
//! complete, so that a process that ends early, or a full disk, leaves nothing that looks like packed weights.

use std::fs::{self, File, TryLockError};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::checkpoint::Checkpoint;
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::{Compute, LoadProgress, survey, weight_bytes};
use crate::packing::partial::{PartialPack, unwritable};
use crate::packing::text::write_text;
use crate::weights::{PackedFile, PackedWriter, Weights};

/// The extension of files of packed weights.
pub(crate) const EXTENSION: &str = "packed";
/// Held by the process that writes into the folder.
pub(super) const LOCK: &str = "packing.lock";
/// The file while it is written.
pub(super) const PARTIAL: &str = "packing.partial";

/// The packed weights of a model in a folder; `None` of a model in memory, or while another process packs.
pub(super) fn folder_weights(
    folder: &Path,
    weights: &Weights,
    limit: u64,
    compute: &Compute,
    progress: LoadProgress<'_>,
) -> Result<Option<PackedFile>> {
    let Some(identity) = weights.identity() else { return Ok(None) };
    let path = folder.join(&identity[..32]).with_extension(EXTENSION);
    if let Some(found) = found(&path, &identity) {
        return Ok(Some(found));
    }
    fs::create_dir_all(folder).map_err(|err| unwritable(folder, err))?;
    let Some(_lock) = lock(folder)? else {
        log::info!("another process packs weights into {}", folder.display());
        return Ok(None);
    };
    // The process that had the lock before may have packed this model.
    if let Some(found) = found(&path, &identity) {
        return Ok(Some(found));
    }
    let checkpoint = Checkpoint::read(weights)?;
    survey(&checkpoint)?;
    let n_bytes = weight_bytes(&checkpoint.tensors);
    if limit < n_bytes {
        let message = format!("packed weights must take at most {limit} bytes, found {n_bytes}");
        return Err(SdkError::new(ErrorKind::InvalidOption("packed_bytes"), message));
    }
    remove_old(folder, limit - n_bytes);
    let partial = PartialPack { path: folder.join(PARTIAL) };
    let file = File::create(&partial.path).map_err(|err| unwritable(&partial.path, err))?;
    let source = weights.path().map(source_of).unwrap_or_default();
    let unwritable = |err| unwritable(&partial.path, err);
    let mut writer = PackedWriter::new(BufWriter::new(file), identity.clone(), source).map_err(unwritable)?;
    compute.pack(&checkpoint, &mut writer, progress)?;
    write_text(weights, &mut writer).map_err(unwritable)?;
    weights.check_unchanged()?;
    let written = written_now();
    writer.set_written(written);
    let file = writer.finish().map_err(unwritable)?.into_inner().map_err(|err| unwritable(err.into_error()))?;
    // If the time cannot be set, the weights are checked at each load.
    let _ = file.set_modified(UNIX_EPOCH + Duration::from_secs(written));
    file.sync_all().map_err(unwritable)?;
    drop(file);
    fs::rename(&partial.path, &path).map_err(unwritable)?;
    log::info!("packed weights into {}", path.display());
    PackedFile::open(&path).map(Some)
}

/// The file of a folder, if it has the packed weights of this model.
fn found(path: &Path, identity: &str) -> Option<PackedFile> {
    if !path.exists() {
        return None;
    }
    let unless_foreign = |file: PackedFile| match file.identity() == identity {
        true => file.checked(path).map(Some),
        false => Ok(None),
    };
    match PackedFile::open(path).and_then(unless_foreign) {
        Ok(Some(file)) => Some(file),
        Ok(None) => {
            log::warn!("{} has the weights of another model: they are packed again", path.display());
            None
        }
        Err(err) => {
            log::warn!("weights are packed again: {err}");
            None
        }
    }
}

/// A modification time for a file that is complete now, in seconds that every file system can store: the coarsest count by twos.
fn written_now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    (now / 2 * 2).max(2)
}

/// Locks a folder; `None` while another process, or another load, has the lock. The system gives it back when a process ends.
fn lock(folder: &Path) -> Result<Option<File>> {
    let path = folder.join(LOCK);
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|err| unwritable(&path, err))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(err)) => Err(unwritable(&path, err)),
    }
}

/// Removes packed weights of models that are gone, or that this release does not read, and then the oldest until the rest has at
/// most this many bytes.
fn remove_old(folder: &Path, limit: u64) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let packed = entries.filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
    let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for path in packed {
        let metadata = fs::metadata(&path);
        let is_used = PackedFile::open(&path).is_ok_and(|file| Path::new(file.source()).exists());
        match metadata.and_then(|metadata| Ok((metadata.modified()?, metadata.len()))) {
            Ok((modified, n_bytes)) if is_used => kept.push((modified, n_bytes, path)),
            _ => remove(&path),
        }
    }
    kept.sort();
    let mut n_left: u64 = kept.iter().map(|(_, n_bytes, _)| n_bytes).sum();
    for (_, n_bytes, path) in kept {
        if n_left <= limit {
            break;
        }
        remove(&path);
        n_left -= n_bytes;
    }
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Ok(()) => log::info!("removed the packed weights {}", path.display()),
        Err(err) => log::warn!("cannot remove the packed weights {}: {err}", path.display()),
    }
}

/// The file or folder that a model lies in; that of a bundle for a file in it.
fn source_of(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.ancestors().find(|path| path.exists()).unwrap_or(&path).to_string_lossy().into_owned()
}
