//! The weights of a vision tower and its projector.

use crate::checkpoint::Activation;
use crate::model::backend::Backend;
use crate::model::heads::Heads;
use crate::model::linear::Linear;
use crate::model::tower::clipped::ClippedLinear;
use crate::model::tower::norm::TowerNorm;

pub(super) struct TowerWeights<B: Backend> {
    /// `(hidden, patch * patch * 3)`: patches by row, column and channel.
    pub(super) patch: Linear<B>,
    pub(super) patch_norm: Option<TowerNorm<B>>,
    /// Vectors that are added to patches by their place.
    pub(super) places: Option<PlaceTable>,
    pub(super) rotation: Option<AxialRotation>,
    pub(super) layers: Vec<TowerLayer<B>>,
    pub(super) head: RowHead<B>,
    pub(super) hidden: usize,
    /// Values of a row that the tower gives.
    pub(super) row_size: usize,
    /// Values that differ between towers, with the types of their weights.
    pub(super) fingerprint: Vec<u8>,
}

/// Vectors for the places of patches.
pub(super) enum PlaceTable {
    /// Vectors of a square of patches, `(side * side, hidden)`, which are mixed for a grid of another size.
    Square { values: Vec<f32>, side: usize, is_aligned: bool },
    /// Vectors of columns, then of rows, `(2, places, hidden)`.
    Axes { values: Vec<f32>, n_places: usize },
}

/// Rotary positions of rows and columns.
pub(super) struct AxialRotation {
    /// The frequencies of each axis.
    pub(super) frequencies: Vec<f32>,
    /// Whether the first half of a head rotates by the column, and the second half by the row. Otherwise each half has the first
    /// or the second elements of all pairs, half of which rotate by the row and half by the column.
    pub(super) is_by_halves: bool,
}

pub(super) struct TowerLayer<B: Backend> {
    pub(super) operator_norm: TowerNorm<B>,
    pub(super) operator: TowerOperator<B>,
    pub(super) feed_forward_norm: TowerNorm<B>,
    pub(super) feed_forward: TowerFeedForward<B>,
    /// The norm of the outputs of the feed-forward block.
    pub(super) out_norm: Option<TowerNorm<B>>,
}

/// What mixes patches.
pub(super) enum TowerOperator<B: Backend> {
    Attention(Box<TowerAttention<B>>),
    Convolution {
        /// `(3 * hidden, hidden)`
        in_proj: Linear<B>,
        /// `(side * side, hidden)`
        taps: B::Vector,
        side: usize,
        out: Linear<B>,
    },
}

pub(super) struct TowerAttention<B: Backend> {
    /// Queries, keys and values.
    pub(super) projections: [ClippedLinear<B>; 3],
    /// Norms of the heads of queries and keys.
    pub(super) head_norms: Option<[B::Vector; 2]>,
    /// The norm of the heads of values: ones.
    pub(super) value_norm: Option<B::Vector>,
    pub(super) heads: Heads,
    /// Factor of the scores.
    pub(super) scale: f32,
    pub(super) out: ClippedLinear<B>,
    /// The norm of the outputs.
    pub(super) out_norm: Option<TowerNorm<B>>,
}

pub(super) enum TowerFeedForward<B: Backend> {
    Gated {
        activation: Activation,
        gate: ClippedLinear<B>,
        up: ClippedLinear<B>,
        down: ClippedLinear<B>,
    },
    /// With GELU.
    Plain {
        up: Linear<B>,
        down: Linear<B>,
    },
}

/// What makes a row of the patches that lie in a square.
pub(super) enum RowHead<B: Backend> {
    /// They are joined.
    Joined { patch_norm: TowerNorm<B>, joined_norm: Option<TowerNorm<B>>, first: Linear<B>, second: Linear<B> },
    /// Their mean becomes a row.
    Pooled {
        patch_norm: Option<TowerNorm<B>>,
        /// Factor of the sum of a square.
        factor: f32,
        /// Factors and shifts of the columns of means.
        standard: Option<[B::Vector; 2]>,
        mean_norm: TowerNorm<B>,
        map: Linear<B>,
    },
}
