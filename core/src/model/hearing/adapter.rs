//! The end of an encoder: from its rows to rows of the decoder's embedding.

use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::hearing::operations::SoundOperations;
use crate::model::hearing::reader::EncoderReader;
use crate::model::hearing::stream::EncoderBuffers;
use crate::model::linear::Linear;
use crate::model::tower::{TowerActivation, TowerNorm};

/// Epsilon of the adapter's norm.
const EPSILON: f32 = 1e-5;
pub(super) const FIRST: &str = "mm.a.mlp.1";
pub(super) const SECOND: &str = "mm.a.mlp.3";

pub(super) struct Adapter<B: Backend> {
    norm: TowerNorm<B>,
    first: Linear<B>,
    second: Linear<B>,
    /// Values of a row.
    pub(super) row_size: usize,
}

impl<O: SoundOperations> Adapter<O> {
    pub(super) fn load(reader: &EncoderReader<'_, O>, hidden: usize) -> Result<Self> {
        let (inner, row_size) = (reader.rows(FIRST)?, reader.rows(SECOND)?);
        Ok(Self {
            norm: TowerNorm { epsilon: EPSILON, ..reader.norm("mm.a.mlp.0", hidden)? },
            first: reader.linear(FIRST, (inner, hidden))?,
            second: reader.linear(SECOND, (row_size, inner))?,
            row_size,
        })
    }

    /// Appends the outputs for rows.
    pub(super) fn apply(
        &self,
        operations: &O,
        rows: (&O::Rows, usize),
        EncoderBuffers { inputs, projected: [inner, out, _], .. }: &mut EncoderBuffers<O>,
        values: &mut Vec<f32>,
    ) -> Result<()> {
        let Self { norm, first, second, .. } = self;
        norm.apply(operations, rows.0, &[first], inputs)?;
        operations.product(inputs, [(first, &mut *inner)])?;
        operations.activate(TowerActivation::Gelu, inner, second, inputs)?;
        operations.product(inputs, [(second, &mut *out)])?;
        operations.read(out, 0..rows.1, values)
    }
}
