//! Linear maps on the CPU.

use causerie_backend::{Activations, Cpu, Product};

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

    /// Adds the outputs to the residual stream.
    pub(super) fn add_to(&self, cpu: &Cpu, inputs: &Activations, stream: &mut [f32]) {
        cpu.product(inputs, [Product { matrix: &self.weight, out: stream, adds: true }]);
        self.add_bias(cpu, stream);
    }
}
