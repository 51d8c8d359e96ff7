//! Gated short convolutions on the CPU.

use causerie_backend::{ConvolutionStep, Cpu, ResidualAddition};

use crate::model::native::backend::Native;
use crate::model::native::buffers::PassBuffers;
use crate::model::native::state::{NativeLayerState, NativeLayerStates};
use crate::model::network::PerSequence;
use crate::model::short_convolution::ShortConvolution;

impl ShortConvolution<Native> {
    pub(super) fn forward(
        &self,
        cpu: &Cpu,
        states: NativeLayerStates<'_, '_>,
        how: ResidualAddition<'_>,
        buffers: &mut PassBuffers,
    ) {
        let PassBuffers { stream, inputs, projected: [projected, ..], .. } = buffers;
        let n_rows = stream.len() / self.hidden;
        cpu.product(inputs, [self.in_proj.product(projected, n_rows)]);
        self.in_proj.add_bias(cpu, projected);
        let mut steps = PerSequence::new();
        for (state, rows) in states {
            if let NativeLayerState::Convolution(window) = state {
                let width = 3 * self.hidden;
                let projected = projected[width * rows.start..width * rows.end].chunks_exact(width);
                window.record(
                    projected
                        .flat_map(|row| row[..self.hidden].iter().zip(&row[2 * self.hidden..]).map(|(b, x)| b * x)),
                );
                steps.push(ConvolutionStep { rows: rows.clone(), past: &mut window.inputs });
            }
        }
        let weights = (self.taps.as_slice(), self.bias.as_deref(), self.hidden);
        cpu.convolution(projected, weights, &mut steps, self.out_proj.is_quantised(), inputs);
        self.out_proj.add_to((cpu, inputs), how, projected, stream);
    }
}
