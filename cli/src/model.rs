//! Loads models, with a progress bar.

use std::ops::ControlFlow;
use std::time::Duration;

use causerie::{FunctionNames, LoadOptions, ModelBytes, ModelInfo, ModelRunner, ModelText};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;

/// The demo model and its projector, which are parts of this program.
static DEMO: &[u8] = include_bytes!("../../models/demo.gguf");
static DEMO_PROJECTOR: &[u8] = include_bytes!("../../models/demo-mmproj.gguf");

fn demo() -> ModelBytes {
    ModelBytes::from(DEMO).with_projector(DEMO_PROJECTOR)
}

/// Returns the options that this program loads models with. Function names may have the forms that the clients of all its
/// HTTP interfaces use.
pub(crate) fn load_options(context_size: Option<usize>) -> LoadOptions {
    LoadOptions { function_names: FunctionNames::Dotted, context_size, ..LoadOptions::default() }
}

/// Loads the model that was named, or the demo model.
pub(crate) fn load(name: Option<&str>, context_size: Option<usize>) -> Result<ModelRunner, Failure> {
    load_with(name, load_options(context_size))
}

pub(crate) fn load_with(name: Option<&str>, options: LoadOptions) -> Result<ModelRunner, Failure> {
    let Some(name) = name else {
        return Ok(ModelRunner::load_from_bytes(demo(), options)?);
    };
    let bar = progress_bar(format!("loading {name}"));
    let runner = ModelRunner::load_watched(name, options, |loaded| {
        bar.set_position((loaded * 100.0) as u64); // from 0 to 1
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    Ok(runner?)
}

/// A bar of 100 steps. It draws nothing if standard error is not a terminal.
pub(crate) fn progress_bar(message: String) -> ProgressBar {
    let bar = ProgressBar::new(100).with_message(message);
    let style = ProgressStyle::with_template("{spinner} {msg} {bar:24} {percent} % {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Reads the tokenizer and the chat template of the model that was named, or of the demo model, without loading it.
pub(crate) fn text(name: Option<&str>) -> Result<ModelText, Failure> {
    Ok(match name {
        Some(name) => ModelText::read(name)?,
        None => ModelText::read_from_bytes(demo())?,
    })
}

/// Describes the model that was named, or the demo model, without loading it.
pub(crate) fn info(name: Option<&str>) -> Result<ModelInfo, Failure> {
    Ok(match name {
        Some(name) => ModelInfo::read(name)?,
        None => ModelInfo::read_from_bytes(demo())?,
    })
}

/// A number of parameters, in words.
pub(crate) fn count(number: u64) -> String {
    match number {
        0..1_000_000 => number.to_string(),
        1_000_000..1_000_000_000 => format!("{:.1} million", number as f64 / 1e6),
        _ => format!("{:.2} billion", number as f64 / 1e9),
    }
}
