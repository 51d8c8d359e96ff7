//! The open files of a model, in either form.

use std::path::Path;
use std::sync::Arc;

use crate::error::{ErrorKind, Result, SdkError};
use crate::options::SamplingDefaults;
use crate::weights::bundle::ManifestPart;
use crate::weights::bytes::ModelBytes;
use crate::weights::folder::Folder;
use crate::weights::gguf::{GgufFile, MetadataValue};
use crate::weights::identity::FileIdentity;
use crate::weights::location;
use crate::weights::origin::ModelOrigin;
use crate::weights::packed::{PackedFile, StoredHeader};
use crate::weights::tensors::TensorDescription;

/// The open files of a model of either form. What they say in one language is a [`Checkpoint`](crate::checkpoint::Checkpoint).
/// Only `weights` and `checkpoint` ask which form it is.
pub(crate) enum Weights {
    Gguf(GgufFile),
    Folder(Folder),
}

impl Weights {
    /// Opens the model that `model` names: a GGUF file, a folder, a bundle, a manifest, or `<namespace>/<name>` in the local
    /// cache.
    pub(crate) fn open(model: impl AsRef<Path>) -> Result<Self> {
        let path = location::locate(model.as_ref())?;
        let origin = ModelOrigin::from_path(&path)?;
        let (path, is_folder) = match origin.manifest() {
            Some(manifest) => (manifest.model.clone(), manifest.is_folder),
            None => (path.clone(), path.is_dir()),
        };
        match is_folder {
            true => Folder::open(&path, origin).map(Self::Folder),
            false => GgufFile::open(&path, origin).map(Self::Gguf),
        }
    }

    /// Opens a GGUF file.
    pub(crate) fn open_file(path: &Path, origin: ModelOrigin) -> Result<Self> {
        GgufFile::open(path, origin).map(Self::Gguf)
    }

    /// Reads the header of a GGUF file of this size, of which only the beginning is here.
    pub(crate) fn of_head(head: Vec<u8>, file_size: usize) -> Result<Self> {
        GgufFile::of_head(head, file_size).map(Self::Gguf)
    }

    /// Opens a part of a model that its manifest names.
    pub(crate) fn open_manifest_part(part: &ManifestPart, origin: ModelOrigin) -> Result<Self> {
        if is_safetensors(&part.path) {
            return Folder::of_file(&part.path, origin).map(Self::Folder);
        }
        match part.is_folder {
            true => Folder::open(&part.path, origin).map(Self::Folder),
            false => GgufFile::open(&part.path, origin).map(Self::Gguf),
        }
    }

    /// Opens a file or folder that belongs to a model: a GGUF file, a folder, or a safetensors file alone.
    pub(crate) fn open_part(path: &Path, origin: ModelOrigin) -> Result<Self> {
        if is_safetensors(path) {
            return Folder::of_file(path, origin).map(Self::Folder);
        }
        match path.is_dir() {
            true => Folder::open(path, origin).map(Self::Folder),
            false => GgufFile::open(path, origin).map(Self::Gguf),
        }
    }

    /// The file or folder; `None` for a model in memory.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Gguf(file) => file.path(),
            Self::Folder(folder) => Some(folder.path()),
        }
    }

    /// Where the files were read from.
    pub(crate) fn origin(&self) -> &ModelOrigin {
        match self {
            Self::Gguf(file) => &file.origin,
            Self::Folder(folder) => &folder.origin,
        }
    }

    /// Opens a GGUF file held in memory.
    pub(crate) fn from_bytes(bytes: ModelBytes) -> Result<Self> {
        let origin = ModelOrigin::Memory(bytes.projector.map(Arc::new));
        GgufFile::from_bytes(bytes.model, origin).map(Self::Gguf)
    }

    /// The file of packed weights that was opened as a model.
    pub(crate) fn packed(&self) -> Option<&Arc<PackedFile>> {
        match self {
            Self::Gguf(file) => file.packed(),
            Self::Folder(_) => None,
        }
    }

    /// What the files are recognised by, as hexadecimal digits; `None` for files that are not on disk, or cannot be read.
    pub(crate) fn identity(&self) -> Option<String> {
        let mut identity = FileIdentity::new();
        let is_complete = match self {
            Self::Gguf(file) => file.identify(&mut identity),
            Self::Folder(folder) => folder.identify(&mut identity),
        };
        is_complete.then(|| identity.finish())
    }

    /// The headers of the GGUF files; `None` for a folder.
    pub(crate) fn gguf_headers(&self) -> Result<Option<Vec<StoredHeader>>> {
        match self {
            Self::Gguf(file) => file.headers().map(Some),
            Self::Folder(_) => Ok(None),
        }
    }

    /// Checks that no other program has written to the files since they were opened. Otherwise the parts that were read may
    /// not belong together.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`].
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        let is_unchanged = match self {
            Self::Gguf(file) => file.is_unchanged(),
            Self::Folder(folder) => folder.is_unchanged(),
        };
        if is_unchanged { Ok(()) } else { Err(changed()) }
    }

    /// All tensors that can be read, in no particular order, as the form names them.
    pub(crate) fn tensors(&self) -> Box<dyn Iterator<Item = TensorDescription<'_>> + '_> {
        match self {
            Self::Gguf(file) => Box::new(file.tensors()),
            Self::Folder(folder) => Box::new(folder.tensors()),
        }
    }

    /// The path of the model's file; `None` of a folder, and of a file in memory.
    pub(crate) fn file_path(&self) -> Option<&Path> {
        match self {
            Self::Gguf(file) => file.path(),
            Self::Folder(_) => None,
        }
    }

    /// The name of the model's folder; `None` of a file.
    pub(crate) fn folder_name(&self) -> Option<&str> {
        match self {
            Self::Gguf(_) => None,
            Self::Folder(folder) if folder.single_file().is_some() => None,
            Self::Folder(folder) => folder.name(),
        }
    }

    /// A string of the metadata, if the key exists. Folders have no metadata.
    pub(crate) fn metadata_text(&self, key: &str) -> Result<Option<&str>> {
        match self {
            Self::Gguf(file) => file.text(key),
            Self::Folder(_) => Ok(None),
        }
    }

    /// A count in the metadata, if the key exists.
    pub(crate) fn metadata_count(&self, key: &str) -> Result<Option<usize>> {
        match self {
            Self::Gguf(file) => file.count(key),
            Self::Folder(_) => Ok(None),
        }
    }

    /// An integer in the metadata, if the key exists.
    pub(crate) fn metadata_integer(&self, key: &str) -> Result<Option<i64>> {
        match self {
            Self::Gguf(file) => file.integer(key),
            Self::Folder(_) => Ok(None),
        }
    }

    /// A number in the metadata, if the key exists.
    pub(crate) fn metadata_float(&self, key: &str) -> Result<Option<f32>> {
        match self {
            Self::Gguf(file) => file.float(key),
            Self::Folder(_) => Ok(None),
        }
    }

    /// All metadata, in the order of the file; `None` of a folder.
    pub(crate) fn metadata(&self) -> Option<Vec<(&str, MetadataValue)>> {
        match self {
            Self::Gguf(file) => Some(file.metadata()),
            Self::Folder(_) => None,
        }
    }

    /// The names of all tensors, in the order of the file; `None` of a folder, whose tensors have names and types of its own.
    pub(crate) fn tensor_names(&self) -> Option<Vec<&str>> {
        match self {
            Self::Gguf(file) => Some(file.tensor_names()),
            Self::Folder(_) => None,
        }
    }

    /// The sampling values that the model's files recommend: its manifest, else `generation_config.json` or
    /// `general.sampling.*`.
    pub(crate) fn sampling_defaults(&self) -> Result<SamplingDefaults> {
        let own = self.file_sampling()?;
        let defaults = self.origin().manifest().map_or(own, |manifest| manifest.sampling.or(own));
        let invalid = |err: SdkError| {
            SdkError::new(ErrorKind::ModelLoad, "the model's own sampling defaults are out of range").caused_by(err)
        };
        defaults.check().map_err(invalid)?;
        Ok(defaults)
    }

    fn file_sampling(&self) -> Result<SamplingDefaults> {
        match self {
            Self::Gguf(file) => Ok(SamplingDefaults {
                temperature: file.float("general.sampling.temp")?,
                top_p: file.float("general.sampling.top_p")?,
                // llama.cpp writes 0 or less if all tokens are candidates.
                top_k: file.integer("general.sampling.top_k")?.map(|k| usize::try_from(k).unwrap_or(0)),
                min_p: file.float("general.sampling.min_p")?,
                repetition_penalty: file.float("general.sampling.penalty_repeat")?,
            }),
            Self::Folder(folder) => {
                let config = folder.json("generation_config.json")?.unwrap_or_default();
                let number = |key: &str| config.get(key)?.as_f64().map(|number| number as f32); // rounding is fine for settings
                let is_greedy = config.get("do_sample").and_then(|flag| flag.as_bool()) == Some(false);
                Ok(SamplingDefaults {
                    // Files without sampling values have do_sample = false by default, not by choice.
                    temperature: number("temperature").map(|temperature| if is_greedy { 0.0 } else { temperature }),
                    top_p: number("top_p"),
                    top_k: config.get("top_k").and_then(|k| k.as_u64()).and_then(|k| usize::try_from(k).ok()),
                    min_p: number("min_p"),
                    repetition_penalty: number("repetition_penalty"),
                })
            }
        }
    }
}

fn is_safetensors(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "safetensors")
}

/// The error for files that another program has written to.
pub(super) fn changed() -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, "the model's files changed while they were loaded")
}
