//! What can go wrong on a device.

use std::error::Error;
use std::fmt;

/// Why a device cannot be used, or does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuError {
    /// There is no such device; the text names those that there are.
    NotFound(String),
    /// The device lacks something that all kernels need.
    Unsuitable(String),
    /// The device has no memory left.
    OutOfMemory(String),
    /// The device was removed, reset or given up, or a driver gave up. What was in its memory is gone.
    Lost(String),
    /// A kernel was refused, or a file could not be read.
    Failed(String),
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(text) => write!(f, "no GPU: {text}"),
            Self::Unsuitable(text) => write!(f, "the GPU cannot be used: {text}"),
            Self::OutOfMemory(text) => write!(f, "the GPU's memory is exhausted: {text}"),
            Self::Lost(text) => write!(f, "the GPU was lost: {text}"),
            Self::Failed(text) => write!(f, "the GPU failed: {text}"),
        }
    }
}

impl Error for GpuError {}

impl From<wgpu::Error> for GpuError {
    fn from(err: wgpu::Error) -> Self {
        match err {
            wgpu::Error::OutOfMemory { source } => Self::OutOfMemory(source.to_string()),
            wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
                Self::Failed(description)
            }
        }
    }
}
