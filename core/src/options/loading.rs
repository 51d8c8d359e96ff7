//! Options of loading a model.

use std::path::PathBuf;

use super::choices::{CacheType, Device, WeightMemory};
use super::limits::Limits::{AtLeast, Between};
use super::sampling::SamplingDefaults;
use crate::error::Result;
use crate::function::FunctionNames;

__load_options!(options {
    /// How a model is loaded. The defaults suit a chat on one device.
    ///
    /// ```
    /// use causerie::{LoadOptions, ModelRunner};
    ///
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let options = LoadOptions { context_size: Some(2048), ..Default::default() };
    /// assert_eq!(ModelRunner::load_with(model, options)?.context_size(), 2048);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub struct LoadOptions
});

impl LoadOptions {
    /// The default limit of the context size, for models with a larger context; [`context_size`](Self::context_size)
    /// overrides it.
    ///
    /// ```
    /// use causerie::{LoadOptions, ModelInfo};
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let info = ModelInfo::read(model)?;
    /// let memory = info.memory_estimate(info.context_size.min(LoadOptions::DEFAULT_CONTEXT_SIZE));
    /// # assert!(0 < memory.total());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub const DEFAULT_CONTEXT_SIZE: usize = 8192;

    /// `cache_bytes` as a size in memory.
    pub(crate) fn cache_size(&self) -> usize {
        usize::try_from(self.cache_bytes).unwrap_or(usize::MAX)
    }

    /// Checks every field. Loading does the same.
    ///
    /// ```
    /// use causerie::{ErrorKind, LoadOptions};
    ///
    /// let options = LoadOptions { threads: Some(0), ..Default::default() };
    /// assert_eq!(options.check().unwrap_err().kind(), ErrorKind::InvalidOption("threads"));
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`](crate::ErrorKind::InvalidOption) with the name of the field that is out of range.
    pub fn check(&self) -> Result<()> {
        self.check_limits()?;
        self.generation_defaults.check()
    }
}
