//! The open files of a speech-to-text model.

use std::path::Path;

use crate::error::Result;
use crate::weights::files::{Weights, changed};
use crate::weights::ggml::GgmlFile;
use crate::weights::location;

/// Files in the form of any model, or a file that only speech-to-text models have.
pub(crate) enum SpeechFiles {
    Ggml(GgmlFile),
    Other(Weights),
}

impl SpeechFiles {
    /// Opens the model that `model` names, as [`Weights::open`].
    pub(crate) fn open(model: &Path) -> Result<Self> {
        let path = location::locate(model)?;
        let file = if path.is_dir() { None } else { GgmlFile::open(&path)? };
        match file {
            Some(file) => Ok(Self::Ggml(file)),
            None => Weights::open(model).map(Self::Other),
        }
    }

    /// As [`Weights::check_unchanged`].
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        match self {
            Self::Ggml(file) if !file.is_unchanged() => Err(changed()),
            Self::Ggml(_) => Ok(()),
            Self::Other(weights) => weights.check_unchanged(),
        }
    }
}
