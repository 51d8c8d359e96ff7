//! The layers of Mimi's transformer: attention and a block without gates, whose outputs are scaled by channel.

use crate::checkpoint::Rope;
use crate::error::Result;
use crate::model::heads::Heads;
use crate::model::linear::Linear;
use crate::model::operations::{AttentionPart, LayerMemory, SequencePart, Sight};
use crate::model::speech::mimi::reader::MimiReader;
use crate::model::speech::operations::CodecOperations;
use crate::model::tower::{TowerActivation, TowerNorm};

pub(super) struct MimiLayer<O: CodecOperations> {
    norms: [TowerNorm<O>; 2],
    /// Queries, keys and values.
    projections: [Linear<O>; 3],
    attention_out: Linear<O>,
    up: Linear<O>,
    down: Linear<O>,
    /// Factors of what attention, and what the other block, add to the residual stream.
    scales: [O::Vector; 2],
    pub(super) heads: Heads,
    /// Positions that a position attends to, including itself.
    window: usize,
}

/// Values between operations.
pub(super) struct MimiBuffers<O: CodecOperations> {
    pub(super) stream: O::Rows,
    pub(super) inputs: O::Inputs,
    pub(super) projected: [O::Rows; 3],
    pub(super) mixed: O::Rows,
    pub(super) angles: O::Angles,
}

impl<O: CodecOperations> Default for MimiBuffers<O> {
    fn default() -> Self {
        Self {
            stream: O::Rows::default(),
            inputs: O::Inputs::default(),
            projected: <[O::Rows; 3]>::default(),
            mixed: O::Rows::default(),
            angles: O::Angles::default(),
        }
    }
}

impl<O: CodecOperations> MimiLayer<O> {
    pub(super) fn load(reader: &MimiReader<'_, O>, layer: usize) -> Result<Self> {
        let checkpoint = reader.checkpoint;
        let (width, inner, n_heads) = (checkpoint.width, checkpoint.inner, checkpoint.n_heads);
        let name = |part: &str| format!("decoder_transformer.transformer.layers.{layer}.{part}");
        let projection =
            |at: usize| reader.rows(&name("self_attn.in_proj_weight"), at * width, 3 * width, (width, width));
        Ok(Self {
            norms: [reader.norm(&name("norm1"), width)?, reader.norm(&name("norm2"), width)?],
            projections: [projection(0)?, projection(1)?, projection(2)?],
            attention_out: reader.linear(&name("self_attn.out_proj.weight"), (width, width))?,
            up: reader.linear(&name("linear1.weight"), (inner, width))?,
            down: reader.linear(&name("linear2.weight"), (width, inner))?,
            scales: [
                reader.vector(&name("layer_scale_1.scale"), width)?,
                reader.vector(&name("layer_scale_2.scale"), width)?,
            ],
            heads: Heads { n_queries: n_heads, n_keys: n_heads, head_dim: width / n_heads },
            window: checkpoint.window,
        })
    }

    /// Applies the layer to `n_rows` rows of the stream, whose angles are in the buffers.
    pub(super) fn forward(
        &self,
        operations: &O,
        n_rows: usize,
        rope: &Rope,
        past: &mut O::KeyValues,
        MimiBuffers { stream, inputs, projected: [q, k, v], mixed, angles }: &mut MimiBuffers<O>,
    ) -> Result<()> {
        let [q_proj, k_proj, v_proj] = &self.projections;
        self.norms[0].apply(operations, stream, &[q_proj, k_proj, v_proj], inputs)?;
        operations.product(inputs, [(q_proj, &mut *q), (k_proj, &mut *k), (v_proj, &mut *v)])?;
        let Heads { head_dim, .. } = self.heads;
        operations.rotate(q, head_dim, None, Some((rope, angles)))?;
        operations.rotate(k, head_dim, None, Some((rope, angles)))?;
        operations.append(SequencePart { rows: 0..n_rows, memory: &mut *past }, k, v)?;
        let sight = Sight { window: Some(self.window), n_after: None, scale: (head_dim as f32).sqrt().recip() };
        let part = AttentionPart { rows: 0..n_rows, past: &*past, is_two_way: false };
        operations.attention(q, &[part], self.heads, sight, mixed)?;
        past.keep_last(self.window - 1);
        operations.inputs(mixed, &[&self.attention_out], inputs)?;
        operations.product(inputs, [(&self.attention_out, &mut *q)])?;
        operations.add_scaled(q, &self.scales[0], stream)?;
        self.norms[1].apply(operations, stream, &[&self.up], inputs)?;
        operations.product(inputs, [(&self.up, &mut *k)])?;
        operations.activate(TowerActivation::Gelu, k, &self.down, inputs)?;
        operations.product(inputs, [(&self.down, &mut *q)])?;
        operations.add_scaled(q, &self.scales[1], stream)
    }
}
