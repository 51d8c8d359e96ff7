//! Values between the operations of a pass, in memory that is reused.

use causerie_backend::Activations;

use crate::model::rope::Rope;

#[derive(Default)]
pub(crate) struct PassBuffers {
    /// The residual stream, to which every layer adds: `(rows, hidden)`.
    pub(super) stream: Vec<f32>,
    pub(super) inputs: Activations,
    /// Outputs of products: those of convolutions; queries, keys and values; gates and the values that they gate.
    pub(super) projected: [Vec<f32>; 3],
    /// Gates of attention heads: `(rows, query heads)`, or with a value for each element of a head.
    pub(super) head_gates: Vec<f32>,
    /// Queries, each followed by its gate: `(rows, query heads, 2, head_dim)`.
    pub(super) gated_queries: Vec<f32>,
    pub(super) mixed: Vec<f32>,
    /// How much of its error each value head of a delta net corrects, and the factor by which it decays: `(rows, heads)`.
    pub(super) rates: Vec<f32>,
    pub(super) decays: Vec<f32>,
    pub(super) logits: Vec<f32>,
    /// One entry for each kind of rotary positions in the model.
    pub(super) angles: Vec<RotaryAngles>,
    pub(super) experts: ExpertBuffers,
    pub(super) per_layer: PerLayerBuffers,
}

#[derive(Default)]
pub(super) struct PerLayerBuffers {
    /// `(rows, layers * width)`
    pub(super) vectors: Vec<f32>,
    /// One row of the table, and its bytes in the file.
    pub(super) row: Vec<f32>,
    pub(super) bytes: Vec<u8>,
}

/// The angles of all rows, for one kind of rotary positions.
#[derive(Default)]
pub(super) struct RotaryAngles {
    pub(super) cosines: Vec<f32>,
    pub(super) sines: Vec<f32>,
    /// Factors of the queries of each row; empty if queries do not grow.
    pub(super) query_factors: Vec<f32>,
}

#[derive(Default)]
pub(super) struct ExpertBuffers {
    pub(super) shares: Vec<f32>,
    /// For each expert the rows that use it, with their weights.
    pub(super) rows: Vec<Vec<(usize, f32)>>,
    pub(super) order: Vec<usize>,
    pub(super) inputs: Activations,
    pub(super) gate: Vec<f32>,
    pub(super) up: Vec<f32>,
    pub(super) out: Vec<f32>,
}

impl PassBuffers {
    /// Computes the angles of all rows: `positions` are those of each sequence in turn.
    pub(super) fn set_angles(&mut self, ropes: &[&Rope], positions: impl Iterator<Item = usize> + Clone) {
        self.angles.resize_with(ropes.len(), RotaryAngles::default);
        for (angles, rope) in self.angles.iter_mut().zip(ropes) {
            angles.cosines.clear();
            angles.sines.clear();
            angles.query_factors.clear();
            positions.clone().for_each(|position| rope.angles(position, &mut angles.cosines, &mut angles.sines));
            if let Some(growth) = rope.query_growth {
                angles.query_factors.extend(positions.clone().map(|position| growth.factor(position)));
            }
        }
    }
}

/// Sets the length of a buffer, whose values are undefined afterwards.
pub(super) fn resize(buffer: &mut Vec<f32>, length: usize) {
    buffer.resize(length, 0.0);
}
