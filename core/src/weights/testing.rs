//! Folders of tiny models, for tests.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use safetensors::Dtype;
use safetensors::tensor::TensorView;

use crate::weights::Weights;

/// The name, the shape and the values of a tensor.
pub(crate) type TinyTensor = (String, Vec<usize>, Vec<f32>);

/// Folders of this process so far.
static N_FOLDERS: AtomicUsize = AtomicUsize::new(0);

/// A folder of a model with these tensors, which is removed with the value.
pub(crate) struct TinyFolder(PathBuf);

impl TinyFolder {
    /// A folder with this config.json.
    pub(crate) fn new(config: &str, tensors: &[TinyTensor]) -> Self {
        let number = N_FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("causerie-tiny-{}-{number}", std::process::id()));
        Self::write(&path, config, tensors);
        Self(path)
    }

    /// A folder without files.
    pub(crate) fn empty() -> Self {
        let folder = Self::new("{}", &[]);
        std::fs::remove_file(folder.0.join("config.json")).unwrap();
        std::fs::remove_file(folder.0.join("model.safetensors")).unwrap();
        folder
    }

    /// Adds a folder inside of it.
    pub(crate) fn with(self, name: &str, config: &str, tensors: &[TinyTensor]) -> Self {
        Self::write(&self.0.join(name), config, tensors);
        self
    }

    fn write(path: &Path, config: &str, tensors: &[TinyTensor]) {
        std::fs::create_dir_all(path).unwrap();
        std::fs::write(path.join("config.json"), config).unwrap();
        std::fs::write(path.join("model.safetensors"), safetensors_of(tensors)).unwrap();
    }

    /// Adds a file of tensors.
    pub(crate) fn with_file(self, name: &str, tensors: &[TinyTensor]) -> Self {
        std::fs::write(self.0.join(name), safetensors_of(tensors)).unwrap();
        self
    }

    /// Adds a copy of a file.
    pub(crate) fn with_copy(self, file: &Path) -> Self {
        std::fs::copy(file, self.0.join(file.file_name().unwrap())).unwrap();
        self
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Opens the folder as a model's.
    pub(crate) fn open(&self) -> Weights {
        Weights::open(self.0.to_str().unwrap()).unwrap()
    }
}

fn safetensors_of(tensors: &[TinyTensor]) -> Vec<u8> {
    let bytes: Vec<Vec<u8>> =
        tensors.iter().map(|(_, _, values)| values.iter().flat_map(|value| value.to_le_bytes()).collect()).collect();
    let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap();
        (name.clone(), view)
    });
    safetensors::serialize(views, None).unwrap()
}

impl Drop for TinyFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
