//! From patches after all layers to rows of the decoder's embedding.

use crate::error::Result;
use crate::model::tower::norm::residual;
use crate::model::tower::operations::{TowerActivation, TowerOperations};
use crate::model::tower::stream::{TowerBuffers, TowerStream};
use crate::model::tower::weights::RowHead;

impl<O: TowerOperations> RowHead<O> {
    /// The rows of the patches of each square of `side` patches.
    pub(super) fn apply(
        &self,
        operations: &O,
        side: usize,
        stream: &mut TowerStream<O>,
        buffers: &mut TowerBuffers<O>,
    ) -> Result<Vec<f32>> {
        let n_rows = stream.bands.last().map_or(0, |band| band.patches.end) / (side * side);
        self.join_patches(operations, side, stream, buffers)?;
        let TowerBuffers { inputs, projected: [inner, _, outputs], mixed } = buffers;
        match self {
            Self::Joined { joined_norm, first, second, .. } => {
                match joined_norm {
                    Some(norm) => norm.apply(operations, mixed, &[first], inputs)?,
                    None => operations.inputs(mixed, &[first], inputs)?,
                }
                operations.product(inputs, [(first, &mut *inner)])?;
                operations.activate(TowerActivation::Gelu, inner, second, inputs)?;
                operations.product(inputs, [(second, &mut *outputs)])?;
            }
            Self::Pooled { factor, standard, mean_norm, map, .. } => {
                let sum = &mut stream.grid;
                let hidden = stream.hidden;
                operations.upload((n_rows, hidden), |_, to| to.fill(0.0), sum)?;
                for patch in 0..side * side {
                    operations.columns(mixed, patch * hidden..(patch + 1) * hidden, inner)?;
                    operations.add_outputs(inner, residual(None), sum)?;
                }
                operations.scale(sum, *factor)?;
                if let Some([factors, shifts]) = standard {
                    operations.scale_columns(sum, factors, Some(shifts))?;
                }
                mean_norm.apply(operations, sum, &[map], inputs)?;
                operations.product(inputs, [(map, &mut *outputs)])?;
            }
        }
        let mut values = Vec::new();
        operations.read(outputs, 0..n_rows, &mut values)?;
        Ok(values)
    }

    /// Normalises the patches, and joins the patches of each square in `mixed`.
    fn join_patches(
        &self,
        operations: &O,
        side: usize,
        stream: &mut TowerStream<O>,
        TowerBuffers { inputs, projected: [_, rows, _], mixed }: &mut TowerBuffers<O>,
    ) -> Result<()> {
        let norm = match self {
            Self::Joined { patch_norm, .. } => Some(patch_norm),
            Self::Pooled { patch_norm, .. } => patch_norm.as_ref(),
        };
        for band in &stream.bands {
            let patches = match norm {
                Some(norm) => {
                    norm.apply(operations, &band.stream, &[], inputs)?;
                    operations.input_rows(inputs, rows)?;
                    &*rows
                }
                None => &band.stream,
            };
            operations.extend(patches, band.patches.start, &mut stream.grid)?;
        }
        operations.join_squares(&stream.grid, stream.n_columns, side, mixed)
    }
}
