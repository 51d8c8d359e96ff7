//! Loads models, with a progress bar.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use causerie::{FunctionNames, LoadOptions, ModelBytes, ModelInfo, ModelRunner, ModelText};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;

/// The demo model and its projector, which are parts of this program.
#[cfg(feature = "demo")]
fn demo() -> Result<ModelBytes, Failure> {
    Ok(ModelBytes::from(causerie_demo::MODEL).with_projector(causerie_demo::PROJECTOR))
}

/// The demo model and its projector, whose files are beside this program.
#[cfg(not(feature = "demo"))]
fn demo() -> Result<ModelBytes, Failure> {
    let program = std::env::current_exe()?;
    let read = |name: &str| {
        let path = program.with_file_name(name);
        std::fs::read(&path).map_err(|err| Failure(format!("cannot read the demo model {}: {err}", path.display())))
    };
    Ok(ModelBytes::from(read("demo.gguf")?).with_projector(read("demo-mmproj.gguf")?))
}

/// Returns the options that this program loads models with. Function names may have the forms that the clients of all its
/// HTTP interfaces use.
pub(crate) fn load_options(context_size: Option<usize>) -> LoadOptions {
    LoadOptions { function_names: FunctionNames::Dotted, context_size, ..LoadOptions::default() }
}

/// A model on this device that a command uses.
pub(crate) enum LocalModel {
    Demo,
    Named {
        /// As the user named it.
        name: String,
        /// Its file or folder.
        place: PathBuf,
    },
}

impl LocalModel {
    /// The name that the user gave; `None` for the demo model.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Demo => None,
            Self::Named { name, .. } => Some(name),
        }
    }

    /// What the engine loads; `None` for the demo model. A place that is not UTF-8 is looked up by its name again.
    pub(crate) fn to_load(&self) -> Option<&str> {
        match self {
            Self::Demo => None,
            Self::Named { name, place } => Some(place.to_str().unwrap_or(name)),
        }
    }

    /// Loads the model, with a progress bar.
    pub(crate) fn load(&self, options: LoadOptions) -> Result<ModelRunner, Failure> {
        let Some(place) = self.to_load() else {
            return Ok(ModelRunner::load_from_bytes(demo()?, options)?);
        };
        let bar = progress_bar(format!("loading {}", self.name().unwrap_or(place)));
        let runner = ModelRunner::load_watched(place, options, |loaded| {
            bar.set_position((loaded * 100.0) as u64); // from 0 to 1
            ControlFlow::Continue(())
        });
        bar.finish_and_clear();
        Ok(runner?)
    }

    /// Reads the tokenizer and the chat template, without loading the model.
    pub(crate) fn text(&self) -> Result<ModelText, Failure> {
        Ok(match self.to_load() {
            Some(place) => ModelText::read(place)?,
            None => ModelText::read_from_bytes(demo()?)?,
        })
    }

    /// Describes the model without loading it.
    pub(crate) fn info(&self) -> Result<ModelInfo, Failure> {
        Ok(match self.to_load() {
            Some(place) => ModelInfo::read(place)?,
            None => ModelInfo::read_from_bytes(demo()?)?,
        })
    }
}

/// A bar of 100 steps. It draws nothing if standard error is not a terminal.
pub(crate) fn progress_bar(message: String) -> ProgressBar {
    let bar = ProgressBar::new(100).with_message(message);
    let style = ProgressStyle::with_template("{spinner} {msg} {bar:24} {percent} % {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// A number of parameters, in words.
pub(crate) fn count(number: u64) -> String {
    match number {
        0..1_000_000 => number.to_string(),
        1_000_000..1_000_000_000 => format!("{:.1} million", number as f64 / 1e6),
        _ => format!("{:.2} billion", number as f64 / 1e9),
    }
}
