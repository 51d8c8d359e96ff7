//! Reads weights and computes on the CPU. This is the only crate of causerie that may contain `unsafe`.
//!
//! [`Matrix`] holds weights in the order in which products read them, [`Cpu`] has the operations that models are made of.
//! Results do not depend on the number of threads or rows, nor on the processor: all kernels keep one order of operations.

mod cores;
mod grid;
mod memory;
mod pool;
mod random;
mod simd;
mod model_file;
mod matrix;
mod activations;
mod kernels;
mod pages;
mod ops;
mod delta_memory;
mod arguments;
mod cpu;
mod decays;

pub use activations::Activations;
pub use arguments::{AttentionStep, ConvolutionStep, DeltaStep, Product, ResidualAddition, Rotation};
pub use cores::fast_cores;
pub use cpu::Cpu;
pub use delta_memory::DeltaMemory;
pub use matrix::{Format, MappedTiles, Matrix};
pub use memory::{ProgramAllocator, give_back as give_memory_back, is_reservable};
pub use model_file::{MappedFile, ModelFile};
pub use ops::attention::AttentionMask;
pub use ops::channel_convolution::ChannelGrid;
pub use ops::delta_net::{DeltaShape, DeltaTokens};
pub use ops::gate::GateFunction;
pub use ops::grid_convolution::PatchGrid;
pub use ops::relative_attention::RelativeAttention;
pub use ops::rotation::Pairing;
pub use pages::{CacheShape, CacheType, KeyValues};
pub use random::SplitMix64;
