//! The layers of a tower, in bands of patches: first all bands are projected, then each band is mixed with the others.

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::operations::SequencePart;
use crate::model::tower::clipped::products;
use crate::model::tower::norm::residual;
use crate::model::tower::operations::{PatchGridConvolution, TowerActivation, TowerOperations};
use crate::model::tower::stream::{TowerBuffers, TowerStream};
use crate::model::tower::weights::{TowerAttention, TowerFeedForward, TowerLayer, TowerOperator};

impl<O: TowerOperations> TowerLayer<O> {
    /// Projects a band.
    pub(super) fn project(
        &self,
        operations: &O,
        stream: &mut TowerStream<O>,
        band: usize,
        buffers: &mut TowerBuffers<O>,
    ) -> Result<()> {
        match &self.operator {
            TowerOperator::Attention(attention) => self.project_heads(operations, attention, stream, band, buffers),
            TowerOperator::Convolution { in_proj, .. } => {
                let TowerBuffers { inputs, projected: [out, ..], .. } = buffers;
                let band = &stream.bands[band];
                self.operator_norm.apply(operations, &band.stream, &[in_proj], inputs)?;
                operations.product(inputs, [(in_proj, &mut *out)])?;
                operations.extend(out, band.patches.start, &mut stream.grid)
            }
        }
    }

    /// Computes queries, keys and values.
    fn project_heads(
        &self,
        operations: &O,
        attention: &TowerAttention<O>,
        stream: &mut TowerStream<O>,
        band: usize,
        TowerBuffers { inputs, projected: [spare, keys, values], mixed }: &mut TowerBuffers<O>,
    ) -> Result<()> {
        let TowerAttention { projections: [q_proj, k_proj, v_proj], head_norms, value_norm, heads, .. } = attention;
        let (band, head_dim, epsilon) = (&mut stream.bands[band], heads.head_dim, self.operator_norm.epsilon);
        let maps = [(q_proj, &mut band.queries), (k_proj, &mut *keys), (v_proj, &mut *values)];
        products(operations, (&self.operator_norm, &band.stream), maps, (inputs, mixed, spare))?;
        let (angles, part_angles) = match &band.angles {
            Some(angles) if stream.is_rotated_by_halves => (None, Some(angles)),
            angles => (angles.as_ref(), None),
        };
        for (rows, at) in [(&mut band.queries, 0), (&mut *keys, 1)] {
            let norm = head_norms.as_ref().map(|norms| (&norms[at], epsilon));
            if angles.is_some() || norm.is_some() {
                operations.rotate_halves(rows, head_dim, norm, angles)?;
            }
            if let Some(angles) = part_angles {
                operations.rotate_parts(rows, head_dim / 2, angles)?;
            }
        }
        if let Some(norm) = value_norm {
            operations.rotate_halves(values, head_dim, Some((norm, epsilon)), None)?;
        }
        let past = match &mut stream.past {
            Some(past) => past,
            none => none.insert(operations.key_values(*heads)?),
        };
        operations.append(SequencePart { rows: 0..band.patches.len(), memory: past }, keys, values)
    }

    /// Mixes a band with all that were projected, and adds the feed-forward block.
    pub(super) fn mix(
        &self,
        operations: &O,
        stream: &mut TowerStream<O>,
        band: usize,
        buffers: &mut TowerBuffers<O>,
    ) -> Result<()> {
        let TowerBuffers { inputs, projected: [spare, rows, _], mixed } = buffers;
        let is_last = band + 1 == stream.bands.len();
        let band = &mut stream.bands[band];
        match &self.operator {
            TowerOperator::Attention(attention) => {
                let TowerAttention { heads, scale, out, out_norm, .. } = &**attention;
                let missing = || SdkError::new(ErrorKind::Internal, "patches must be projected before they are mixed");
                let past = stream.past.as_ref().ok_or_else(missing)?;
                operations.bidirectional_attention(&band.queries, past, *heads, *scale, mixed)?;
                if is_last {
                    stream.past = None;
                }
                out.add(operations, mixed, residual(out_norm.as_ref()), (inputs, spare, rows), &mut band.stream)?;
            }
            TowerOperator::Convolution { taps, side, out, .. } => {
                let (projected, n_columns) = (&stream.grid, stream.n_columns);
                let grid = PatchGridConvolution { projected, n_columns, taps, side: *side };
                operations.convolve_grid(grid, band.patches.clone(), out, inputs)?;
                operations.add_product(inputs, out, residual(None), spare, &mut band.stream)?;
            }
        }
        self.feed_forward(operations, &mut band.stream, buffers)
    }

    fn feed_forward(
        &self,
        operations: &O,
        stream: &mut O::Rows,
        TowerBuffers { inputs, projected: [spare, up_rows, gate_rows], mixed }: &mut TowerBuffers<O>,
    ) -> Result<()> {
        let residual = residual(self.out_norm.as_ref());
        match &self.feed_forward {
            TowerFeedForward::Gated { activation, gate, up, down } => {
                let maps = [(gate, &mut *gate_rows), (up, &mut *up_rows)];
                products(operations, (&self.feed_forward_norm, &*stream), maps, (&mut *inputs, mixed, &mut *spare))?;
                match down.unclipped() {
                    Some(down) => {
                        operations.gate(*activation, gate_rows, up_rows, &[down], inputs)?;
                        operations.add_product(inputs, down, residual, spare, stream)
                    }
                    None => {
                        operations.gate(*activation, gate_rows, up_rows, &[], inputs)?;
                        operations.input_rows(inputs, up_rows)?;
                        down.add(operations, up_rows, residual, (inputs, spare, gate_rows), stream)
                    }
                }
            }
            TowerFeedForward::Plain { up, down } => {
                self.feed_forward_norm.apply(operations, stream, &[up], inputs)?;
                operations.product(inputs, [(up, &mut *up_rows)])?;
                operations.activate(TowerActivation::GeluTanh, up_rows, down, inputs)?;
                operations.add_product(inputs, down, residual, spare, stream)
            }
        }
    }
}
