//! The largest value of each row, so that a step need not read back whole rows.

use crate::error::GpuError;
use crate::kernels::Kernel;
use crate::recorder::Recorder;
use crate::rows::{GpuRows, Reused};

/// Values of a row that a workgroup compares.
const PART: usize = 4096;

/// What is largest among the values of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LargestValue {
    /// The place of the first of the largest values.
    At(u32),
    /// All values are minus infinity.
    Nowhere,
    /// A value is positive infinity, or not a number.
    NotFinite,
}

/// Memory that [`largest`](Recorder::largest) reuses.
#[derive(Default)]
pub struct ChoiceRows {
    parts: Reused,
    found: Reused,
}

impl Recorder {
    /// Finds the largest of the first `n_compared` values of each row.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs), and a fault of the device.
    pub fn largest(
        &self,
        rows: &GpuRows,
        n_compared: usize,
        memory: &mut ChoiceRows,
    ) -> Result<Vec<LargestValue>, GpuError> {
        let n_parts = n_compared.div_ceil(PART).max(1);
        let (gpu, mut recording) = (self.gpu(), self.record());
        let parts = recording.reserve(gpu, &mut memory.parts, 2 * rows.n_rows * n_parts)?.clone();
        let found = recording.reserve(gpu, &mut memory.found, 2 * rows.n_rows)?.clone();
        let numbers = [rows.width, n_compared.min(rows.width), n_parts].map(|n| n as u32);
        let bindings = [(0, rows.values.get()?), (1, &parts)];
        recording.run(gpu, Kernel::Choose { is_last: false }, &bindings, &numbers, [rows.n_rows, n_parts, 1]);
        let bindings = [(0, &parts), (1, &found)];
        recording.run(gpu, Kernel::Choose { is_last: true }, &bindings, &numbers, [rows.n_rows, 1, 1]);
        let bytes = recording.read(gpu, &found, 0, 8 * rows.n_rows as u64)?;
        let words: Vec<[u32; 2]> = bytemuck::pod_collect_to_vec(&bytes);
        let largest = |[rank, place]: [u32; 2]| match rank {
            0 => LargestValue::Nowhere,
            u32::MAX => LargestValue::NotFinite,
            _ => LargestValue::At(place),
        };
        Ok(words.into_iter().map(largest).collect())
    }
}
