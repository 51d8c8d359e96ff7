//! Gated short convolutions.

use crate::error::Result;
use crate::model::network::PerSequence;
use crate::model::operations::{NormFactors, Operations, Residual, SequencePart};
use crate::model::pass::buffers::Buffers;
use crate::model::pass::state::{LayerState, LayerStates};
use crate::model::short_convolution::ShortConvolution;

impl<O: Operations> ShortConvolution<O> {
    pub(super) fn forward(
        &self,
        operations: &O,
        states: LayerStates<'_, '_, O>,
        norm: NormFactors<'_, O>,
        residual: Residual<'_, O>,
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let Buffers { stream, inputs, projected: [projected, ..], .. } = buffers;
        operations.norm_product(stream, norm, [(&self.in_proj, &mut *projected)], inputs)?;
        let mut steps = PerSequence::new();
        for (state, rows, _) in states {
            if let LayerState::Convolution(memory) = state {
                steps.push(SequencePart { rows: rows.clone(), memory });
            }
        }
        let (taps, bias) = (&self.taps, self.bias.as_ref());
        if !self.is_centred {
            let map = (&self.out_proj, residual);
            return operations.add_convolved(projected, (taps, bias), &mut steps, map, inputs, stream);
        }
        let sequences: PerSequence<_> = steps.iter().map(|step| step.rows.clone()).collect();
        operations.convolve_centred(projected, taps, bias, &sequences, &self.out_proj, inputs)?;
        operations.add_product(inputs, &self.out_proj, residual, projected, stream)
    }
}
