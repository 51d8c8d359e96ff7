//! Bundles: a model with all of its files in one, which is read in place.

mod directory;
mod manifest;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use causerie_backend::ModelFile;

use crate::error::{ErrorKind, Result, SdkError};
use crate::names::manifest::FILE_NAME;
use crate::weights::content::unreadable;

pub(crate) use directory::{ALIGNMENT, CENTRAL, END, END_64, LOCAL, LOCAL_LENGTH, LOCATOR_64, WIDE};
pub(crate) use manifest::{FORMAT, FORMAT_VERSION, Manifest, ManifestPart};

use directory::broken;

/// An open bundle whose directory and manifest have been checked. The contents of its files have not.
pub(crate) struct Bundle {
    path: PathBuf,
    file: ModelFile,
    pub(crate) manifest: Manifest,
    entries: BTreeMap<String, Range<usize>>,
}

impl Bundle {
    /// Opens a bundle; `None` for a file that is neither an archive nor named like one.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        let with_path = |err: SdkError| SdkError::new(err.kind(), path.display().to_string()).caused_by(err);
        let file = ModelFile::open(path).map_err(unreadable(path))?;
        let is_named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("bundle"));
        match directory::first_name(&file) {
            None if !is_named => Ok(None),
            Some(name) if name == FILE_NAME.as_bytes() => Self::read(path, file).map(Some).map_err(with_path),
            _ if is_named => {
                let message = "bundles of ExecuTorch are not supported: load the model's GGUF file, or a bundle that \
                               `causerie bundle make` has written";
                Err(with_path(SdkError::new(ErrorKind::ModelLoad, message)))
            }
            _ => Err(with_path(broken(format!("its first file must be {FILE_NAME}")))),
        }
    }

    fn read(path: &Path, file: ModelFile) -> Result<Self> {
        let entries = directory::read(&file)?;
        let first = entries.first().filter(|first| first.start == 0 && first.path == FILE_NAME);
        let bytes = first.ok_or_else(|| broken(format!("its first file must be {FILE_NAME}")))?.bytes.clone();
        manifest::check_size(bytes.len())?;
        let manifest = Manifest::of_bundle(&file.read(bytes).map_err(unreadable(path))?, path)?;
        let entries: BTreeMap<_, _> = entries.into_iter().map(|entry| (entry.path, entry.bytes)).collect();
        for (name, known) in &manifest.files {
            match entries.get(name) {
                Some(bytes) if bytes.len() as u64 == known.size => {}
                Some(bytes) => {
                    return Err(broken(format!("{name} must have {} bytes, found {}", known.size, bytes.len())));
                }
                None => return Err(broken(format!("it must have {name}, which its manifest lists"))),
            }
        }
        match entries.keys().find(|name| *name != FILE_NAME && !manifest.files.contains_key(*name)) {
            Some(name) => Err(broken(format!("its manifest must list {name}"))),
            None => Ok(Self { path: path.to_owned(), file, manifest, entries }),
        }
    }

    /// Opens a file of the bundle, by a path below the bundle's own.
    pub(super) fn open_file(&self, path: &Path) -> io::Result<ModelFile> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let parts = path.strip_prefix(&self.path).map_err(|_| missing())?.iter().map(OsStr::to_str);
        self.entry(&parts.collect::<Option<Vec<_>>>().ok_or_else(missing)?.join("/"))
    }

    /// Opens a file of the bundle, by the name that its manifest has for it.
    pub(crate) fn entry(&self, name: &str) -> io::Result<ModelFile> {
        self.file.slice(self.entries.get(name).ok_or(io::ErrorKind::NotFound)?.clone())
    }

    /// The name of the bundle, without its extension.
    pub(super) fn name(&self) -> Option<&str> {
        self.path.file_stem()?.to_str()
    }
}
