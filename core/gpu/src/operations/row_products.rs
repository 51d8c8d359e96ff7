//! Products of a single row, which a kernel makes itself: of a norm, or of a convolution.

use std::ops::Range;

use wgpu::Buffer;

use crate::error::GpuError;
use crate::kernels::{GateCurve, Kernel, ROWS_OF_FEW, RowEnd, RowFront};
use crate::matrix::GpuMatrix;
use crate::operations::inputs::Filled;
use crate::planes::GROUP;
use crate::recorder::Recorder;
use crate::row_texts::{MATRIX_BINDINGS, TAIL_BINDINGS};
use crate::rows::{GpuInputs, GpuRows, GpuVector};
use crate::state::GpuWindow;

/// Columns for which the row has space in a workgroup's memory.
const MAX_COLUMNS: usize = 4096;

/// A row before it is normalised.
#[derive(Clone, Copy)]
pub struct NormedRow<'a> {
    /// The row; there must be no other.
    pub rows: &'a GpuRows,
    /// The weight of the norm, and its epsilon.
    pub norm: (&'a GpuVector, f32),
}

/// Whether a kernel can make the row of these matrices, which have no biases.
fn fit(recorder: &Recorder, matrices: &[&GpuMatrix], n_others: usize) -> bool {
    let n_columns = matrices.first().map_or(0, |matrix| matrix.n_columns);
    let is_suitable = |matrix: &&GpuMatrix| {
        matrix.is_quantised()
            && matrix.parts.len() == 1
            && matrix.n_stacked == 1
            && matrix.n_columns == n_columns
            && 0 < matrix.n_rows
    };
    let n_planes: usize = matrices.iter().flat_map(|matrix| &matrix.parts).map(|part| part.bindings().len()).sum();
    matrices.len() <= MATRIX_BINDINGS.len()
        && n_columns <= MAX_COLUMNS
        && matrices.iter().all(is_suitable)
        && n_planes + n_others <= recorder.gpu().max_bindings()
}

/// The planes of matrices, by the numbers of their bindings.
fn planes<'a>(matrices: &[&'a GpuMatrix]) -> Vec<(u32, &'a Buffer)> {
    let instances = matrices.iter().zip(MATRIX_BINDINGS);
    let planes = instances.flat_map(|(matrix, first)| {
        let parts = matrix.parts.iter().flat_map(|part| part.bindings());
        parts.map(move |(binding, plane)| (first + binding, plane))
    });
    planes.collect()
}

fn kernel(front: RowFront, matrices: &[&GpuMatrix], end: RowEnd) -> Kernel {
    let mut forms = [None; 3];
    forms.iter_mut().zip(matrices).for_each(|(form, matrix)| *form = Some(matrix.form));
    let n_columns = matrices.first().map_or(0, |matrix| matrix.n_columns as u32);
    Kernel::ProductOfRow { front, forms, n_columns, end }
}

/// What the kernel is given: its numbers for a front, then the rows of its matrices.
fn numbers(front: [u32; 4], matrices: &[&GpuMatrix]) -> Vec<u32> {
    let mut numbers = front.to_vec();
    numbers.extend(matrices.iter().map(|matrix| matrix.n_rows as u32));
    numbers.resize(front.len() + MATRIX_BINDINGS.len(), 0);
    numbers
}

impl Recorder {
    /// Whether [`norm_product`](Self::norm_product) takes these.
    pub fn fits_norm_product(&self, rows: &GpuRows, matrices: &[&GpuMatrix]) -> bool {
        rows.n_rows == 1 && fit(self, matrices, 2 + matrices.len())
    }

    /// The outputs of up to three maps of a normalised row.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn norm_product(
        &self,
        row: NormedRow<'_>,
        products: &mut [(&GpuMatrix, &mut GpuRows)],
    ) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        for (matrix, outputs) in &mut *products {
            recording.reserve(gpu, &mut outputs.values, matrix.n_rows)?;
            (outputs.n_rows, outputs.width) = (1, matrix.n_rows);
        }
        let matrices: Vec<&GpuMatrix> = products.iter().map(|(matrix, _)| *matrix).collect();
        let mut bindings = vec![(0, row.rows.values.get()?), (1, &row.norm.0.buffer)];
        bindings.extend(planes(&matrices));
        for ((_, outputs), first) in products.iter().zip(MATRIX_BINDINGS) {
            bindings.push((first + 3, outputs.values.get()?));
        }
        let kernel = kernel(RowFront::Norm, &matrices, RowEnd::Outputs);
        let n_groups = matrices.iter().map(|matrix| matrix.n_rows.div_ceil(ROWS_OF_FEW as usize)).sum();
        let numbers = numbers([row.norm.1.to_bits(), 0, 0, 0], &matrices);
        recording.run(gpu, kernel, &bindings, &numbers, [n_groups, 1, 1]);
        Ok(())
    }

    /// Whether [`norm_gate`](Self::norm_gate) takes these.
    pub fn fits_norm_gate(&self, rows: &GpuRows, matrices: [&GpuMatrix; 2], is_quantised: bool) -> bool {
        let n_rows = matrices[0].n_rows;
        let n_stored = if is_quantised { 3 } else { 1 };
        let has_groups = n_rows.is_multiple_of(GROUP) && matrices[1].n_rows == n_rows;
        rows.n_rows == 1 && has_groups && fit(self, &matrices, 2 + n_stored)
    }

    /// `curve(gate(x)) * up(x)` of a normalised row as inputs.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn norm_gate(
        &self,
        row: NormedRow<'_>,
        matrices: [&GpuMatrix; 2],
        curve: GateCurve,
        is_quantised: bool,
        inputs: &mut GpuInputs,
    ) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        let width = matrices[0].n_rows;
        let filled = Filled::new(gpu, &mut recording, inputs, (1, width), is_quantised)?;
        let mut others = vec![(0, row.rows.values.get()?), (1, &row.norm.0.buffer)];
        others.extend(planes(&matrices));
        let bindings = filled.bindings_from(TAIL_BINDINGS, &others);
        let kernel = kernel(RowFront::Norm, &matrices, RowEnd::Gate { curve, is_quantised });
        let numbers = numbers([row.norm.1.to_bits(), 0, 0, 0], &matrices);
        recording.run(gpu, kernel, &bindings, &numbers, [width / GROUP, 1, 1]);
        Ok(())
    }

    /// Whether [`add_convolved`](Self::add_convolved) takes these.
    pub fn fits_convolved(&self, projected: &GpuRows, matrix: &GpuMatrix) -> bool {
        let has_columns = projected.width == 3 * matrix.n_columns;
        projected.n_rows == 1 && has_columns && fit(self, &[matrix], 6)
    }

    /// Adds the outputs of a map of the gated short convolution of a row `[B; C; X]` to the residual stream. The window advances.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn add_convolved<'w>(
        &self,
        projected: &GpuRows,
        (taps, bias): (&GpuVector, Option<&GpuVector>),
        windows: impl Iterator<Item = (Range<usize>, &'w mut GpuWindow)>,
        matrix: &GpuMatrix,
        stream: &mut GpuRows,
    ) -> Result<(), GpuError> {
        let Some(advanced) = self.advance_windows(windows)? else { return Ok(()) };
        let (gpu, mut recording) = (self.gpu(), self.record());
        let table = recording.append(gpu, advanced.table.iter().copied())?;
        let (tables, windows) = (recording.table_buffer(), advanced.pool.buffer()?);
        let mut bindings = vec![(0, projected.values.get()?), (1, &taps.buffer), (2, &tables), (3, &windows)];
        bindings.extend(bias.map(|bias| (4, &bias.buffer)));
        bindings.extend(planes(&[matrix]));
        bindings.push((MATRIX_BINDINGS[0] + 3, stream.values.get()?));
        let kernel = kernel(RowFront::Convolution { has_bias: bias.is_some() }, &[matrix], RowEnd::Outputs);
        let numbers = numbers([0, table, advanced.n_past as u32 + 1, matrix.n_columns as u32], &[matrix]);
        let n_groups = matrix.n_rows.div_ceil(ROWS_OF_FEW as usize);
        recording.run(gpu, kernel, &bindings, &numbers, [n_groups, 1, 1]);
        Ok(())
    }
}
