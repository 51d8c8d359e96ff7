//! Gated delta nets on the CPU.

use causerie_backend::{ConvolutionStep, Cpu, DeltaShape, DeltaStep, DeltaTokens, HeadSharing, ResidualAddition};

use crate::model::delta_net::{DeltaHeads, DeltaNet};
use crate::model::native::backend::Native;
use crate::model::native::buffers::{PassBuffers, resize};
use crate::model::native::state::{NativeLayerState, NativeLayerStates};
use crate::model::network::PerSequence;

impl DeltaNet<Native> {
    /// Whether the inputs of the layer are quantised.
    pub(super) fn quantises(&self) -> bool {
        [&self.in_proj, &self.gate, &self.rate, &self.decay].iter().any(|linear| linear.is_quantised())
    }

    pub(super) fn forward(
        &self,
        cpu: &Cpu,
        states: NativeLayerStates<'_, '_>,
        norm_eps: f32,
        how: ResidualAddition<'_>,
        buffers: &mut PassBuffers,
    ) {
        let PassBuffers { stream, inputs, projected: [channels, gate, out], mixed, rates, decays, .. } = buffers;
        let (n_rows, n_channels, width) = (inputs.n_rows(), self.heads.n_channels(), self.heads.width());
        cpu.product(
            inputs,
            [
                self.in_proj.product(channels, n_rows),
                self.gate.product(gate, n_rows),
                self.rate.product(rates, n_rows),
                self.decay.product(decays, n_rows),
            ],
        );
        self.in_proj.add_bias(cpu, channels);
        self.gate.add_bias(cpu, gate);
        self.rate.add_bias(cpu, rates);
        self.decay.add_bias(cpu, decays);
        cpu.sigmoid(rates);
        self.set_decays(decays);
        let (mut windows, mut memories) = (PerSequence::new(), PerSequence::new());
        for (state, rows) in states {
            if let NativeLayerState::DeltaNet(window, memory) = state {
                window.record(channels[rows.start * n_channels..rows.end * n_channels].iter().copied());
                windows.push(ConvolutionStep { rows: rows.clone(), past: &mut window.inputs });
                memories.push(DeltaStep { rows: rows.clone(), memory });
            }
        }
        resize(mixed, n_rows * n_channels);
        cpu.delta_inputs(channels, (shape(self.heads), &self.taps), &mut windows, mixed);
        resize(out, n_rows * width);
        cpu.delta_net(DeltaTokens { rows: mixed, decays, rates }, &mut memories, out);
        cpu.gated_norm(out, gate, (width, &self.norm, norm_eps), self.out_proj.is_quantised(), inputs);
        self.out_proj.add_to((cpu, inputs), how, channels, stream);
    }

    /// Replaces outputs of the map by the decays of all rows.
    fn set_decays(&self, decays: &mut [f32]) {
        for decays in decays.chunks_exact_mut(self.heads.n_values) {
            for ((decay, log_decay), bias) in decays.iter_mut().zip(&self.log_decays).zip(&self.decay_bias) {
                *decay = (f64::from(*log_decay) * softplus(f64::from(*decay + bias))).exp() as f32; // from 0 to 1
            }
        }
    }
}

/// `ln(1 + e^x)`
fn softplus(x: f64) -> f64 {
    if 20.0 < x { x } else { x.exp().ln_1p() }
}

/// The kernels' description of the heads.
pub(super) fn shape(heads: DeltaHeads) -> DeltaShape {
    let DeltaHeads { n_keys, n_values, key_dim, value_dim, is_interleaved } = heads;
    let sharing = if is_interleaved { HeadSharing::Interleaved } else { HeadSharing::Neighbours };
    DeltaShape { n_keys, n_values, key_dim, value_dim, sharing }
}
