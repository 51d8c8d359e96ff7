//! Loads the model that was asked for, with a sign of life while it takes long.

use std::time::Duration;

use causerie::{LoadOptions, ModelInfo, ModelRunner};
use indicatif::{ProgressBar, ProgressStyle};

use crate::Failure;

/// The demo model, part of this program.
static DEMO: &[u8] = include_bytes!("../../models/demo.gguf");

/// The model named, or the demo model.
pub(crate) fn load(name: Option<&str>) -> Result<ModelRunner, Failure> {
    let Some(name) = name else {
        return Ok(ModelRunner::load_from_bytes(DEMO, LoadOptions::default())?);
    };
    // Draws nothing where standard error is no terminal.
    let spinner = ProgressBar::new_spinner().with_message(format!("loading {name}"));
    spinner.set_style(
        ProgressStyle::with_template("{spinner} {msg} {elapsed}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    spinner.enable_steady_tick(Duration::from_millis(100));
    let runner = ModelRunner::load(name);
    spinner.finish_and_clear();
    Ok(runner?)
}

/// What the model named is, or the demo model, without loading it.
pub(crate) fn info(name: Option<&str>) -> Result<ModelInfo, Failure> {
    Ok(match name {
        Some(name) => ModelInfo::read(name)?,
        None => ModelInfo::read_from_bytes(DEMO)?,
    })
}
