//! Whisper: an encoder of sound and a decoder that writes text, from a Hugging Face folder or a file of ggml.
//!
//! Tensors have the names of the original model, which ggml's files also have.

mod architecture;
mod folder;
mod ggml;
mod names;
mod tokens;

use crate::error::Result;
use crate::weights::{SpeechFiles, Tensors, Weights};

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
    pub(crate) fn read(files: &SpeechFiles) -> Result<Self> {
        let (architecture, tokens, tensors) = match files {
            SpeechFiles::Ggml(file) => {
                let architecture = ggml::architecture(&file.sizes)?;
                let tokens = ggml::tokens(file, &architecture);
                (architecture, tokens, ggml::tensors(file)?)
            }
            SpeechFiles::Other(Weights::Folder(folder)) => {
                let architecture = folder::architecture(folder.config())?;
                let generation = folder.json("generation_config.json")?.unwrap_or_default();
                let tokens = folder::tokens(folder.config(), &generation, &architecture)?;
                let tensors = folder::tensors(folder, &architecture)?;
                (architecture, tokens, tensors)
            }
            SpeechFiles::Other(Weights::Gguf(_)) => {
                return Err(invalid("a Whisper model must be a folder or a file of ggml, found a GGUF file"));
            }
        };
        architecture.check()?;
        tokens.check(architecture.n_vocabulary)?;
        Ok(Self { architecture, tokens, tensors })
    }
}
