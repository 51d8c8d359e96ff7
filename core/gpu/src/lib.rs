//! Computes on GPUs, in WGSL over wgpu, with the bits of the CPU's kernels.
//!
//! [`Gpu`] is an opened device. A [`Recorder`] collects the kernels of whole steps and reads back only what is asked for. Its methods
//! are the operations that models are made of, over [`GpuRows`], [`GpuInputs`] and [`GpuMatrix`]; this crate knows no models.

mod error;
mod texts;
mod row_texts;
mod kernels;
mod adapters;
mod probe;
mod device;
mod rows;
mod recording;
mod pools;
mod recorder;
mod past;
mod state;
mod planes;
mod matrix;
mod operations;
mod checks;
#[cfg(test)]
mod tests;

pub use adapters::{GpuAdapter, GpuKind};
pub use checks::{OperationCheck, check_operations};
pub use device::Gpu;
pub use error::GpuError;
pub use kernels::{AttentionEnd, CacheFormat, GateCurve, Kernel, MultiplyAdd, PairForm, RowEnd, RowFront, WeightForm};
pub use matrix::GpuMatrix;
pub use operations::{
    AttentionRow, ChoiceRows, ChosenExperts, ExpertChoice, LargestValue, NormedRow, OutputNorm, PendingLargest,
    PlacedHeads, RowRotation,
};
pub use past::{GpuKeyValues, KeyValueShape};
pub use pools::PoolItem;
pub use probe::ArithmeticReport;
pub use recorder::Recorder;
pub use recording::RecordedCounts;
pub use rows::{GpuInputs, GpuRows, GpuVector};
pub use state::{DeltaSizes, GpuDeltaMemory, GpuState, GpuWindow, StateSizes, WindowSizes};
