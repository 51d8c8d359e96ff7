//! Gated delta nets.

use crate::error::Result;
use crate::model::delta_net::DeltaNet;
use crate::model::network::PerSequence;
use crate::model::operations::{DeltaRows, NormFactors, Operations, Residual, SequencePart};
use crate::model::pass::buffers::Buffers;
use crate::model::pass::state::{LayerState, LayerStates};

impl<O: Operations> DeltaNet<O> {
    pub(super) fn forward(
        &self,
        operations: &O,
        states: LayerStates<'_, '_, O>,
        norm: NormFactors<'_, O>,
        residual: Residual<'_, O>,
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let Buffers { stream, inputs, projected: [channels, gate, out], mixed, rates, decays, .. } = buffers;
        let products = [
            (&self.in_proj, &mut *channels),
            (&self.gate, &mut *gate),
            (&self.rate, &mut *rates),
            (&self.decay, &mut *decays),
        ];
        operations.norm_product(stream, norm, products, inputs)?;
        operations.sigmoid(rates)?;
        operations.decays(decays, &self.log_decays, &self.decay_bias)?;
        let (mut windows, mut memories) = (PerSequence::new(), PerSequence::new());
        for (state, rows, _) in states {
            if let LayerState::DeltaNet(window, memory) = state {
                windows.push(SequencePart { rows: rows.clone(), memory: window });
                memories.push(SequencePart { rows: rows.clone(), memory });
            }
        }
        operations.delta_inputs(channels, self.heads, &self.taps, &mut windows, mixed)?;
        operations.delta_net(DeltaRows { tokens: mixed, decays, rates }, &mut memories, out)?;
        operations.gated_norm(out, gate, (&self.norm, norm.1), &self.out_proj, inputs)?;
        operations.add_product(inputs, &self.out_proj, residual, channels, stream)
    }
}
