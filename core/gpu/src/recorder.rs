//! Collects the kernels of a model's steps. Its further methods are the [operations](crate::operations).

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use wgpu::Buffer;

use crate::device::Gpu;
use crate::error::GpuError;
use crate::pools::ItemPools;
use crate::recording::{RecordedCounts, StepRecording};
use crate::rows::{GpuRows, Reused};

/// Collects the kernels of a model's steps.
pub struct Recorder {
    gpu: Arc<Gpu>,
    pools: ItemPools,
    recording: Mutex<StepRecording>,
}

impl Recorder {
    /// # Errors
    /// The device has no memory left, or a fault.
    pub fn new(gpu: Arc<Gpu>) -> Result<Self, GpuError> {
        Self::with_limit(gpu, u64::MAX)
    }

    /// A recorder of a model whose sequences take at most so many bytes in all; beyond these, steps fail with
    /// [`GpuError::OutOfMemory`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_limit(gpu: Arc<Gpu>, max_state_bytes: u64) -> Result<Self, GpuError> {
        let recording = Mutex::new(StepRecording::new(&gpu)?);
        Ok(Self { gpu, pools: ItemPools::new(max_state_bytes), recording })
    }

    /// The device.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    pub(crate) fn pools(&self) -> &ItemPools {
        &self.pools
    }

    pub(crate) fn record(&self) -> MutexGuard<'_, StepRecording> {
        self.recording.lock()
    }

    /// Copies rows to the device, into memory of their own. Unlike [`upload`](Self::upload), this does not belong to a step, which
    /// another thread may record meanwhile.
    ///
    /// # Errors
    /// The device has no memory left.
    pub fn uploaded(&self, values: &[f32], width: usize) -> Result<GpuRows, GpuError> {
        let n_rows = values.len() / width.max(1);
        Ok(GpuRows { values: Reused::new(self.gpu.upload(values)?), n_rows, width })
    }

    /// What was recorded so far.
    pub fn counts(&self) -> RecordedCounts {
        self.record().counts()
    }

    /// Submits what was recorded, and forgets bindings, so that rows of their own can be freed.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn submit(&self) -> Result<(), GpuError> {
        let mut recording = self.recording.lock();
        recording.submit(&self.gpu);
        recording.forget_bindings();
        self.gpu.check()
    }

    /// Submits what was recorded, and forgets the step's table.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn end_step(&self) -> Result<(), GpuError> {
        self.recording.lock().end(&self.gpu);
        self.gpu.check()
    }

    /// Reads some rows.
    ///
    /// # Errors
    /// A fault of the device, or a step that it dropped.
    pub fn read(&self, rows: &GpuRows, range: std::ops::Range<usize>, to: &mut Vec<f32>) -> Result<(), GpuError> {
        self.recording.lock().read_rows(&self.gpu, rows, range, to)
    }

    /// Reads bytes of a buffer, after all that was recorded.
    pub(crate) fn read_buffer(&self, buffer: &Buffer, start: u64, n_bytes: u64) -> Result<Vec<u8>, GpuError> {
        self.recording.lock().read(&self.gpu, buffer, start, n_bytes)
    }
}
