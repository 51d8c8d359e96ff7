//! Hugging Face folders: config.json, tokenizer.json, safetensors in one file or in several, chat template.

use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use causerie_backend::ModelFile;
use safetensors::Dtype;
use safetensors::tensor::Metadata;
use serde_json::Value as Json;

use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::content::{Content, unreadable};
use crate::weights::identity::FileIdentity;
use crate::weights::origin::ModelOrigin;
use crate::weights::source::{FileBytes, TensorSource};
use crate::weights::tensor_type::TensorType;
use crate::weights::tensors::{Tensor, TensorDescription};

/// The file that describes the tokenizer.
pub(super) const TOKENIZER: &str = "tokenizer.json";
/// Bytes of a safetensors header at most; real ones have a few MiB.
const MAX_HEADER: usize = 64 << 20;

/// An open folder whose weights' headers have been checked.
pub(crate) struct Folder {
    path: PathBuf,
    /// The only file, if it was opened alone.
    single: Option<PathBuf>,
    pub(super) origin: ModelOrigin,
    config: Json,
    files: Vec<Arc<Content>>,
    tensors: HashMap<String, FolderTensor>,
    /// Tensors of types that are not supported. Not all of them are weights, so they are errors only when they are used.
    unreadable: HashMap<String, Dtype>,
}

struct FolderTensor {
    file: usize,
    tensor_type: TensorType,
    shape: Vec<usize>,
    bytes: std::ops::Range<usize>,
}

impl Folder {
    pub(crate) fn open(path: &Path, origin: ModelOrigin) -> Result<Self> {
        let config = origin
            .json(&path.join("config.json"))?
            .ok_or_else(|| SdkError::new(ErrorKind::ModelNotFound, format!("no config.json in {}", path.display())))?;
        let mut folder = Self {
            path: path.to_owned(),
            single: None,
            origin,
            config,
            files: Vec::new(),
            tensors: HashMap::new(),
            unreadable: HashMap::new(),
        };
        for file in weight_files(path, &folder.origin)? {
            folder.add(&file)?;
        }
        Ok(folder)
    }

    /// Opens a safetensors file alone, as a folder without configuration.
    pub(crate) fn of_file(path: &Path, origin: ModelOrigin) -> Result<Self> {
        let mut folder = Self {
            path: path.parent().unwrap_or(path).to_owned(),
            single: Some(path.to_owned()),
            origin,
            config: Json::Null,
            files: Vec::new(),
            tensors: HashMap::new(),
            unreadable: HashMap::new(),
        };
        folder.add(path)?;
        Ok(folder)
    }

    fn add(&mut self, path: &Path) -> Result<()> {
        let place = || path.display().to_string();
        let file = self.origin.open(path).map_err(unreadable(path))?;
        let (start, metadata) = read_header(&file).map_err(|err| SdkError::new(err.kind(), place()).caused_by(err))?;
        for (name, info) in metadata.tensors() {
            let tensor_type = match info.dtype {
                Dtype::F32 => TensorType::F32,
                Dtype::F16 => TensorType::F16,
                Dtype::BF16 => TensorType::Bf16,
                other => {
                    self.unreadable.insert(name.clone(), other);
                    continue;
                }
            };
            if info.shape.contains(&0) {
                return Err(SdkError::new(ErrorKind::ModelLoad, format!("tensor {name} is empty, in {}", place())));
            }
            let bytes = start + info.data_offsets.0..start + info.data_offsets.1;
            let entry = FolderTensor { file: self.files.len(), tensor_type, shape: info.shape.clone(), bytes };
            if self.tensors.insert(name.clone(), entry).is_some() {
                return Err(SdkError::new(
                    ErrorKind::ModelLoad,
                    format!("tensor {name} appears twice, also in {}", place()),
                ));
            }
        }
        self.files.push(Arc::new(Content::OnDisk(file)));
        Ok(())
    }

    /// Whether no other program has written to the weights since they were opened.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.files.iter().all(|file| file.is_unchanged())
    }

    /// Adds what the folder's weights are recognised by, and their description; returns whether all of it is on disk.
    pub(super) fn identify(&self, identity: &mut FileIdentity) -> bool {
        identity.add_header(self.config.to_string().as_bytes());
        // The vocabulary is stored with packed weights. The other files of the tokenizer are read at each load.
        let has_tokenizer = match self.origin.open(&self.path.join(TOKENIZER)) {
            Ok(file) => identity.add_file(&file).is_ok(),
            Err(err) => err.kind() == io::ErrorKind::NotFound,
        };
        has_tokenizer && self.files.iter().all(|file| file.identify(identity))
    }

    /// The folder's name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.origin.name(&self.path)
    }

    /// The only file, if it was opened alone, as no folder of a model.
    pub(crate) fn single_file(&self) -> Option<&Path> {
        self.single.as_deref()
    }

    /// The path that the folder was opened by.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn config(&self) -> &Json {
        &self.config
    }

    /// A JSON file of the folder, if it exists.
    pub(crate) fn json(&self, name: &str) -> Result<Option<Json>> {
        self.origin.json(&self.path.join(name))
    }

    /// A text file of the folder, if it exists.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>> {
        self.origin.text(&self.path.join(name))
    }

    pub(crate) fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|entry| entry.shape.as_slice())
    }

    pub(crate) fn tensors(&self) -> impl Iterator<Item = TensorDescription<'_>> {
        let tensors = self.tensors.iter();
        tensors.map(|(name, tensor)| TensorDescription {
            name,
            tensor_type: tensor.tensor_type,
            shape: &tensor.shape,
            n_bytes: tensor.bytes.len(),
        })
    }

    /// The type of a tensor that cannot be read.
    pub(crate) fn unreadable(&self, name: &str) -> Option<Dtype> {
        self.unreadable.get(name).copied()
    }

    /// A safetensors file in the folder, as a folder without configuration.
    pub(crate) fn part(&self, name: &str) -> Result<Self> {
        Self::of_file(&self.path.join(name), self.origin.clone())
    }

    /// A tensor as the files have it, if it exists.
    pub(crate) fn whole_tensor(&self, name: &str) -> Option<Tensor> {
        let bytes = self.tensor(name)?;
        let shape = self.shape(name)?.to_vec();
        Some(Tensor::new(bytes.tensor_type(), shape, TensorSource::File(bytes)))
    }

    /// The bytes of a tensor, if it exists.
    pub(crate) fn tensor(&self, name: &str) -> Option<FileBytes> {
        let FolderTensor { tensor_type, bytes, file, .. } = self.tensors.get(name)?;
        Some(FileBytes { tensor_type: *tensor_type, bytes: bytes.clone(), content: Arc::clone(&self.files[*file]) })
    }
}

/// The checked header of a safetensors file, and the offset of its first tensor.
fn read_header(file: &ModelFile) -> Result<(usize, Metadata)> {
    const LENGTH: usize = size_of::<u64>(); // of the length itself, which precedes the header
    let invalid = |rule: &str| SdkError::new(ErrorKind::ModelLoad, format!("not a safetensors file: {rule}"));
    let cut = |err| invalid("it ends early").caused_by(err);
    let length = file.read(0..LENGTH).map_err(cut)?;
    let length = length.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)).unwrap_or_default();
    let length = usize::try_from(length).ok().filter(|length| *length <= MAX_HEADER);
    let start = LENGTH + length.ok_or_else(|| invalid("its header is too long"))?;
    let header = file.read(LENGTH..start).map_err(cut)?;
    let metadata: Metadata =
        serde_json::from_slice(&header).map_err(|err| invalid("its header is damaged").caused_by(err))?;
    if start.checked_add(metadata.data_len()) != Some(file.n_bytes()) {
        return Err(invalid("its tensors must fill the file"));
    }
    Ok((start, metadata))
}

/// The single safetensors file of a folder, otherwise the files that its index lists. The single file comes first: an index
/// may be left over from an earlier version of the model.
fn weight_files(folder: &Path, origin: &ModelOrigin) -> Result<Vec<PathBuf>> {
    let single = folder.join("model.safetensors");
    if !matches!(origin.open(&single), Err(err) if err.kind() == io::ErrorKind::NotFound) {
        return Ok(vec![single]);
    }
    let index = origin.json(&folder.join("model.safetensors.index.json"))?.ok_or_else(|| {
        SdkError::new(ErrorKind::ModelNotFound, format!("no model.safetensors in {}", folder.display()))
    })?;
    let invalid = |rule: &str| {
        SdkError::new(ErrorKind::ModelLoad, format!("model.safetensors.index.json in {}: {rule}", folder.display()))
    };
    let map = index.get("weight_map").and_then(Json::as_object).ok_or_else(|| invalid("no weight_map"))?;
    let mut names: Vec<&str> = map.values().filter_map(Json::as_str).collect();
    names.sort_unstable();
    names.dedup();
    // The index is not trusted: it must not lead out of its folder.
    let is_plain =
        |name: &&str| matches!(Path::new(*name).components().collect::<Vec<_>>()[..], [Component::Normal(_)]);
    match names.iter().find(|name| !is_plain(name)) {
        Some(name) => Err(invalid(&format!("weight_map must hold file names, found {name:?}"))),
        None => Ok(names.iter().map(|name| folder.join(name)).collect()),
    }
}
