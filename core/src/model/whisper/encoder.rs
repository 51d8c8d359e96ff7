//! The encoder: a window's spectrogram becomes rows over which the decoder writes text.
//!
//! First all bands of a layer are projected, then each is mixed with the others.

use std::ops::Range;

use crate::error::Result;
use crate::model::linear::Linear;
use crate::model::operations::{Residual, SequencePart};
use crate::model::tower::TowerActivation;
use crate::model::whisper::operations::{RowWindows, SpeechOperations};
use crate::model::whisper::weights::{
    AttentionWeights, InnerBlock, KERNEL, LayerNormWeights, PositionTable, SoundLayer, WhisperWeights,
};

/// Rows that are computed at once.
pub(super) const BAND: usize = 512;

/// Values between operations, in memory that all windows reuse.
pub(super) struct WhisperBuffers<O: SpeechOperations> {
    pub(super) inputs: O::Inputs,
    pub(super) projected: [O::Rows; 3],
    pub(super) mixed: O::Rows,
}

impl<O: SpeechOperations> Default for WhisperBuffers<O> {
    fn default() -> Self {
        Self { inputs: O::Inputs::default(), projected: <[O::Rows; 3]>::default(), mixed: O::Rows::default() }
    }
}

/// Some rows of a window, which are computed together.
pub(super) struct HeardBand<O: SpeechOperations> {
    pub(super) rows: Range<usize>,
    /// The residual stream, `(rows, hidden)`.
    pub(super) stream: O::Rows,
    /// Queries of a layer.
    queries: O::Rows,
}

/// How outputs are added to the residual stream: as they are.
pub(super) fn plainly<'a, O: SpeechOperations>() -> Residual<'a, O> {
    Residual { norm: None, factor: 1.0 }
}

/// The factor of scores.
pub(super) fn scale<O: SpeechOperations>(attention: &AttentionWeights<O>) -> f32 {
    (attention.heads.head_dim as f32).sqrt().recip()
}

impl<O: SpeechOperations> LayerNormWeights<O> {
    pub(super) fn apply(
        &self,
        operations: &O,
        rows: &O::Rows,
        next: &[&Linear<O>],
        inputs: &mut O::Inputs,
    ) -> Result<()> {
        operations.layer_norm(rows, (&self.weight, self.epsilon), &self.bias, next, inputs)
    }
}

impl PositionTable {
    /// Uploads the vectors of some positions, which the table must have.
    pub(super) fn upload<O: SpeechOperations>(
        &self,
        operations: &O,
        positions: Range<usize>,
        rows: &mut O::Rows,
    ) -> Result<()> {
        let vectors = &self.values[positions.start * self.hidden..positions.end * self.hidden];
        let write = |at: usize, to: &mut [f32]| to.copy_from_slice(&vectors[at * self.hidden..][..self.hidden]);
        operations.upload((positions.len(), self.hidden), write, rows)
    }
}

impl<O: SpeechOperations> InnerBlock<O> {
    /// Adds the block's outputs to the residual stream.
    pub(super) fn add(&self, operations: &O, stream: &mut O::Rows, buffers: &mut WhisperBuffers<O>) -> Result<()> {
        let WhisperBuffers { inputs, projected: [spare, inner, _], .. } = buffers;
        self.norm.apply(operations, stream, &[&self.up], inputs)?;
        operations.product(inputs, [(&self.up, &mut *inner)])?;
        operations.activate(TowerActivation::Gelu, inner, &self.down, inputs)?;
        operations.add_product(inputs, &self.down, plainly(), spare, stream)
    }
}

impl<O: SpeechOperations> SoundLayer<O> {
    /// Projects a band, whose keys and values are added to the window's.
    pub(super) fn project(
        &self,
        operations: &O,
        band: &mut HeardBand<O>,
        past: &mut O::KeyValues,
        buffers: &mut WhisperBuffers<O>,
    ) -> Result<()> {
        let WhisperBuffers { inputs, projected: [_, keys, values], .. } = buffers;
        let AttentionWeights { norm, query, key, value, .. } = &self.attention;
        norm.apply(operations, &band.stream, &[query, key, value], inputs)?;
        operations.product(inputs, [(query, &mut band.queries), (key, &mut *keys), (value, &mut *values)])?;
        operations.append(SequencePart { rows: 0..band.rows.len(), memory: past }, keys, values)
    }

    /// Mixes a band with all that were projected, and adds the feed-forward block.
    pub(super) fn mix(
        &self,
        operations: &O,
        band: &mut HeardBand<O>,
        past: &O::KeyValues,
        buffers: &mut WhisperBuffers<O>,
    ) -> Result<()> {
        let WhisperBuffers { inputs, projected: [spare, ..], mixed } = buffers;
        let AttentionWeights { out, heads, .. } = &self.attention;
        operations.bidirectional_attention(&band.queries, past, *heads, scale(&self.attention), mixed)?;
        operations.inputs(mixed, &[out], inputs)?;
        operations.add_product(inputs, out, plainly(), spare, &mut band.stream)?;
        self.block.add(operations, &mut band.stream, buffers)
    }
}

impl<O: SpeechOperations> WhisperWeights<O> {
    /// The first convolution of some frames, `(frames, hidden)`, after those that came before.
    pub(super) fn convolve_frames(
        &self,
        operations: &O,
        frames: &O::Rows,
        part: Range<usize>,
        convolved: &mut O::Rows,
        buffers: &mut WhisperBuffers<O>,
    ) -> Result<()> {
        let WhisperBuffers { inputs, projected: [out, activated, _], .. } = buffers;
        let [first, second] = &self.convolutions;
        let kind = RowWindows { size: KERNEL, stride: 1, padding: 1 };
        operations.windows(frames, kind, part.clone(), first, inputs)?;
        operations.product(inputs, [(first, &mut *out)])?;
        operations.activate(TowerActivation::Gelu, out, second, inputs)?;
        operations.input_rows(inputs, activated)?;
        operations.extend(activated, part.start, convolved)
    }

    /// The second convolution, which halves the rows, with their positions.
    pub(super) fn begin_band(
        &self,
        operations: &O,
        convolved: &O::Rows,
        rows: Range<usize>,
        buffers: &mut WhisperBuffers<O>,
    ) -> Result<HeardBand<O>> {
        let WhisperBuffers { inputs, projected: [out, activated, _], .. } = buffers;
        let second = &self.convolutions[1];
        let kind = RowWindows { size: KERNEL, stride: 2, padding: 1 };
        operations.windows(convolved, kind, rows.clone(), second, inputs)?;
        operations.product(inputs, [(second, &mut *out)])?;
        operations.activate(TowerActivation::Gelu, out, second, inputs)?;
        operations.input_rows(inputs, activated)?;
        let mut band = HeardBand { rows, stream: O::Rows::default(), queries: O::Rows::default() };
        self.sound_positions.upload(operations, band.rows.clone(), &mut band.stream)?;
        operations.add_rows(activated, &mut band.stream)?;
        Ok(band)
    }
}
