//! Values between the operations of a step, in memory that is reused.

use smallvec::SmallVec;

use crate::model::operations::Operations;

/// The buffers of a decoder. Each is overwritten by the operation that fills it.
pub(crate) struct Buffers<O: Operations> {
    /// The residual stream, to which every layer adds: `(rows, hidden)`.
    pub(crate) stream: O::Rows,
    pub(crate) inputs: O::Inputs,
    /// Outputs of maps: of convolutions; queries, keys and values; gates and the values that they gate.
    pub(super) projected: [O::Rows; 3],
    /// Gates of attention heads: `(rows, query heads)`, or with a value for each element of a head.
    pub(super) head_gates: O::Rows,
    /// Queries, each followed by its gate: `(rows, query heads, 2, head_dim)`.
    pub(super) gated_queries: O::Rows,
    pub(crate) mixed: O::Rows,
    /// How much of its error each value head of a delta net corrects, and the factor by which it decays: `(rows, heads)`.
    pub(super) rates: O::Rows,
    pub(super) decays: O::Rows,
    /// The vectors of all layers: `(rows, layers * width)`.
    pub(super) per_layer: O::Rows,
    pub(super) logits: O::Rows,
    /// One entry for each kind of rotary positions in the model.
    pub(super) angles: SmallVec<[O::Angles; 2]>,
    pub(super) scratch: O::Scratch,
}

impl<O: Operations> Default for Buffers<O> {
    fn default() -> Self {
        Self {
            stream: O::Rows::default(),
            inputs: O::Inputs::default(),
            projected: <[O::Rows; 3]>::default(),
            head_gates: O::Rows::default(),
            gated_queries: O::Rows::default(),
            mixed: O::Rows::default(),
            rates: O::Rows::default(),
            decays: O::Rows::default(),
            per_layer: O::Rows::default(),
            logits: O::Rows::default(),
            angles: SmallVec::new(),
            scratch: O::Scratch::default(),
        }
    }
}
