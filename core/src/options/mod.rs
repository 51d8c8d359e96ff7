//! Options of a generation and of loading, and their defaults.

pub(crate) mod limits;
mod choices;
mod generation;
mod sampling;
mod loading;
mod speech;

pub use choices::{
    CacheType, ContextPolicy, Device, OnBusy, OnCancel, SpeechMode, SpeechVoice, Strictness, ToolCallConstraint,
    ToolChoice, WeightMemory,
};
pub use generation::GenerationOptions;
pub use loading::LoadOptions;
pub use sampling::{Sampling, SamplingDefaults};
pub(crate) use speech::{FrameSampling, SpeechSampling};
