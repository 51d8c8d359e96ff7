//! Feed-forward blocks on the CPU.

use causerie_backend::{Activations, Cpu, GateFunction, ResidualAddition};

use crate::model::dense::Dense;
use crate::model::family::Activation;
use crate::model::native::backend::Native;
use crate::model::native::buffers::PassBuffers;

impl Dense<Native> {
    /// Whether the inputs of the block are quantised.
    pub(super) fn quantises(&self) -> bool {
        self.gate.is_quantised() || self.up.is_quantised()
    }

    pub(super) fn forward(&self, cpu: &Cpu, how: ResidualAddition<'_>, buffers: &mut PassBuffers) {
        let PassBuffers { stream, inputs, projected: [gate, up, _], .. } = buffers;
        self.gated(cpu, inputs, gate, up);
        self.down.add_to((cpu, inputs), how, gate, stream);
    }

    /// Replaces the inputs of the block by the inputs of its last map.
    pub(super) fn gated(&self, cpu: &Cpu, inputs: &mut Activations, gate: &mut Vec<f32>, up: &mut Vec<f32>) {
        let n_rows = inputs.n_rows();
        cpu.product(inputs, [self.gate.product(gate, n_rows), self.up.product(up, n_rows)]);
        self.gate.add_bias(cpu, gate);
        self.up.add_bias(cpu, up);
        let function = match self.activation {
            Activation::Silu => GateFunction::Silu,
            Activation::GeluTanh => GateFunction::GeluTanh,
        };
        cpu.gate(function, (gate, up, self.gate.weight.n_rows()), self.down.is_quantised(), inputs);
    }
}
