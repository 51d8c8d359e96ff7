//! Linear maps on the CPU.

use causerie_backend::{Activations, Cpu, Product, ResidualAddition};

use crate::model::linear::Linear;
use crate::model::native::backend::Native;
use crate::model::native::buffers::resize;

impl Linear<Native> {
    pub(super) fn is_quantised(&self) -> bool {
        self.weight.format().is_quantised()
    }

    pub(super) fn product<'a>(&'a self, out: &'a mut Vec<f32>, n_rows: usize) -> Product<'a> {
        resize(out, n_rows * self.weight.n_rows());
        Product { matrix: &self.weight, out, adds: false }
    }

    pub(super) fn add_bias(&self, cpu: &Cpu, rows: &mut [f32]) {
        if let Some(bias) = &self.bias {
            cpu.add_to_rows(rows, bias);
        }
    }

    /// Adds the outputs to the residual stream. `outputs` is a buffer, used unless they are added as they are.
    pub(super) fn add_to(
        &self,
        (cpu, inputs): (&Cpu, &Activations),
        how: ResidualAddition<'_>,
        outputs: &mut Vec<f32>,
        stream: &mut [f32],
    ) {
        if let ResidualAddition { norm: None, factor: 1.0 } = how {
            cpu.product(inputs, [Product { matrix: &self.weight, out: stream, adds: true }]);
            return self.add_bias(cpu, stream);
        }
        cpu.product(inputs, [self.product(outputs, inputs.n_rows())]);
        self.add_bias(cpu, outputs);
        cpu.add_outputs(stream, outputs, self.weight.n_rows(), how);
    }
}
