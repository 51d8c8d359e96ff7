//! Options of a generation and of loading, and their defaults.

mod range;
mod choices;
mod generation;
mod sampling;
mod loading;
mod speech;
mod voice;

pub use choices::{ContextPolicy, OnBusy, OnCancel, Strictness, ToolCallConstraint, ToolChoice};
pub use generation::GenerationOptions;
pub use loading::{CacheType, Device, LoadOptions, WeightMemory};
pub use sampling::{Sampling, SamplingDefaults};
pub(crate) use speech::FrameSampling;
pub use speech::{SpeechMode, SpeechOptions};
pub use voice::SpeechVoice;
