//! The values of an image on its way through a tower.

use std::ops::Range;

use crate::model::tower::operations::TowerOperations;

/// Values between operations, in memory that all images reuse.
pub(super) struct TowerBuffers<O: TowerOperations> {
    pub(super) inputs: O::Inputs,
    /// Outputs, keys and values, or the values of a feed-forward block.
    pub(super) projected: [O::Rows; 3],
    pub(super) mixed: O::Rows,
}

/// The values of one image.
pub(super) struct TowerStream<O: TowerOperations> {
    /// Empty before the patches are computed.
    pub(super) bands: Vec<PatchBand<O>>,
    /// Columns of the grid of patches.
    pub(super) n_columns: usize,
    /// Values of a patch.
    pub(super) hidden: usize,
    /// Whether the angles rotate halves of heads, not whole heads.
    pub(super) is_rotated_by_halves: bool,
    /// What a convolution has projected so far, `(patches, 3 * hidden)`; after the layers, all patches.
    pub(super) grid: O::Rows,
    /// The keys and values that a layer has projected so far.
    pub(super) past: Option<O::KeyValues>,
}

/// Some patches, which are computed together.
pub(super) struct PatchBand<O: TowerOperations> {
    pub(super) patches: Range<usize>,
    /// The residual stream, `(patches, hidden)`.
    pub(super) stream: O::Rows,
    /// Queries of a layer, `(patches, heads * head_dim)`.
    pub(super) queries: O::Rows,
    /// Angles of axial rotary positions: of the row, then of the column for each patch; if halves of heads rotate apart, of the
    /// column and of the row for each head of each patch.
    pub(super) angles: Option<O::Angles>,
}

impl<O: TowerOperations> Default for TowerBuffers<O> {
    fn default() -> Self {
        Self { inputs: O::Inputs::default(), projected: <[O::Rows; 3]>::default(), mixed: O::Rows::default() }
    }
}

impl<O: TowerOperations> Default for TowerStream<O> {
    fn default() -> Self {
        Self {
            bands: Vec::new(),
            n_columns: 0,
            hidden: 0,
            is_rotated_by_halves: false,
            grid: O::Rows::default(),
            past: None,
        }
    }
}

impl<O: TowerOperations> PatchBand<O> {
    pub(super) fn new(patches: Range<usize>) -> Self {
        Self { patches, stream: O::Rows::default(), queries: O::Rows::default(), angles: None }
    }
}
