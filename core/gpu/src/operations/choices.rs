//! The largest value of each row, so that a step need not read back whole rows.

use wgpu::Buffer;

use crate::error::GpuError;
use crate::kernels::Kernel;
use crate::matrix::GpuMatrix;
use crate::recorder::Recorder;
use crate::recording::StepRead;
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
    /// Counts what was found so far.
    n_found: u64,
    read_back: Option<Buffer>,
}

/// The largest values of a step that is under way.
pub struct PendingLargest {
    read: StepRead,
    number: u64,
    n_compared: usize,
}

impl PendingLargest {
    /// Whether [`embed_largest`](Recorder::embed_largest) can read these: nothing was found after them, and all have rows in the table.
    pub fn is_in(&self, table: &GpuMatrix, memory: &ChoiceRows) -> bool {
        self.number == memory.n_found && self.n_compared <= table.n_rows
    }
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
        let found = self.find_largest(rows, n_compared, memory)?;
        let bytes = self.read_buffer(&found, 0, 8 * rows.n_rows as u64)?;
        Ok(values(&bytes))
    }

    /// As [`largest`](Self::largest), without waiting for the step.
    ///
    /// # Errors
    /// As [`largest`](Self::largest).
    pub fn begin_largest(
        &self,
        rows: &GpuRows,
        n_compared: usize,
        memory: &mut ChoiceRows,
    ) -> Result<PendingLargest, GpuError> {
        let found = self.find_largest(rows, n_compared, memory)?;
        let n_bytes = 8 * rows.n_rows as u64;
        let back = match memory.read_back.take().filter(|back| n_bytes + 4 <= back.size()) {
            Some(back) => back,
            None => self.gpu().read_back_buffer(n_bytes + 4)?,
        };
        let read = self.record().begin_read(self.gpu(), &found, (0, n_bytes), back)?;
        Ok(PendingLargest { read, number: memory.n_found, n_compared })
    }

    /// Waits for the largest values.
    ///
    /// # Errors
    /// A fault of the device, or a step that it dropped.
    pub fn finish_largest(
        &self,
        pending: PendingLargest,
        memory: &mut ChoiceRows,
    ) -> Result<Vec<LargestValue>, GpuError> {
        let (back, bytes) = pending.read.finish(self.gpu())?;
        memory.read_back = Some(back);
        Ok(values(&bytes))
    }

    /// The row of a table at the largest value that was found last, times a factor. It must be a [row](PendingLargest::is_in) of the table.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn embed_largest(
        &self,
        table: &GpuMatrix,
        factor: f32,
        memory: &ChoiceRows,
        rows: &mut GpuRows,
    ) -> Result<(), GpuError> {
        self.embedded((1, table.n_columns), rows)?;
        // After its rank.
        self.embed_from((memory.found.get()?, 1), table, (1, factor), 0, rows)
    }

    fn find_largest(&self, rows: &GpuRows, n_compared: usize, memory: &mut ChoiceRows) -> Result<Buffer, GpuError> {
        let n_parts = n_compared.div_ceil(PART).max(1);
        let (gpu, mut recording) = (self.gpu(), self.record());
        let parts = recording.reserve(gpu, &mut memory.parts, 2 * rows.n_rows * n_parts)?.clone();
        let found = recording.reserve(gpu, &mut memory.found, 2 * rows.n_rows)?.clone();
        memory.n_found += 1;
        let numbers = [rows.width, n_compared.min(rows.width), n_parts].map(|n| n as u32);
        let bindings = [(0, rows.values.get()?), (1, &parts)];
        recording.run(gpu, Kernel::Choose { is_last: false }, &bindings, &numbers, [rows.n_rows, n_parts, 1]);
        let bindings = [(0, &parts), (1, &found)];
        recording.run(gpu, Kernel::Choose { is_last: true }, &bindings, &numbers, [rows.n_rows, 1, 1]);
        Ok(found)
    }
}

fn values(bytes: &[u8]) -> Vec<LargestValue> {
    let words: Vec<[u32; 2]> = bytemuck::pod_collect_to_vec(bytes);
    let value = |[rank, place]: [u32; 2]| match rank {
        0 => LargestValue::Nowhere,
        u32::MAX => LargestValue::NotFinite,
        _ => LargestValue::At(place),
    };
    words.into_iter().map(value).collect()
}
