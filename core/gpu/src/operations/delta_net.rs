//! Gated delta nets, and rows that are added with weights.

use std::ops::Range;

use crate::error::GpuError;
use crate::kernels::Kernel;
use crate::recorder::Recorder;
use crate::rows::GpuRows;
use crate::state::{DeltaSizes, GpuDeltaMemory};

/// Columns of matrices that a workgroup takes.
const COLUMNS: usize = 64;

impl Recorder {
    /// Brings the queries and keys of tokens to the length 1, and divides queries by the root of their size.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn unit_heads(&self, tokens: &mut GpuRows, sizes: DeltaSizes, epsilon: f32) -> Result<(), GpuError> {
        let DeltaSizes { n_keys, key_dim, .. } = sizes;
        let (gpu, mut recording) = (self.gpu(), self.record());
        let root = (key_dim as f32).sqrt();
        let numbers = [tokens.width as u32, key_dim as u32, n_keys as u32, epsilon.to_bits(), root.to_bits()];
        let bindings = [(0, tokens.values.get()?)];
        recording.run(gpu, Kernel::UnitHeads, &bindings, &numbers, [tokens.n_rows, 2 * n_keys, 1]);
        Ok(())
    }

    /// Computes the tokens of each sequence in order. `decays` and `rates` are `(rows, value heads)`. The memories advance.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn delta_net<'m>(
        &self,
        (tokens, decays, rates): (&GpuRows, &GpuRows, &GpuRows),
        memories: impl Iterator<Item = (Range<usize>, &'m mut GpuDeltaMemory)>,
        out: &mut GpuRows,
    ) -> Result<(), GpuError> {
        let mut is_first = true;
        for (rows, memory) in memories {
            let width = memory.sizes.n_values * memory.sizes.value_dim;
            if is_first {
                self.record().reserve(self.gpu(), &mut out.values, tokens.n_rows * width)?;
                (out.n_rows, out.width, is_first) = (tokens.n_rows, width, false);
            }
            // The matrices after each row of a step that may be undone.
            let rows_at_once = if memory.keeps_steps { 1 } else { rows.len().max(1) };
            memory.begin_step();
            for first in rows.clone().step_by(rows_at_once) {
                let some = first..rows.end.min(first + rows_at_once);
                self.advance((tokens, decays, rates), some, memory, out)?;
                memory.end_row();
            }
        }
        Ok(())
    }

    fn advance(
        &self,
        (tokens, decays, rates): (&GpuRows, &GpuRows, &GpuRows),
        rows: Range<usize>,
        memory: &mut GpuDeltaMemory,
        out: &GpuRows,
    ) -> Result<(), GpuError> {
        let item = memory.own(self)?;
        let DeltaSizes { n_keys, n_values, key_dim, value_dim } = memory.sizes;
        let (gpu, mut recording) = (self.gpu(), self.record());
        let matrices = memory.pool.buffer()?;
        let bindings = [
            (0, tokens.values.get()?),
            (1, decays.values.get()?),
            (2, rates.values.get()?),
            (3, &matrices),
            (4, out.values.get()?),
        ];
        let mut numbers = [n_keys, n_values, key_dim, value_dim, rows.start, rows.len()].map(|n| n as u32).to_vec();
        numbers.push(item);
        let groups = [(n_values * value_dim).div_ceil(COLUMNS), 1, 1];
        recording.run(gpu, Kernel::DeltaNet, &bindings, &numbers, groups);
        Ok(())
    }

    /// Adds rows of outputs, each times its weight, to rows of the residual stream.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn add_weighted(
        &self,
        outputs: &GpuRows,
        places: &[(usize, f32)],
        stream: &mut GpuRows,
    ) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        let table = recording.append(gpu, places.iter().flat_map(|(row, weight)| [*row as u32, weight.to_bits()]))?;
        let tables = recording.table_buffer();
        let bindings = [(0, outputs.values.get()?), (1, &tables), (2, stream.values.get()?)];
        let shape = (places.len(), stream.width);
        recording.run_by_columns(gpu, Kernel::AddWeighted, &bindings, &[stream.width as u32, table], shape);
        Ok(())
    }
}
