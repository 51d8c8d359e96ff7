//! Feed-forward blocks.

use smallvec::smallvec;

use crate::error::Result;
use crate::model::dense::Dense;
use crate::model::feed_forward::FeedForward;
use crate::model::linear::Readers;
use crate::model::operations::{Operations, Residual};
use crate::model::pass::buffers::Buffers;

impl<O: Operations> FeedForward<O> {
    /// The maps that read the block's inputs.
    pub(super) fn inputs(&self) -> Readers<'_, O> {
        match self {
            Self::Dense(dense) => smallvec![&dense.gate, &dense.up],
            Self::Experts(experts) => smallvec![&experts.router],
        }
    }

    /// Adds the outputs of the block, whose inputs are in the buffers, to the residual stream.
    pub(super) fn forward(&self, operations: &O, residual: Residual<'_, O>, buffers: &mut Buffers<O>) -> Result<()> {
        match self {
            Self::Dense(dense) => dense.forward(operations, residual, buffers),
            // Outputs of experts have neither a norm nor a factor in any family.
            Self::Experts(experts) => {
                let Buffers { stream, inputs, scratch, .. } = buffers;
                operations.experts(experts, inputs, scratch, stream)
            }
        }
    }
}

impl<O: Operations> Dense<O> {
    /// Adds the outputs of the block, whose inputs are in the buffers, to the residual stream.
    pub(super) fn forward(&self, operations: &O, residual: Residual<'_, O>, buffers: &mut Buffers<O>) -> Result<()> {
        let Buffers { stream, inputs, projected: [gate, up, _], .. } = buffers;
        operations.product(inputs, [(&self.gate, &mut *gate), (&self.up, &mut *up)])?;
        operations.gate(self.activation, gate, up, &[&self.down], inputs)?;
        operations.add_product(inputs, &self.down, residual, gate, stream)
    }
}
