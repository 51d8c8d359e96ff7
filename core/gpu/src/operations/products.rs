//! Products with weights.

use wgpu::Buffer;

use crate::error::GpuError;
use crate::kernels::{Kernel, ROWS_OF_FEW, ROWS_OF_FLOATS, TILE_OF_MANY};
use crate::matrix::{GpuMatrix, MatrixPart};
use crate::recorder::Recorder;
use crate::rows::{GpuInputs, GpuRows, GpuVector};

/// Tokens up to which a product reads its weights once for each few of them, and not through tiles.
const MAX_FEW: usize = 16;

/// How outputs are added to the residual stream: `stream + norm(outputs) * factor`.
#[derive(Clone, Copy)]
pub struct OutputNorm<'a> {
    /// The weight and the epsilon.
    pub norm: Option<(&'a GpuVector, f32)>,
    /// The factor.
    pub factor: f32,
}

impl GpuMatrix {
    /// The kernel for products of some tokens, and the workgroups for a part.
    fn kernel(&self, part: &MatrixPart, n_tokens: usize, has_bias: bool) -> (Kernel, [usize; 3]) {
        let form = self.form;
        let (rows, tokens, kernel) = match (self.is_quantised(), n_tokens) {
            (true, 1..=MAX_FEW) => {
                let tokens = n_tokens.next_power_of_two().min(form.tokens_of_few());
                (ROWS_OF_FEW, tokens, Kernel::ProductOfFew { form, tokens: tokens as u32, has_bias })
            }
            (true, _) => (TILE_OF_MANY, TILE_OF_MANY as usize, Kernel::ProductOfMany { form, has_bias }),
            (false, _) => {
                let tokens = n_tokens.clamp(1, 4);
                (ROWS_OF_FLOATS, tokens, Kernel::ProductOfFloats { form, tokens: tokens as u32, has_bias })
            }
        };
        (kernel, [part.n_rows.div_ceil(rows as usize), n_tokens.div_ceil(tokens), 1])
    }
}

impl MatrixPart {
    pub(crate) fn bindings(&self) -> Vec<(u32, &Buffer)> {
        let planes = [Some(&self.quants), self.scales.as_ref(), self.upper.as_ref()];
        (0..).zip(planes).filter_map(|(binding, plane)| Some((binding, plane?))).collect()
    }
}

impl Recorder {
    /// The outputs of a map, in place of those in `outputs`.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn product(
        &self,
        inputs: &GpuInputs,
        matrix: &GpuMatrix,
        bias: Option<&GpuVector>,
        outputs: &mut GpuRows,
    ) -> Result<(), GpuError> {
        self.record().reserve(self.gpu(), &mut outputs.values, inputs.n_rows * matrix.n_rows)?;
        (outputs.n_rows, outputs.width) = (inputs.n_rows, matrix.n_rows);
        self.multiply(inputs, matrix, bias, outputs, false)
    }

    /// Adds the outputs of a map to a residual stream. `spare` may be overwritten.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn add_product(
        &self,
        inputs: &GpuInputs,
        (matrix, bias): (&GpuMatrix, Option<&GpuVector>),
        how: OutputNorm<'_>,
        spare: &mut GpuRows,
        stream: &mut GpuRows,
    ) -> Result<(), GpuError> {
        if let OutputNorm { norm: None, factor: 1.0 } = how {
            return self.multiply(inputs, matrix, bias, stream, true);
        }
        self.product(inputs, matrix, bias, spare)?;
        self.add_rows(spare, how, stream)
    }

    pub(crate) fn add_rows(
        &self,
        outputs: &GpuRows,
        how: OutputNorm<'_>,
        stream: &mut GpuRows,
    ) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        let mut bindings = vec![(0, outputs.values.get()?), (1, stream.values.get()?)];
        bindings.extend(how.norm.map(|(weight, _)| (2, &weight.buffer)));
        let epsilon = how.norm.map_or(0.0, |(_, epsilon)| epsilon);
        let numbers = [outputs.width as u32, how.factor.to_bits(), epsilon.to_bits()];
        let kernel = Kernel::AddRows { has_norm: how.norm.is_some() };
        recording.run(gpu, kernel, &bindings, &numbers, [outputs.n_rows, 1, 1]);
        Ok(())
    }

    fn multiply(
        &self,
        inputs: &GpuInputs,
        matrix: &GpuMatrix,
        bias: Option<&GpuVector>,
        outputs: &GpuRows,
        adds: bool,
    ) -> Result<(), GpuError> {
        if inputs.width != matrix.n_columns {
            let (expected, found) = (matrix.n_columns, inputs.width);
            return Err(GpuError::Failed(format!("inputs must have {expected} columns, found {found}")));
        }
        let (gpu, mut recording) = (self.gpu(), self.record());
        for part in &matrix.parts {
            let (kernel, groups) = matrix.kernel(part, inputs.n_rows, bias.is_some());
            let mut bindings = part.bindings();
            match matrix.is_quantised() {
                true => bindings.extend([(3, inputs.quantised.get()?), (4, inputs.scales.get()?)]),
                false => bindings.push((3, inputs.floats.get()?)),
            }
            bindings.push((5, outputs.values.get()?));
            bindings.extend(bias.map(|bias| (6, &bias.buffer)));
            let sizes = [part.n_rows, part.first_row, matrix.n_rows, matrix.n_columns, inputs.n_rows];
            let mut numbers = sizes.map(|size| size as u32).to_vec();
            numbers.extend([u32::from(adds), matrix.base_row as u32]);
            recording.run(gpu, kernel, &bindings, &numbers, groups);
        }
        Ok(())
    }
}
