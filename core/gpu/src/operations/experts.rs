//! Mixtures of experts, whose experts the device chooses.

use crate::error::GpuError;
use crate::kernels::{Kernel, ROWS_OF_FEW};
use crate::matrix::GpuMatrix;
use crate::operations::inputs::Filled;
use crate::recorder::Recorder;
use crate::rows::{GpuInputs, GpuRows, GpuVector, Reused};

/// Experts, and experts of a row, for which the kernel has space.
const MAX_EXPERTS: usize = 128;
const MAX_USED: usize = 16;

/// How the experts of a row are chosen and weighted.
#[derive(Clone, Copy, Debug)]
pub struct ExpertChoice {
    /// Experts of a row.
    pub n_used: usize,
    /// Whether the weights of a row are divided by their sum.
    pub is_normalised: bool,
    /// Factor of all weights.
    pub scale: f32,
}

/// The experts of some rows, and their weights.
#[derive(Default)]
pub struct ChosenExperts {
    chosen: Reused,
    n_rows: usize,
    n_used: usize,
}

impl Recorder {
    /// Whether the device can choose among the experts of these stacks, of which the first matrices are given.
    pub fn fits_chosen(&self, stacks: [&GpuMatrix; 3], n_experts: usize, n_used: usize) -> bool {
        let is_stack =
            |matrix: &GpuMatrix| matrix.n_stacked == n_experts && matrix.base_row == 0 && matrix.is_quantised();
        n_experts <= MAX_EXPERTS
            && (1..=MAX_USED).contains(&n_used)
            && 1 < n_experts
            && stacks.into_iter().all(is_stack)
    }

    /// Chooses the experts of each row, by shares from 0 to 1, `(rows, experts)`: those with the largest sums of share and bias.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn choose_experts(
        &self,
        shares: &GpuRows,
        bias: &GpuVector,
        choice: ExpertChoice,
        chosen: &mut ChosenExperts,
    ) -> Result<(), GpuError> {
        let ExpertChoice { n_used, is_normalised, scale } = choice;
        let (gpu, mut recording) = (self.gpu(), self.record());
        (chosen.n_rows, chosen.n_used) = (shares.n_rows, n_used);
        let to = recording.reserve(gpu, &mut chosen.chosen, 2 * shares.n_rows * n_used)?;
        let bindings = [(0, shares.values.get()?), (1, &bias.buffer), (2, to)];
        let numbers = [shares.width as u32, n_used as u32, u32::from(is_normalised), scale.to_bits()];
        recording.run(gpu, Kernel::ChooseExperts, &bindings, &numbers, [shares.n_rows, 1, 1]);
        Ok(())
    }

    /// The outputs of the experts of each row, `(rows * experts of a row, outputs)`. The first matrix of the stack is given; inputs have
    /// a row for each row, or for each of its experts.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn product_of_chosen(
        &self,
        inputs: &GpuInputs,
        stack: &GpuMatrix,
        chosen: &ChosenExperts,
        outputs: &mut GpuRows,
    ) -> Result<(), GpuError> {
        let n_outputs = chosen.n_rows * chosen.n_used;
        let (gpu, mut recording) = (self.gpu(), self.record());
        recording.reserve(gpu, &mut outputs.values, n_outputs * stack.n_rows)?;
        (outputs.n_rows, outputs.width) = (n_outputs, stack.n_rows);
        let n_sharing = n_outputs / inputs.n_rows.max(1);
        let sizes = [stack.n_rows, 0, stack.n_rows, stack.n_columns, n_outputs, 0, 0, n_sharing];
        let groups = [stack.n_rows.div_ceil(ROWS_OF_FEW as usize), n_outputs, 1];
        for part in &stack.parts {
            let mut bindings = part.bindings();
            bindings.extend([(3, inputs.quantised.get()?), (4, inputs.scales.get()?)]);
            bindings.extend([(5, outputs.values.get()?), (6, chosen.chosen.get()?)]);
            let kernel = Kernel::ProductOfChosen { form: stack.form };
            recording.run(gpu, kernel, &bindings, &sizes.map(|size| size as u32), groups);
        }
        Ok(())
    }

    /// Adds the outputs of each row's experts, each times its weight, to the residual stream.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn add_chosen(&self, outputs: &GpuRows, chosen: &ChosenExperts, stream: &mut GpuRows) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        let bindings = [(0, outputs.values.get()?), (1, chosen.chosen.get()?), (2, stream.values.get()?)];
        let numbers = [stream.width as u32, chosen.n_used as u32];
        let shape = (chosen.n_rows, stream.width);
        recording.run_by_columns(gpu, Kernel::AddChosen, &bindings, &numbers, shape);
        Ok(())
    }

    /// The same inputs, quantised.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn quantised_inputs(&self, from: &GpuInputs, to: &mut GpuInputs) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        let shape = (from.n_rows, from.width);
        let filled = Filled::new(gpu, &mut recording, to, shape, true)?;
        let kernel = Kernel::RowInputs { is_gated: false, is_quantised: true };
        let bindings = filled.bindings(&[(0, from.floats.get()?)]);
        recording.run_by_columns(gpu, kernel, &bindings, &[from.width as u32, 1], shape);
        Ok(())
    }
}
