//! The GPUs of this machine, and whether one computes as the CPU does.

use crate::error::Result;

/// A GPU that a model can be computed on.
///
/// ```
/// for gpu in causerie::gpus() {
///     println!("{} by {}", gpu.name, gpu.interface);
/// }
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuDescription {
    /// Its name, of which [`LoadOptions::gpu_name`](crate::LoadOptions::gpu_name) takes a part.
    pub name: String,
    /// `card`, `processor` (a part of it, which shares its memory), `software` (taken only by its name), or `other`.
    pub kind: &'static str,
    /// The system's interface to it: `Vulkan`, `Metal` or `DX12`.
    pub interface: &'static str,
    /// The driver and its version, as far as they are known.
    pub driver: String,
}

/// What [`check_gpu`] found.
///
/// ```
/// if let Ok(report) = causerie::check_gpu(None) {
///     println!("{}: {} checks", report.gpu.name, report.checks.len());
/// }
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuReport {
    /// The device.
    pub gpu: GpuDescription,
    /// What its arithmetic does not share with the CPU's, in words.
    pub differences: Vec<String>,
    /// The operations that were compared.
    pub checks: Vec<GpuCheck>,
}

/// An operation that was computed on a GPU and on the CPU.
///
/// ```
/// let check = causerie::GpuCheck { name: "norm".to_owned(), n_values: 1024, n_different: 0 };
/// assert_eq!(check.n_different, 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuCheck {
    /// The operation, the format of its values, and its rows.
    pub name: String,
    /// Values that were compared.
    pub n_values: usize,
    /// Values whose bits differ.
    pub n_different: usize,
}

/// Lists the GPUs of this machine, the preferred one first; none in builds without the feature `gpu`.
///
/// ```
/// let names: Vec<String> = causerie::gpus().into_iter().map(|gpu| gpu.name).collect();
/// # let _ = names;
/// ```
pub fn gpus() -> Vec<GpuDescription> {
    present::gpus()
}

/// Compares the operations of a GPU with the CPU's, bit by bit; `name` is a part of its name.
///
/// ```
/// let missing = causerie::check_gpu(Some("no GPU has this name")).unwrap_err();
/// assert_eq!(missing.kind(), causerie::ErrorKind::InvalidOption("device"));
/// ```
///
/// # Errors
/// [`ErrorKind::InvalidOption`](crate::ErrorKind::InvalidOption) if there is no such GPU, or in builds without the feature `gpu`;
/// [`ErrorKind::Generation`](crate::ErrorKind::Generation) if it fails.
pub fn check_gpu(name: Option<&str>) -> Result<GpuReport> {
    present::check(name)
}

#[cfg(not(feature = "gpu"))]
mod present {
    use super::{GpuDescription, GpuReport};
    use crate::error::{ErrorKind, Result, SdkError};

    pub(super) fn gpus() -> Vec<GpuDescription> {
        Vec::new()
    }

    pub(super) fn check(_: Option<&str>) -> Result<GpuReport> {
        Err(SdkError::new(ErrorKind::InvalidOption("device"), "device is a GPU, which this build does not have"))
    }
}

#[cfg(feature = "gpu")]
mod present {
    use causerie_gpu::{Gpu, GpuAdapter, GpuError, GpuKind, OperationCheck, check_operations};

    use super::{GpuCheck, GpuDescription, GpuReport};
    use crate::error::{ErrorKind, Result, SdkError};

    pub(super) fn gpus() -> Vec<GpuDescription> {
        GpuAdapter::all().iter().map(described).collect()
    }

    pub(super) fn check(name: Option<&str>) -> Result<GpuReport> {
        let error = |kind| move |err: GpuError| SdkError::new(kind, err.to_string()).caused_by(err);
        let adapter = GpuAdapter::choose(name).map_err(error(ErrorKind::InvalidOption("device")))?;
        let gpu = Gpu::open(&adapter).map_err(error(ErrorKind::InvalidOption("device")))?;
        let checks = check_operations(&gpu).map_err(error(ErrorKind::Generation))?;
        let check =
            |OperationCheck { name, n_values, n_different }: OperationCheck| GpuCheck { name, n_values, n_different };
        Ok(GpuReport {
            gpu: described(&adapter),
            differences: gpu.differences().into_iter().map(str::to_owned).collect(),
            checks: checks.into_iter().map(check).collect(),
        })
    }

    fn described(adapter: &GpuAdapter) -> GpuDescription {
        GpuDescription {
            name: adapter.name.clone(),
            kind: match adapter.kind {
                GpuKind::Discrete => "card",
                GpuKind::Integrated => "processor",
                GpuKind::Software => "software",
                GpuKind::Other => "other",
            },
            interface: adapter.interface,
            driver: adapter.driver.clone(),
        }
    }
}
