//! The layers of a tower, in bands of patches: first all bands are projected, then each band is mixed with the others.

use crate::checkpoint::Activation;
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::linear::Linear;
use crate::model::operations::{Residual, SequencePart};
use crate::model::tower::operations::{PatchGridConvolution, TowerActivation, TowerOperations};
use crate::model::tower::stream::{TowerBuffers, TowerStream};
use crate::model::tower::weights::{TowerLayer, TowerNorm, TowerOperator};

/// How outputs are added to the residual stream: as they are.
pub(super) fn plainly<'a, O: TowerOperations>() -> Residual<'a, O> {
    Residual { norm: None, factor: 1.0 }
}

impl<O: TowerOperations> TowerNorm<O> {
    pub(in crate::model) fn apply(
        &self,
        operations: &O,
        rows: &O::Rows,
        next: &[&Linear<O>],
        inputs: &mut O::Inputs,
    ) -> Result<()> {
        match &self.bias {
            Some(bias) => operations.layer_norm(rows, (&self.weight, self.epsilon), bias, next, inputs),
            None => operations.norm(rows, (&self.weight, self.epsilon), next, inputs),
        }
    }
}

impl<O: TowerOperations> TowerLayer<O> {
    /// Projects a band.
    pub(super) fn project(
        &self,
        operations: &O,
        stream: &mut TowerStream<O>,
        band: usize,
        buffers: &mut TowerBuffers<O>,
    ) -> Result<()> {
        let TowerBuffers { inputs, projected: [out, keys, values], .. } = buffers;
        let band = &mut stream.bands[band];
        match &self.operator {
            TowerOperator::Attention { projections, head_norms, heads } => {
                let [q_proj, k_proj, v_proj] = projections;
                self.operator_norm.apply(operations, &band.stream, &[q_proj, k_proj, v_proj], inputs)?;
                let queries = &mut band.queries;
                operations.product(inputs, [(q_proj, &mut *queries), (k_proj, &mut *keys), (v_proj, &mut *values)])?;
                let norm = |at: usize| head_norms.as_ref().map(|norms| (&norms[at], self.operator_norm.epsilon));
                let angles = band.angles.as_ref();
                if angles.is_some() || head_norms.is_some() {
                    operations.rotate_halves(queries, heads.head_dim, norm(0), angles)?;
                    operations.rotate_halves(keys, heads.head_dim, norm(1), angles)?;
                }
                let past = match &mut stream.past {
                    Some(past) => past,
                    none => none.insert(operations.key_values(*heads)?),
                };
                operations.append(SequencePart { rows: 0..band.patches.len(), memory: past }, keys, values)
            }
            TowerOperator::Convolution { in_proj, .. } => {
                self.operator_norm.apply(operations, &band.stream, &[in_proj], inputs)?;
                operations.product(inputs, [(in_proj, &mut *out)])?;
                operations.extend(out, band.patches.start, &mut stream.grid)
            }
        }
    }

    /// Mixes a band with all that were projected, and adds the feed-forward block.
    pub(super) fn mix(
        &self,
        operations: &O,
        stream: &mut TowerStream<O>,
        band: usize,
        buffers: &mut TowerBuffers<O>,
    ) -> Result<()> {
        let TowerBuffers { inputs, projected: [spare, ..], mixed } = buffers;
        let is_last = band + 1 == stream.bands.len();
        let band = &mut stream.bands[band];
        match &self.operator {
            TowerOperator::Attention { heads, .. } => {
                let missing = || SdkError::new(ErrorKind::Internal, "patches must be projected before they are mixed");
                let past = stream.past.as_ref().ok_or_else(missing)?;
                let scale = (heads.head_dim as f32).sqrt().recip();
                operations.bidirectional_attention(&band.queries, past, *heads, scale, mixed)?;
                operations.inputs(mixed, &[&self.out], inputs)?;
                if is_last {
                    stream.past = None;
                }
            }
            TowerOperator::Convolution { taps, side, .. } => {
                let (projected, n_columns) = (&stream.grid, stream.n_columns);
                let grid = PatchGridConvolution { projected, n_columns, taps, side: *side };
                operations.convolve_grid(grid, band.patches.clone(), &self.out, inputs)?;
            }
        }
        operations.add_product(inputs, &self.out, plainly(), spare, &mut band.stream)?;
        self.feed_forward(operations, &mut band.stream, buffers)
    }

    fn feed_forward(&self, operations: &O, stream: &mut O::Rows, buffers: &mut TowerBuffers<O>) -> Result<()> {
        let TowerBuffers { inputs, projected: [spare, up, gate], .. } = buffers;
        match &self.gate {
            Some(map) => {
                self.feed_forward_norm.apply(operations, stream, &[&self.up, map], inputs)?;
                operations.product(inputs, [(map, &mut *gate), (&self.up, &mut *up)])?;
                operations.gate(Activation::Silu, gate, up, &self.down, inputs)?;
            }
            None => {
                self.feed_forward_norm.apply(operations, stream, &[&self.up], inputs)?;
                operations.product(inputs, [(&self.up, &mut *up)])?;
                operations.activate(TowerActivation::GeluTanh, up, &self.down, inputs)?;
            }
        }
        operations.add_product(inputs, &self.down, plainly(), spare, stream)
    }
}
