//! Per-layer embeddings.

use crate::checkpoint::Activation;
use crate::error::Result;
use crate::model::operations::{Operations, Residual};
use crate::model::pass::buffers::Buffers;
use crate::model::per_layer::{PerLayerBlock, PerLayerEmbedding};

impl<O: Operations> PerLayerEmbedding<O> {
    /// Computes the vectors of all rows of the stream, whose tokens are given.
    pub(super) fn forward(
        &self,
        operations: &O,
        tokens: impl Iterator<Item = u32>,
        norm_eps: f32,
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let Buffers { stream, inputs, per_layer, scratch, .. } = buffers;
        operations.inputs(stream, &[&self.projection], inputs)?;
        operations.product(inputs, [(&self.projection, &mut *per_layer)])?;
        operations.scale(per_layer, 1.0 / (self.hidden as f32).sqrt())?;
        operations.rotate(per_layer, self.width, Some((&self.norm, norm_eps)), None)?;
        operations.mix_table_rows(&self.table, tokens, (self.width as f32).sqrt(), scratch, per_layer)
    }
}

impl<O: Operations> PerLayerBlock<O> {
    pub(super) fn forward(&self, operations: &O, residual: Residual<'_, O>, buffers: &mut Buffers<O>) -> Result<()> {
        let Buffers { stream, inputs, projected: [gate, up, outputs], per_layer, .. } = buffers;
        operations.inputs(stream, &[&self.gate], inputs)?;
        operations.product(inputs, [(&self.gate, &mut *gate)])?;
        operations.columns(per_layer, self.layer * self.width..(self.layer + 1) * self.width, up)?;
        operations.gate(Activation::GeluTanh, gate, up, &[&self.projection], inputs)?;
        operations.add_product(inputs, &self.projection, residual, outputs, stream)
    }
}
