//! The weights in a GPU's memory.

use std::error::Error;
use std::sync::Arc;

use causerie_gpu::{CacheFormat, ChoiceRows, Gpu, GpuError, GpuMatrix, GpuRows, GpuVector, Recorder};
use parking_lot::Mutex;

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::backend::{Backend, UsedGpu};
use crate::model::stored::Storage;
use crate::options::CacheType;
use crate::weights::{MatrixPlace, Tensors};

/// Computes on a GPU, in WGSL.
pub(crate) struct Wgsl {
    pub(super) recorder: Arc<Recorder>,
    pub(super) cache_format: CacheFormat,
    /// Heads of a delta net between a norm and a gate.
    pub(super) normed: Mutex<GpuRows>,
    pub(super) choices: Mutex<ChoiceRows>,
}

impl Wgsl {
    /// Sequences may take so many bytes.
    pub(crate) fn new(gpu: &Arc<Gpu>, cache_type: CacheType, max_state_bytes: u64) -> Result<Self> {
        let recorder = Recorder::with_limit(Arc::clone(gpu), max_state_bytes);
        let recorder = recorder.map_err(|err| gpu_error(ErrorKind::ModelLoad, err))?;
        let cache_format = match cache_type {
            CacheType::F16 => CacheFormat::F16,
            CacheType::F32 => CacheFormat::F32,
            CacheType::Q8_0 => CacheFormat::Q8_0,
        };
        Ok(Self { recorder: Arc::new(recorder), cache_format, normed: Mutex::default(), choices: Mutex::default() })
    }
}

#[cfg(test)]
impl Wgsl {
    pub(crate) fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }
}

impl Backend for Wgsl {
    type Matrix = GpuMatrix;
    type Vector = GpuVector;

    fn matrix(&self, tensors: &Tensors, place: &MatrixPlace<'_>) -> Result<GpuMatrix> {
        let blocks = tensors.blocks(place)?;
        let storage = Storage::new(blocks.tensor_type());
        let read = |stored: std::ops::Range<usize>| {
            let [start, end] = [stored.start, stored.end].map(|at| storage.bytes_in_file(at));
            blocks.read(start..end).map(|blocks| storage.convert(blocks))
        };
        GpuMatrix::new(self.recorder.gpu(), storage.format, place.shape, read)
            .map_err(|err| unloaded(tensors, place, err))
    }

    fn matrices(&self, tensors: &Tensors, places: &[MatrixPlace<'_>]) -> Result<Vec<GpuMatrix>> {
        let blocks: Vec<_> = places.iter().map(|place| tensors.blocks(place)).collect::<Result<_>>()?;
        let Some((first, place)) = blocks.first().zip(places.first()) else { return Ok(Vec::new()) };
        let storage = Storage::new(first.tensor_type());
        let read = |at: usize, stored: std::ops::Range<usize>| {
            let [start, end] = [stored.start, stored.end].map(|at| storage.bytes_in_file(at));
            blocks[at].read(start..end).map(|blocks| storage.convert(blocks))
        };
        GpuMatrix::stack(self.recorder.gpu(), storage.format, places.len(), place.shape, read)
            .map_err(|err| unloaded(tensors, place, err))
    }

    fn gpu(&self) -> Option<UsedGpu> {
        let gpu = self.recorder.gpu();
        let differences = gpu.differences().into_iter().map(str::to_owned).collect();
        Some(UsedGpu { name: gpu.name().to_owned(), differences })
    }

    fn vector(&self, values: Vec<f32>) -> Result<GpuVector> {
        GpuVector::new(self.recorder.gpu(), &values).map_err(|err| gpu_error(ErrorKind::ModelLoad, err))
    }
}

/// The error of a tensor that a device could not take.
fn unloaded(tensors: &Tensors, place: &MatrixPlace<'_>, err: GpuError) -> SdkError {
    let message = format!("tensor {} cannot be loaded", tensors.file_name(place.name));
    SdkError::new(ErrorKind::ModelLoad, message).caused_by(err)
}

/// The error of a device.
pub(crate) fn gpu_error(kind: ErrorKind, err: GpuError) -> SdkError {
    SdkError::new(kind, err.to_string()).caused_by(err)
}

/// The fault of a device that caused an error.
pub(crate) fn gpu_fault(err: &SdkError) -> Option<&GpuError> {
    err.source()?.downcast_ref()
}

/// The error of a step that a device could not compute.
pub(super) fn failed_step(err: GpuError) -> SdkError {
    gpu_error(ErrorKind::Generation, err)
}
