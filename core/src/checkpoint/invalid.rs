//! The error of a model whose files cannot be used.

use crate::error::{ErrorKind, SdkError};

/// The error for a kind of layer that some models mix with attention.
pub(crate) fn mamba(layer: usize) -> SdkError {
    invalid(format!("layer {layer} is a Mamba layer, which is not supported"))
}

/// An error in what a model's files say.
pub(crate) fn invalid(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, message)
}

/// The error for a model that embeds texts, where one that writes them is needed.
pub(crate) fn embeds(name: &str) -> SdkError {
    invalid(format!("architecture {name:?} embeds texts and writes none: it is loaded as an EmbeddingModel"))
}
