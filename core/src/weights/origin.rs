//! Where the files of a model are read from: the disk, a bundle, or memory. Files of a bundle have paths below its own.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::Arc;

use causerie_backend::ModelFile;
use serde_json::Value as Json;

use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::bundle::{Bundle, Manifest};
use crate::weights::content::unreadable;

/// The largest text file beside the weights in bytes; real ones have a few MiB.
const MAX_TEXT: usize = 64 << 20;

/// Where the files of a model are read from, and what was opened instead of its own file or folder.
#[derive(Clone, Default)]
pub(crate) enum ModelOrigin {
    #[default]
    Disk,
    /// A manifest beside the files.
    Manifest(Arc<Manifest>),
    Bundle(Arc<Bundle>),
    /// Memory, with the projector that was given beside the model.
    Memory(Option<Arc<Cow<'static, [u8]>>>),
}

impl ModelOrigin {
    /// Reads what is at a path, if it is a manifest or a bundle.
    pub(super) fn from_path(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Ok(Self::Disk);
        }
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
            return Ok(Self::Manifest(Arc::new(Manifest::read(path)?)));
        }
        Ok(Bundle::open(path)?.map_or(Self::Disk, |bundle| Self::Bundle(Arc::new(bundle))))
    }

    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        match self {
            Self::Disk | Self::Memory(_) => None,
            Self::Manifest(manifest) => Some(manifest),
            Self::Bundle(bundle) => Some(&bundle.manifest),
        }
    }

    /// The name of a folder; for a whole bundle, its own.
    pub(super) fn name<'a>(&'a self, folder: &'a Path) -> Option<&'a str> {
        match self {
            Self::Bundle(bundle) if bundle.manifest.model == folder => bundle.name(),
            _ => folder.file_name()?.to_str(),
        }
    }

    pub(super) fn open(&self, path: &Path) -> io::Result<ModelFile> {
        match self {
            Self::Bundle(bundle) => bundle.open_file(path),
            Self::Disk | Self::Manifest(_) | Self::Memory(_) => ModelFile::open(path),
        }
    }

    /// Reads a text file, if it exists.
    pub(super) fn text(&self, path: &Path) -> Result<Option<String>> {
        let unreadable = unreadable(path);
        let file = match self.open(path) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(&unreadable)?,
        };
        if MAX_TEXT < file.n_bytes() {
            let rule = format!("{} bytes, more than {MAX_TEXT}", file.n_bytes());
            return Err(unreadable(io::Error::other(rule)));
        }
        let bytes = file.read(0..file.n_bytes()).map_err(&unreadable)?;
        let text = String::from_utf8(bytes).map_err(|err| io::Error::new(io::ErrorKind::InvalidData, err));
        text.map(Some).map_err(&unreadable)
    }

    /// Reads a JSON file, if it exists.
    pub(super) fn json(&self, path: &Path) -> Result<Option<Json>> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|err| {
            SdkError::new(ErrorKind::ModelLoad, format!("{} must be valid JSON", path.display())).caused_by(err)
        })
    }
}
