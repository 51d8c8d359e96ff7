//! `causerie inspect devices`: the GPUs of this machine.

use causerie::{GpuDescription, gpus};

use crate::arguments::InspectDevices;
use crate::failure::Failure;
use crate::inspect::json::object;
use crate::output::print_line;

pub(super) fn run(arguments: &InspectDevices) -> Result<(), Failure> {
    let all = gpus();
    for GpuDescription { name, kind, interface, driver, .. } in &all {
        match arguments.json {
            true => print_line(object([
                ("name", name.as_str().into()),
                ("kind", (*kind).into()),
                ("interface", (*interface).into()),
                ("driver", driver.as_str().into()),
            ]))?,
            false => print_line(format!("{name} ({kind}; {interface}; {driver})"))?,
        }
    }
    if all.is_empty() && !arguments.json {
        print_line(match cfg!(feature = "gpu") {
            true => "no GPU with a driver for Vulkan, Metal or DX12",
            false => "this build computes on the CPU alone",
        })?;
    }
    Ok(())
}
