//! Values between operations, and what products read.

use std::sync::Arc;

use wgpu::Buffer;

use crate::device::Gpu;
use crate::error::GpuError;

/// Values that are added or multiplied, in f32.
pub struct GpuVector {
    pub(crate) buffer: Buffer,
    values: Vec<f32>,
}

impl GpuVector {
    /// Copies values to the device.
    ///
    /// # Errors
    /// The device has no memory left.
    pub fn new(gpu: &Arc<Gpu>, values: &[f32]) -> Result<Self, GpuError> {
        Ok(Self { buffer: gpu.upload(values)?, values: values.to_vec() })
    }

    /// The values, as the host has them.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

/// `(rows, width)` in f32, in memory that is reused.
#[derive(Default)]
pub struct GpuRows {
    pub(crate) values: Reused,
    pub(crate) n_rows: usize,
    pub(crate) width: usize,
}

impl GpuRows {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Values of a row.
    pub fn width(&self) -> usize {
        self.width
    }
}

/// Rows that products read: as floats and, for quantised weights, as bytes with a scale for each 32.
#[derive(Default)]
pub struct GpuInputs {
    pub(crate) floats: Reused,
    pub(crate) quantised: Reused,
    pub(crate) scales: Reused,
    pub(crate) n_rows: usize,
    pub(crate) width: usize,
}

/// Memory that grows, and is not given back before its owner ends.
#[derive(Default)]
pub(crate) struct Reused {
    buffer: Option<Buffer>,
}

impl Reused {
    pub(crate) fn new(buffer: Buffer) -> Self {
        Self { buffer: Some(buffer) }
    }

    /// Provides memory for some words. Returns the buffer, and whether it is a new one.
    pub(crate) fn reserve(&mut self, gpu: &Gpu, n_words: usize) -> Result<(&Buffer, bool), GpuError> {
        let n_bytes = 4 * n_words as u64;
        let is_new = self.buffer.as_ref().is_none_or(|buffer| buffer.size() < n_bytes);
        if is_new {
            self.buffer = Some(gpu.buffer(n_bytes)?);
        }
        Ok((self.get()?, is_new))
    }

    pub(crate) fn get(&self) -> Result<&Buffer, GpuError> {
        self.buffer.as_ref().ok_or_else(|| GpuError::Failed("rows are read before they are computed".to_owned()))
    }
}
