//! Decision models: language models that answer questions with probabilities instead of text.

use crate::checkpoint::invalid::invalid;
use crate::error::Result;
use crate::weights::{GgufFile, Weights};

/// The type of decision model that is supported: its answers are read from the logits after a prompt.
const SUPPORTED: &str = "lfm2-d1";

/// Whether the files belong to a decision model.
///
/// # Errors
/// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for a type that is not supported.
pub(crate) fn is_decision_model(files: &Weights) -> Result<bool> {
    match files {
        Weights::Gguf(file) => check_decision_type(file),
        Weights::Folder(_) => Ok(false),
    }
}

/// As [`is_decision_model`], of a GGUF file.
pub(super) fn check_decision_type(file: &GgufFile) -> Result<bool> {
    let Some(architecture) = file.text("general.architecture")? else { return Ok(false) };
    let key = format!("{architecture}.decision.type");
    match file.text(&key)? {
        None => Ok(false),
        Some(SUPPORTED) if architecture == "lfm2" => Ok(true),
        Some(name) => Err(invalid(format!("metadata {key} must be {SUPPORTED:?} of an lfm2 model, found {name:?}"))),
    }
}
