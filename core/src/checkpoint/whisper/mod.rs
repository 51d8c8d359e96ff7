//! Whisper: an encoder of sound and a decoder that writes text, from a Hugging Face folder.
//!
//! Tensors have the names of the original model, which ggml's files also have.

mod architecture;
mod folder;
mod names;
mod tokens;

use crate::error::Result;
use crate::weights::{Folder, Tensors, Weights};

use crate::checkpoint::invalid::invalid;

pub(crate) use architecture::WhisperArchitecture;
pub(crate) use tokens::WhisperTokens;

/// The tensors and the facts of a Whisper model.
pub(crate) struct WhisperCheckpoint {
    pub(crate) architecture: WhisperArchitecture,
    pub(crate) tokens: WhisperTokens,
    pub(crate) tensors: Tensors,
}

impl WhisperCheckpoint {
    /// Reads the description in a model's files, and finds its tensors.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for a model of another kind, or an impossible description.
    pub(crate) fn read(weights: &Weights) -> Result<Self> {
        match weights {
            Weights::Folder(folder) => Self::of_folder(folder),
            Weights::Gguf(_) => Err(invalid("a GGUF file cannot hold a Whisper model: give a folder or a ggml file")),
        }
    }

    fn of_folder(folder: &Folder) -> Result<Self> {
        let architecture = folder::architecture(folder.config())?;
        architecture.check()?;
        let generation = folder.json("generation_config.json")?.unwrap_or_default();
        let tokens = folder::tokens(folder.config(), &generation, &architecture)?;
        tokens.check(architecture.n_vocabulary)?;
        Ok(Self { tensors: folder::tensors(folder, &architecture)?, architecture, tokens })
    }
}
