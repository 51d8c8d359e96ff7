//! Gated short convolutions.

use crate::error::Result;
use crate::model::network::PerSequence;
use crate::model::operations::{Operations, Residual, SequencePart};
use crate::model::pass::buffers::Buffers;
use crate::model::pass::state::{LayerState, LayerStates};
use crate::model::short_convolution::ShortConvolution;

impl<O: Operations> ShortConvolution<O> {
    pub(super) fn forward(
        &self,
        operations: &O,
        states: LayerStates<'_, '_, O>,
        residual: Residual<'_, O>,
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let Buffers { stream, inputs, projected: [projected, ..], .. } = buffers;
        operations.product(inputs, [(&self.in_proj, &mut *projected)])?;
        let mut steps = PerSequence::new();
        for (state, rows, _) in states {
            if let LayerState::Convolution(memory) = state {
                steps.push(SequencePart { rows: rows.clone(), memory });
            }
        }
        let (taps, bias) = (&self.taps, self.bias.as_ref());
        match self.is_centred {
            true => {
                let sequences: PerSequence<_> = steps.iter().map(|step| step.rows.clone()).collect();
                operations.convolve_centred(projected, taps, bias, &sequences, &self.out_proj, inputs)?;
            }
            false => operations.convolve(projected, taps, bias, &mut steps, &self.out_proj, inputs)?,
        }
        operations.add_product(inputs, &self.out_proj, residual, projected, stream)
    }
}
