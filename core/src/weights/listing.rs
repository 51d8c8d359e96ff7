//! The files of a model on disk, as a bundle holds them.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::names::{ModelFiles, choose_files, files_below, weights_of_index};
use crate::weights::files::Weights;
use crate::weights::folder::Folder;
use crate::weights::gguf::GgufFile;

/// What a bundle of a model holds.
pub(crate) struct ListedModel {
    /// The path in the bundle of the file to open first, or of its folder.
    pub(crate) first: String,
    /// The paths in the bundle, with those on disk.
    pub(crate) files: Vec<(String, PathBuf)>,
}

impl ListedModel {
    pub(crate) fn new(weights: &Weights) -> Result<Self> {
        match weights {
            Weights::Gguf(file) => of_file(file),
            Weights::Folder(folder) => match folder.single_file() {
                Some(file) => {
                    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    Ok(Self { first: format!("./{name}"), files: vec![(name, file.to_owned())] })
                }
                None => Ok(Self { first: "./".to_owned(), files: of_folder(folder)? }),
            },
        }
    }

    /// Puts one file in the place of all.
    pub(crate) fn replace(&mut self, name: &str, path: &Path) {
        *self = Self { first: format!("./{name}"), files: vec![(name.to_owned(), path.to_owned())] };
    }
}

fn of_file(file: &GgufFile) -> Result<ListedModel> {
    let name = |path: PathBuf| (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), path);
    let files: Vec<_> = file.paths()?.into_iter().map(name).collect();
    let first = files.first().map(|(name, _)| format!("./{name}")).unwrap_or_default();
    Ok(ListedModel { first, files })
}

fn of_folder(folder: &Folder) -> Result<Vec<(String, PathBuf)>> {
    let path: &Path = folder.path();
    let chosen = choose_files(&path.display().to_string(), &files_below(path), Some("safetensors"))?;
    let mut names = Vec::new();
    if let ModelFiles::Folder { files, index } = chosen {
        names = files;
        if let Some(index) = index {
            let json = folder.text(&index)?.unwrap_or_default();
            names.extend(weights_of_index(json.as_bytes()).unwrap_or_default());
        }
    }
    Ok(names.into_iter().map(|name| (name.clone(), path.join(name))).collect())
}
