//! Feed-forward blocks.

use crate::error::Result;
use crate::model::dense::Dense;
use crate::model::feed_forward::FeedForward;
use crate::model::operations::{NormFactors, Operations, Residual};
use crate::model::pass::buffers::Buffers;

impl<O: Operations> FeedForward<O> {
    /// Adds the outputs of the block for the normalised residual stream to the stream.
    pub(super) fn forward(
        &self,
        operations: &O,
        norm: NormFactors<'_, O>,
        residual: Residual<'_, O>,
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        match self {
            Self::Dense(dense) => dense.forward(operations, norm, residual, buffers),
            // Outputs of experts have neither a norm nor a factor in any family.
            Self::Experts(experts) => {
                let Buffers { stream, inputs, scratch, .. } = buffers;
                operations.norm(stream, norm, &[&experts.router], inputs)?;
                operations.experts(experts, inputs, scratch, stream)
            }
        }
    }
}

impl<O: Operations> Dense<O> {
    fn forward(
        &self,
        operations: &O,
        norm: NormFactors<'_, O>,
        residual: Residual<'_, O>,
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let Buffers { stream, inputs, projected: [gates, ups, _], .. } = buffers;
        let block = (self.activation, [&self.gate, &self.up], &self.down);
        operations.norm_gate(stream, norm, block, [&mut *gates, ups], inputs)?;
        operations.add_product(inputs, &self.down, residual, gates, stream)
    }
}
