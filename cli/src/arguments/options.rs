//! Options that several commands share.

use std::path::PathBuf;

use causerie::{CacheType, Device, GenerationOptions, LoadOptions, WeightMemory};
use clap::{Args, ValueEnum};

use causerie_server::access::Auth;
use causerie_server::serve::check_origin;

#[derive(Args)]
pub(crate) struct ModelOption {
    /// GGUF file, Hugging Face folder, or NAMESPACE/NAME[:TAG], which is downloaded if needed [default: the embedded demo model].
    #[arg(long = "model", value_name = "MODEL")]
    pub(crate) name: Option<String>,
}

/// The size of the model's context.
#[derive(Args)]
pub(crate) struct ContextOption {
    /// Maximum number of tokens in a prompt and its reply together [default: the model's limit, at most 8192].
    #[arg(long = "context", value_name = "N", value_parser = token_count)]
    pub(crate) size: Option<usize>,
}

/// What computes a model, where packed weights lie, how they come into memory, and how keys and values are stored.
#[derive(Args)]
pub(crate) struct LoadingArguments {
    /// Folder for packed weights: the first load of a model writes its weights there as kernels read them, and later ones map that
    /// file. Packed weights are as large as the model's [default: none].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) packed_folder: Option<PathBuf>,
    /// How packed weights come into memory: mapped takes the least, copied reads them into memory of the process, and auto maps
    /// them, and copies them while no reply runs.
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) weight_memory: WeightMemoryName,
    /// Storage format of keys and values: f32 takes twice the memory of f16, for comparison with references; q8_0 takes little more
    /// than half of it, with less precision.
    #[arg(long, value_name = "TYPE", default_value = "f16")]
    pub(crate) cache_type: CacheTypeName,
    /// What computes the model: auto takes a GPU if there is one that can. A GPU needs a build with the feature gpu.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: DeviceName,
    /// The GPU's name, or a part of it; `causerie inspect devices` lists them [default: the first that is not software].
    #[arg(long, value_name = "NAME")]
    pub(crate) gpu_name: Option<String>,
    /// Memory of the GPU that the model and its sequences may take, in bytes [default: what the system leaves].
    #[arg(long, value_name = "N")]
    pub(crate) gpu_bytes: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum DeviceName {
    Cpu,
    Gpu,
    Auto,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum WeightMemoryName {
    Mapped,
    Copied,
    Auto,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum CacheTypeName {
    F16,
    F32,
    #[value(name = "q8_0")]
    Q8_0,
}

impl LoadingArguments {
    /// Adds these options to others.
    pub(crate) fn add_to(&self, options: LoadOptions) -> LoadOptions {
        let weight_memory = match self.weight_memory {
            WeightMemoryName::Mapped => WeightMemory::Mapped,
            WeightMemoryName::Copied => WeightMemory::Copied,
            WeightMemoryName::Auto => WeightMemory::Auto,
        };
        let packed_folder = self.packed_folder.clone();
        let cache_type = match self.cache_type {
            CacheTypeName::F16 => CacheType::F16,
            CacheTypeName::F32 => CacheType::F32,
            CacheTypeName::Q8_0 => CacheType::Q8_0,
        };
        let device = match self.device {
            DeviceName::Cpu => Device::Cpu,
            DeviceName::Gpu => Device::Gpu,
            DeviceName::Auto => Device::Auto,
        };
        let (gpu_name, gpu_bytes) = (self.gpu_name.clone(), self.gpu_bytes);
        LoadOptions { packed_folder, weight_memory, cache_type, device, gpu_name, gpu_bytes, ..options }
    }
}

/// Sampling options. An option that is not given takes the model's own default, or else the default shown.
#[derive(Args)]
pub(crate) struct SamplingArguments {
    /// Maximum number of tokens in the reply [default: until the model ends it].
    #[arg(long, value_name = "N")]
    max_tokens: Option<usize>,
    /// Randomness; 0 always takes the most probable token [default: the model's, else 1.0].
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    temperature: Option<f32>,
    /// Keep the most probable tokens whose probabilities sum up to this value [default: the model's, else 1.0].
    #[arg(long, value_name = "X")]
    top_p: Option<f32>,
    /// Keep the k most probable tokens; 0 keeps all [default: the model's, else 50].
    #[arg(long, value_name = "K")]
    top_k: Option<usize>,
    /// Keep tokens with at least this fraction of the best token's probability [default: the model's, else 0].
    #[arg(long, value_name = "X")]
    min_p: Option<f32>,
    /// Values above 1 make repeated tokens less probable [default: the model's, else 1.0].
    #[arg(long, value_name = "X")]
    repetition_penalty: Option<f32>,
    /// Let a reply go on whose end only repeats itself; otherwise it is ended.
    #[arg(long)]
    allow_repetition: bool,
    /// Seed of the sampler; the same seed gives the same reply [default: random].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl SamplingArguments {
    pub(crate) fn options(&self) -> GenerationOptions {
        GenerationOptions {
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.top_k,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            seed: self.seed,
            max_tokens: self.max_tokens,
            stop_on_repetition: Some(!self.allow_repetition),
            ..Default::default()
        }
    }
}

/// The keys that a hosted server accepts.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum AuthMode {
    /// Requests need a key of the organization.
    Private,
    /// Requests need a key of any organization.
    Shared,
    /// Requests need no key.
    Public,
}

impl From<AuthMode> for Auth {
    fn from(mode: AuthMode) -> Self {
        match mode {
            AuthMode::Private => Self::Private,
            AuthMode::Shared => Self::Shared,
            AuthMode::Public => Self::Public,
        }
    }
}

/// Parses a number of tokens or of measurements: at least one, and at most what any context holds.
pub(super) fn token_count(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1 << 24).contains(number));
    number.ok_or_else(|| "must be an integer from 1 to 16777216".to_owned())
}

/// Parses a number of threads, slots, megabytes or concurrent replies.
pub(super) fn small_count(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1024).contains(number));
    number.ok_or_else(|| "must be an integer from 1 to 1024".to_owned())
}

/// Parses a number of connections: at least one, and at most what any system has.
pub(super) fn connection_count(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1 << 20).contains(number));
    number.ok_or_else(|| "must be an integer from 1 to 1048576".to_owned())
}

/// Parses an origin that browsers may send requests from.
pub(super) fn origin(text: &str) -> Result<String, String> {
    check_origin(text).map(|()| text.to_owned())
}
