//! Each operation on a device has the bits of the CPU's kernels. Without a device, not even a software one, these tests do nothing but
//! say so; `scripts/test gpu` installs one.

mod attention;
mod choices;
mod delta_net;
mod experts;
mod products;
mod row_products;
mod rows;
mod texts;

use std::sync::Arc;

use crate::checks::{self, random_values as values};
use crate::{Gpu, GpuAdapter, GpuInputs, GpuRows, Recorder, check_operations};

/// A recorder on the first device of this machine. `CAUSERIE_TEST_GPU` names another.
fn recorder() -> Option<Recorder> {
    let name = std::env::var("CAUSERIE_TEST_GPU").ok();
    let all = GpuAdapter::all();
    let found = all.into_iter().find(|adapter| name.as_ref().is_none_or(|name| adapter.name.contains(name)));
    let Some(adapter) = found else {
        assert!(std::env::var_os("CAUSERIE_NEEDS_GPU").is_none(), "there is no GPU, not even a software one");
        return None;
    };
    Some(Recorder::new(Gpu::open(&adapter).unwrap()).unwrap())
}

fn uploaded(recorder: &Recorder, values: &[f32], width: usize) -> GpuRows {
    checks::uploaded(recorder, values, width).unwrap()
}

fn read(recorder: &Recorder, rows: &GpuRows) -> Vec<f32> {
    let mut found = Vec::new();
    recorder.read(rows, 0..rows.n_rows(), &mut found).unwrap();
    recorder.end_step().unwrap();
    found
}

fn read_inputs(recorder: &Recorder, inputs: &GpuInputs) -> Vec<f32> {
    let mut rows = GpuRows::default();
    recorder.input_rows(inputs, &mut rows).unwrap();
    read(recorder, &rows)
}

#[track_caller]
fn assert_same_bits(what: &str, found: &[f32], expect: &[f32]) {
    assert_eq!(found.len(), expect.len(), "{what}");
    let differ = found.iter().zip(expect).filter(|(found, expect)| found.to_bits() != expect.to_bits()).count();
    let first = found.iter().zip(expect).position(|(found, expect)| found.to_bits() != expect.to_bits());
    let first = first.map(|at| (at, found[at], expect[at]));
    assert_eq!(differ, 0, "{what}: {differ} of {} values differ, the first is {first:?}", found.len());
}

#[test]
fn the_device_has_the_cpus_arithmetic() {
    let Some(recorder) = recorder() else { return };
    let gpu: &Arc<Gpu> = recorder.gpu();
    eprintln!("{}: {:?}", gpu.name(), gpu.arithmetic());
    assert_eq!(gpu.differences(), Vec::<&str>::new());
}

#[test]
fn the_checks_for_owners_of_devices_find_no_difference() {
    let Some(recorder) = recorder() else { return };
    let checks = check_operations(recorder.gpu()).unwrap();
    assert!(
        30 < checks.len() && checks.iter().all(|check| 200 <= check.n_values && check.n_different == 0),
        "{checks:#?}"
    );
}
