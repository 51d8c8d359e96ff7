//! The devices of a machine, and which one is taken.

use wgpu::{Backend, Backends, DeviceType, Instance, InstanceDescriptor};

use crate::error::GpuError;

/// The share of the memory that the system leaves to this process, in percent, above which an allocation fails. Beyond all of it, drivers
/// move memory to the host or lose the device.
const BUDGET_SHARE: u8 = 95;

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GpuKind {
    /// A card with memory of its own.
    Discrete,
    /// A part of the processor, which shares its memory.
    Integrated,
    /// Something else, for example the device of a virtual machine.
    Other,
    /// A program that computes as a device would; it is slower than the CPU's own kernels.
    Software,
}

/// A device that could be opened.
pub struct GpuAdapter {
    pub(crate) adapter: wgpu::Adapter,
    /// Its name, as the driver gives it.
    pub name: String,
    /// What it is.
    pub kind: GpuKind,
    /// The system's interface to it: Vulkan, Metal or DX12.
    pub interface: &'static str,
    /// The driver and its version, as far as it is known.
    pub driver: String,
}

impl GpuAdapter {
    /// Lists the devices of this machine, the preferred one first.
    pub fn all() -> Vec<Self> {
        let mut descriptor = InstanceDescriptor::new_without_display_handle();
        descriptor.backends = Backends::VULKAN | Backends::METAL | Backends::DX12;
        descriptor.memory_budget_thresholds.for_resource_creation = Some(BUDGET_SHARE);
        let instance = Instance::new(descriptor);
        let adapters = pollster::block_on(instance.enumerate_adapters(Backends::all()));
        let mut all: Vec<Self> = adapters.into_iter().filter_map(Self::new).collect();
        all.sort_by_key(|adapter| adapter.kind);
        all
    }

    /// The first device whose name contains `name`, in upper or lower case; without a name, the first that is not software.
    ///
    /// # Errors
    /// [`GpuError::NotFound`], which lists the devices.
    pub fn choose(name: Option<&str>) -> Result<Self, GpuError> {
        let all = Self::all();
        let names: Vec<String> = all.iter().map(|adapter| format!("{:?}", adapter.name)).collect();
        let chosen = all.into_iter().find(|adapter| match name {
            Some(name) => adapter.name.to_lowercase().contains(&name.to_lowercase()),
            None => adapter.kind != GpuKind::Software,
        });
        chosen.ok_or_else(|| {
            let found = if names.is_empty() { "no device with a driver".to_owned() } else { names.join(", ") };
            GpuError::NotFound(match name {
                Some(name) => format!("expected a name with {name:?}, found {found}"),
                None => format!("expected one that is not software, found {found}"),
            })
        })
    }

    fn new(adapter: wgpu::Adapter) -> Option<Self> {
        let info = adapter.get_info();
        let interface = match info.backend {
            Backend::Vulkan => "Vulkan",
            Backend::Metal => "Metal",
            Backend::Dx12 => "DX12",
            _ => return None,
        };
        let kind = match info.device_type {
            DeviceType::DiscreteGpu => GpuKind::Discrete,
            DeviceType::IntegratedGpu => GpuKind::Integrated,
            DeviceType::Cpu => GpuKind::Software,
            DeviceType::VirtualGpu | DeviceType::Other => GpuKind::Other,
        };
        let driver = format!("{} {}", info.driver, info.driver_info).trim().to_owned();
        Some(Self { name: info.name, kind, interface, driver, adapter })
    }
}
