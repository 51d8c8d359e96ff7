//! Options of loading a model.

use super::range::out_of_range;
use super::sampling::SamplingDefaults;
use crate::error::Result;
use crate::function::FunctionNames;

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
#[derive(Clone, Debug, PartialEq)]
pub struct LoadOptions {
    /// The largest number of tokens of a prompt and its reply together, limited to the model's own context size. Default: the
    /// model's context size, at most 8,192.
    pub context_size: Option<usize>,
    /// The device that computes. Default: the CPU.
    pub device: Device,
    /// The GPU's name, or a part of it in upper or lower case, as `causerie inspect devices` shows it. A software device is taken only by
    /// its name. Default: a card with memory of its own, or else the processor's.
    pub gpu_name: Option<String>,
    /// The memory of the GPU that the model and its sequences may take, in bytes. A model that needs more is refused, or goes to the CPU with
    /// [`Device::Auto`]; where sequences need more, replies go on on the CPU. Default: what the system leaves to the process.
    pub gpu_bytes: Option<u64>,
    /// Threads that compute on the CPU, 1 to 1024. No result depends on it. Default: the number of cores; if there are fast
    /// and slow ones, the number of fast ones.
    pub threads: Option<usize>,
    /// The storage format of keys and values; with the feature `metal` it is always F32 on Metal. Default: F16.
    pub cache_type: CacheType,
    /// A chat template that replaces the model's own.
    pub chat_template: Option<String>,
    /// A GGUF file with the projector of a vision model (mmproj). Default: the projector in the model's own files, or
    /// a file beside the model's, whose name contains `mmproj` or `projector`.
    pub projector: Option<String>,
    /// A GGUF file with the part of an audio model that writes frames of sound (vocoder). Default: the part in the model's own folder,
    /// or a file beside the model's, whose name contains `vocoder` or `audiodecoder`.
    pub audio_decoder: Option<String>,
    /// A GGUF file or folder with the part of an audio model that turns frames into sound. Default: the folder `audio_detokenizer` in
    /// the model's own, or a file beside the model's, whose name contains `tokenizer`.
    pub audio_tokenizer: Option<String>,
    /// Whether transparent pixels of pictures show the colours that their file has there, as in transformers. Such colours were
    /// never meant to be seen: black ink on a transparent ground is often black on black. Default: no, they are put on white.
    pub ignores_transparency: bool,
    /// Which names functions may have. Default: letters, digits, `_` and `-`.
    pub function_names: FunctionNames,
    /// Sampling values that replace those recommended by the model's files. The options of a reply take precedence.
    pub generation_defaults: SamplingDefaults,
    /// Size limit of the prefix cache in bytes; 0 disables the cache. The entry used last is kept even if it alone is larger.
    /// An eighth as much is kept of images that were computed, for pictures that are shown again. Default 512 MiB.
    pub cache_bytes: usize,
    /// A folder of the app for packed weights. The first load of a model writes its weights there as the kernels read them, and
    /// later ones map that file instead of reading the model's: they take a fraction of the time and, with
    /// [`WeightMemory::Mapped`], of the memory. No other program may write to the folder. Packed weights are as large as the
    /// weights of the model. When new ones are written, older ones are removed: of other releases, of models that are gone,
    /// and the oldest above the limit. On a GPU, and for a model in memory, nothing is written. Default: none.
    pub packed_folder: Option<String>,
    /// The limit of all packed weights in that folder in bytes. A larger model is not packed. Default 16 GiB.
    pub packed_bytes: u64,
    /// How packed weights come into memory. No result depends on it. Default: mapped on iOS and Android, `Auto` elsewhere.
    pub weight_memory: WeightMemory,
}

/// How packed weights come into memory: the ones in [`packed_folder`](LoadOptions::packed_folder), or in a bundle that was made
/// with them. Weights that are not packed are always converted into memory.
///
/// ```
/// use causerie::{LoadOptions, WeightMemory};
///
/// let options = LoadOptions {
///     packed_folder: Some("cache/packed".to_owned()),
///     weight_memory: WeightMemory::Mapped,
///     ..Default::default()
/// };
/// # assert!(options.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightMemory {
    /// They stay in the file, which is mapped: loading copies nothing, the memory counts as the system's, and processes share it.
    /// If another program truncates the file, the process ends on Unix; docs/packed-weights.md says more.
    Mapped,
    /// They are read into memory of the process, and the file is not used any more.
    Copied,
    /// They are mapped, and copied to large pages while no reply runs, if there is enough free memory: replies are written faster
    /// from these.
    Auto,
}

impl Default for WeightMemory {
    /// Mapped on iOS and Android, `Auto` elsewhere.
    fn default() -> Self {
        if cfg!(any(target_os = "ios", target_os = "android")) { Self::Mapped } else { Self::Auto }
    }
}

/// More than the processors of any machine.
const MAX_THREADS: usize = 1024;

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            context_size: None,
            device: Device::default(),
            gpu_name: None,
            gpu_bytes: None,
            threads: None,
            cache_type: CacheType::default(),
            chat_template: None,
            projector: None,
            audio_decoder: None,
            audio_tokenizer: None,
            ignores_transparency: false,
            function_names: FunctionNames::default(),
            generation_defaults: SamplingDefaults::default(),
            cache_bytes: 512 << 20,
            packed_folder: None,
            packed_bytes: 16 << 30,
            weight_memory: WeightMemory::default(),
        }
    }
}

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
        if self.context_size == Some(0) {
            return Err(out_of_range("context_size", 0, "1 or more"));
        }
        if let Some(threads) = self.threads.filter(|threads| !(1..=MAX_THREADS).contains(threads)) {
            return Err(out_of_range("threads", threads, "between 1 and 1024"));
        }
        self.generation_defaults.check()
    }
}

/// The storage format of keys and values.
///
/// ```
/// use causerie::{CacheType, LoadOptions};
///
/// let exact = LoadOptions { cache_type: CacheType::F32, ..Default::default() };
/// # assert!(exact.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheType {
    /// Half the memory and traffic of F32; other engines use it too.
    #[default]
    F16,
    /// For comparisons with references to the last digit.
    F32,
    /// Bytes with a scale for each 32 values of a head: little more than half of F16, for long contexts. It is coarser; how
    /// much a model loses by it has to be measured.
    Q8_0,
}

/// The device that a model is computed on.
///
/// ```
/// use causerie::{Device, LoadOptions};
///
/// let options = LoadOptions { device: Device::Auto, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The CPU.
    #[default]
    Cpu,
    /// A GPU, by Vulkan, Metal or DX12; pictures and sound are still computed on the CPU. Requires a build with the feature `gpu`; in
    /// other builds, loading fails with [`ErrorKind::InvalidOption`](crate::ErrorKind::InvalidOption), and so it does without a GPU.
    /// docs/gpu.md says what was tried on what.
    Gpu,
    /// A GPU if there is one that computes the model and has memory for it, otherwise the CPU; the choice is logged. On phones and in
    /// builds without the feature `gpu`, the CPU.
    Auto,
    /// As [`Gpu`](Self::Gpu), by an earlier name. In builds with the feature `metal` and without `gpu`, the GPU of an Apple device by
    /// candle's tensors.
    Metal,
}
