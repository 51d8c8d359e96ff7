//! Operations on rows.

use std::ops::Range;

use wgpu::Buffer;

use crate::error::GpuError;
use crate::kernels::{GatherForm, Kernel, MapForm, PairForm};
use crate::matrix::GpuMatrix;
use crate::recorder::Recorder;
use crate::rows::{GpuInputs, GpuRows, GpuVector};

/// The rotation of the first pairs of heads.
#[derive(Clone, Copy)]
pub struct RowRotation {
    /// Pairs that are rotated.
    pub n_pairs: usize,
    /// Which elements form a pair.
    pub pairs: PairForm,
    /// Where [`table`](Recorder::table) put cosines and sines, each `(rows, pairs)`.
    pub cosines: u32,
    /// As `cosines`.
    pub sines: u32,
}

impl Recorder {
    /// Provides memory for rows, whose values are undefined.
    fn reshape(&self, rows: &mut GpuRows, (n_rows, width): (usize, usize)) -> Result<(), GpuError> {
        self.record().reserve(self.gpu(), &mut rows.values, n_rows * width)?;
        (rows.n_rows, rows.width) = (n_rows, width);
        Ok(())
    }

    /// Puts values into the table of the step, for the kernels that follow; returns where.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn table(&self, values: &[f32]) -> Result<u32, GpuError> {
        self.record().append_floats(self.gpu(), values)
    }

    /// Copies rows to the device.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn upload(&self, values: &[f32], width: usize, rows: &mut GpuRows) -> Result<(), GpuError> {
        self.reshape(rows, (values.len() / width.max(1), width))?;
        self.upload_at(values, 0, rows)
    }

    fn upload_at(&self, values: &[f32], first_row: usize, rows: &GpuRows) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        let first = recording.append_floats(gpu, values)?;
        let tables = recording.table_buffer();
        let bindings = [(1, rows.values.get()?), (2, &tables)];
        let shape = (values.len() / rows.width.max(1), rows.width);
        let numbers = [rows.width as u32, 0, first, 0, first_row as u32];
        recording.run_by_columns(gpu, Kernel::Gather(GatherForm::Upload), &bindings, &numbers, shape);
        Ok(())
    }

    /// Provides rows for [`embed_tokens`](Self::embed_tokens) and [`embed_rows`](Self::embed_rows).
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn embedded(&self, shape: (usize, usize), rows: &mut GpuRows) -> Result<(), GpuError> {
        self.reshape(rows, shape)
    }

    /// Rows of a table for tokens, times a factor.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn embed_tokens(
        &self,
        table: &GpuMatrix,
        tokens: &[u32],
        factor: f32,
        first_row: usize,
        rows: &GpuRows,
    ) -> Result<(), GpuError> {
        // A token beyond the table's rows reads the last one, as it would read none.
        let last = (table.n_rows as u32).saturating_sub(1);
        let mut recording = self.record();
        let at = recording.append(self.gpu(), tokens.iter().map(|token| (*token).min(last)))?;
        let tables = recording.table_buffer();
        drop(recording);
        self.embed_from((&tables, at), table, (tokens.len(), factor), first_row, rows)
    }

    /// Rows of a table for some tokens, whose numbers lie somewhere in a buffer.
    pub(super) fn embed_from(
        &self,
        (tokens, at): (&Buffer, u32),
        table: &GpuMatrix,
        (n_tokens, factor): (usize, f32),
        first_row: usize,
        rows: &GpuRows,
    ) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        for part in &table.parts {
            let mut bindings = part.bindings();
            bindings.extend([(3, tokens), (4, rows.values.get()?)]);
            let sizes = [part.first_row, part.n_rows, first_row].map(|size| size as u32);
            let mut numbers = vec![table.n_columns as u32, factor.to_bits(), at];
            numbers.extend(sizes);
            let shape = (n_tokens, table.n_columns);
            recording.run_by_columns(gpu, Kernel::Embed(table.form), &bindings, &numbers, shape);
        }
        Ok(())
    }

    /// Rows that were computed elsewhere.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn embed_rows(&self, values: &[f32], first_row: usize, rows: &GpuRows) -> Result<(), GpuError> {
        self.upload_at(values, first_row, rows)
    }

    /// Normalises and rotates the heads of rows in place.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn rotate(
        &self,
        rows: &mut GpuRows,
        head_dim: usize,
        norm: Option<(&GpuVector, f32)>,
        rotation: Option<RowRotation>,
    ) -> Result<(), GpuError> {
        if norm.is_none() && rotation.is_none() {
            return Ok(());
        }
        let (gpu, mut recording) = (self.gpu(), self.record());
        let tables = recording.table_buffer();
        let mut bindings = vec![(0, rows.values.get()?)];
        bindings.extend(norm.map(|(weight, _)| (1, &weight.buffer)));
        bindings.extend(rotation.map(|_| (2, &tables)));
        let epsilon = norm.map_or(0.0, |(_, epsilon)| epsilon);
        let RowRotation { n_pairs, cosines, sines, .. } =
            rotation.unwrap_or(RowRotation { n_pairs: 0, pairs: PairForm::Halves, cosines: 0, sines: 0 });
        let numbers = [rows.width as u32, head_dim as u32, n_pairs as u32, epsilon.to_bits(), cosines, sines];
        let kernel = Kernel::Rotate { has_norm: norm.is_some(), rotation: rotation.map(|rotation| rotation.pairs) };
        recording.run(gpu, kernel, &bindings, &numbers, [rows.n_rows, rows.width / head_dim.max(1), 1]);
        Ok(())
    }

    /// Multiplies each row by a factor of its own, which [`table`](Self::table) has put into the step's table.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn grow(&self, rows: &mut GpuRows, factors: u32) -> Result<(), GpuError> {
        self.map(rows, MapForm::Grow, [0.0; 2], factors)
    }

    /// Replaces rows by `(rows + factor * own) / sqrt(2)`.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn mix(&self, rows: &mut GpuRows, own: &[f32], factor: f32) -> Result<(), GpuError> {
        let table = self.table(own)?;
        self.map(rows, MapForm::Mix, [factor, 0.0], table)
    }

    /// Replaces values by their sigmoid.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn sigmoid(&self, rows: &mut GpuRows) -> Result<(), GpuError> {
        self.map(rows, MapForm::Sigmoid, [0.0; 2], 0)
    }

    /// Replaces rows by the decays of delta nets, `exp(log_decays * ln(1 + e^(row + bias)))`.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn decays(&self, rows: &mut GpuRows, log_decays: &GpuVector, bias: &GpuVector) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        let bindings = [(0, rows.values.get()?), (1, &log_decays.buffer), (2, &bias.buffer)];
        let (kernel, shape) = (Kernel::Map(MapForm::Decay), (rows.n_rows, rows.width));
        recording.run_by_columns(gpu, kernel, &bindings, &[rows.width as u32], shape);
        Ok(())
    }

    /// Multiplies rows by a factor.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn scale(&self, rows: &mut GpuRows, factor: f32) -> Result<(), GpuError> {
        self.map(rows, MapForm::Scale, [factor, 0.0], 0)
    }

    /// Bounds values: `bound * tanh(value / bound)`.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn bound(&self, rows: &mut GpuRows, bound: f32) -> Result<(), GpuError> {
        self.map(rows, MapForm::Bound, [2.0 / bound, bound], 0)
    }

    fn map(&self, rows: &GpuRows, form: MapForm, [a, b]: [f32; 2], table: u32) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        let tables = recording.table_buffer();
        let mut bindings = vec![(0, rows.values.get()?)];
        if matches!(form, MapForm::Grow | MapForm::Mix) {
            bindings.push((1, &tables));
        }
        let numbers = [rows.width as u32, a.to_bits(), b.to_bits(), table];
        recording.run_by_columns(gpu, Kernel::Map(form), &bindings, &numbers, (rows.n_rows, rows.width));
        Ok(())
    }

    /// Splits query heads and the gates after them, `(rows, query heads, 2, head_dim)`.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn split_heads(
        &self,
        pairs: &GpuRows,
        head_dim: usize,
        queries: &mut GpuRows,
        gates: &mut GpuRows,
    ) -> Result<(), GpuError> {
        for (part, first) in [(queries, 0), (gates, head_dim)] {
            self.reshape(part, (pairs.n_rows, pairs.width / 2))?;
            let numbers = [part.width, pairs.width, first, head_dim];
            self.gather(GatherForm::Heads, pairs.values.get()?, &numbers, part)?;
        }
        Ok(())
    }

    /// Some columns of rows.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn columns(&self, from: &GpuRows, columns: Range<usize>, to: &mut GpuRows) -> Result<(), GpuError> {
        self.columns_of((from.values.get()?, from.n_rows, from.width), columns, to)
    }

    pub(super) fn columns_of(
        &self,
        (from, n_rows, width): (&Buffer, usize, usize),
        columns: Range<usize>,
        to: &mut GpuRows,
    ) -> Result<(), GpuError> {
        self.reshape(to, (n_rows, columns.len()))?;
        self.gather(GatherForm::Columns, from, &[columns.len(), width, columns.start, 0], to)
    }

    /// Some rows, one range after the other.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn select(&self, from: &GpuRows, ranges: &[Range<usize>], to: &mut GpuRows) -> Result<(), GpuError> {
        let rows: Vec<u32> = ranges.iter().cloned().flatten().map(|row| row as u32).collect();
        self.reshape(to, (rows.len(), from.width))?;
        let first = self.record().append(self.gpu(), rows)?;
        self.gather(GatherForm::Select, from.values.get()?, &[from.width, from.width, first as usize, 0], to)
    }

    /// Some rows of inputs, as floats.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn select_inputs(
        &self,
        inputs: &GpuInputs,
        rows: impl IntoIterator<Item = usize>,
        to: &mut GpuRows,
    ) -> Result<(), GpuError> {
        let rows: Vec<u32> = rows.into_iter().map(|row| row as u32).collect();
        self.reshape(to, (rows.len(), inputs.width))?;
        let first = self.record().append(self.gpu(), rows)?;
        self.gather(GatherForm::Select, inputs.floats.get()?, &[inputs.width, inputs.width, first as usize, 0], to)
    }

    /// Replaces the values of rows by others from the host.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn replace(&self, rows: &GpuRows, values: &[f32]) -> Result<(), GpuError> {
        self.upload_at(values, 0, rows)
    }

    fn gather(&self, form: GatherForm, from: &Buffer, sizes: &[usize; 4], to: &GpuRows) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        let tables = recording.table_buffer();
        let mut bindings = vec![(0, from), (1, to.values.get()?)];
        if form == GatherForm::Select {
            bindings.push((2, &tables));
        }
        let mut numbers = sizes.map(|size| size as u32).to_vec();
        numbers.push(0);
        recording.run_by_columns(gpu, Kernel::Gather(form), &bindings, &numbers, (to.n_rows, to.width));
        Ok(())
    }
}
