//! Options of loading a model.

use super::out_of_range;
use super::sampling::SamplingDefaults;
use crate::error::Result;
use crate::function::FunctionNames;

/// How a model is loaded. The default is what a chat on one device wants.
///
/// On a CPU that our kernels do not know, candle computes, with threads that are one set for all models of a process: the
/// environment variables `CANDLE_NUM_THREADS` and `RAYON_NUM_THREADS`, set to the same number before the first model is
/// loaded, choose how many.
///
/// ```
/// use causerie::{LoadOptions, ModelRunner};
///
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
/// let options = LoadOptions { context_size: Some(2048), ..Default::default() };
/// assert_eq!(ModelRunner::load_with(model, options)?.context_size(), 2048);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LoadOptions {
    /// Tokens that a prompt and its reply can have together; more than the model was made for is cut to that. Default:
    /// what the model was made for, at most 8,192.
    pub context_size: Option<usize>,
    /// What computes. Default: the CPU.
    pub device: Device,
    /// Threads that compute, 1 to 1024, where the CPU is one that our kernels know; elsewhere as many as there are
    /// processors do. No result depends on it. Default: as many as there are cores, of fast and slow ones the fast.
    pub threads: Option<usize>,
    /// What keys and values are kept as, where the CPU is one that our kernels know; F32 elsewhere. Default: F16.
    pub cache_type: CacheType,
    /// Whether tokens that are the only ones possible, and guesses at what calls and quotes repeat, are read along with the
    /// token before them. Where our kernels compute, no reply depends on it, only its speed. Default: true.
    pub look_ahead: bool,
    /// A chat template in place of the model's own.
    pub chat_template: Option<String>,
    /// The form in which the chat template is handed functions. Default: what its family is used to.
    pub tool_list_form: Option<ToolListForm>,
    /// Which names the functions that the model is offered may have. Default: letters, `_` and digits.
    pub function_names: FunctionNames,
    /// Sampling values in place of those that the model's files recommend; they stand behind the options of a reply.
    pub generation_defaults: SamplingDefaults,
    /// From which the seeds of replies follow that have none of their own, in the order of their requests. Default: none,
    /// and they are drawn anew.
    pub random_seed: Option<u64>,
    /// Bytes that the beginnings of prompts which were read before may take; 0 keeps none. The one used last is kept even if it
    /// alone takes more. Default 512 MiB.
    pub cache_bytes: usize,
    /// How many of them are kept; 0 keeps none. Default 256.
    pub cache_entries: usize,
}

/// More than any machine has processors for one model.
const MOST_THREADS: usize = 1024;

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            context_size: None,
            device: Device::default(),
            threads: None,
            cache_type: CacheType::default(),
            look_ahead: true,
            chat_template: None,
            tool_list_form: None,
            function_names: FunctionNames::default(),
            generation_defaults: SamplingDefaults::default(),
            random_seed: None,
            cache_bytes: 512 << 20,
            cache_entries: 256,
        }
    }
}

impl LoadOptions {
    /// Tokens of context that are used of models which could hold more, unless [`context_size`](Self::context_size) says
    /// otherwise.
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

    /// Checks every field; loading does the same.
    ///
    /// ```
    /// use causerie::{ErrorKind, LoadOptions};
    ///
    /// let options = LoadOptions { threads: Some(0), ..Default::default() };
    /// assert_eq!(options.check().unwrap_err().kind(), ErrorKind::InvalidOption("threads"));
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`](crate::ErrorKind::InvalidOption) naming the field that is out of its range.
    pub fn check(&self) -> Result<()> {
        if self.context_size == Some(0) {
            return Err(out_of_range("context_size", 0, "1 or more"));
        }
        if let Some(threads) = self.threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
            return Err(out_of_range("threads", threads, "1 to 1024"));
        }
        self.generation_defaults.check()
    }
}

pub use causerie_backend::CacheType;

/// What a model computes on.
///
/// ```
/// use causerie::{Device, LoadOptions};
///
/// let options = LoadOptions { device: Device::Metal, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// The GPU of an Apple device. Needs a build with the feature `metal`; without one, loading ends with
    /// [`ErrorKind::InvalidOption`](crate::ErrorKind::InvalidOption).
    Metal,
}

/// The form of the entries in the tool list that a model reads.
///
/// ```
/// use causerie::{LoadOptions, ToolListForm};
///
/// let options = LoadOptions { tool_list_form: Some(ToolListForm::Wrapped), ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolListForm {
    /// `{"name", "description", "parameters"}`, as LFM2 is shown them.
    Bare,
    /// `{"type": "function", "function": {…}}`, as chat completions have them.
    Wrapped,
}
