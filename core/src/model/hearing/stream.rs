//! The values of a recording on its way through an encoder.

use std::ops::Range;

use crate::model::hearing::operations::SoundOperations;

/// Values between operations, in memory that all recordings reuse.
pub(super) struct EncoderBuffers<O: SoundOperations> {
    pub(super) inputs: O::Inputs,
    pub(super) projected: [O::Rows; 3],
    pub(super) mixed: O::Rows,
}

/// The values of one recording.
pub(super) struct SoundStream<O: SoundOperations> {
    /// Rows of all bands.
    pub(super) n_rows: usize,
    pub(super) bands: Vec<SoundBand<O>>,
    /// The keys and values that a layer has projected so far.
    pub(super) keys: O::Rows,
    pub(super) values: O::Rows,
    /// Sines and cosines of all distances, and what a layer makes of them.
    pub(super) waves: O::Rows,
    pub(super) distances: O::Rows,
    /// What a convolution gets, as far as a layer has projected it.
    pub(super) gated: O::Rows,
}

/// Some rows, which are computed together.
pub(super) struct SoundBand<O: SoundOperations> {
    pub(super) rows: Range<usize>,
    /// The residual stream, `(rows, hidden)`.
    pub(super) stream: O::Rows,
    /// Queries of a layer.
    pub(super) queries: O::Rows,
}

impl<O: SoundOperations> Default for EncoderBuffers<O> {
    fn default() -> Self {
        Self { inputs: O::Inputs::default(), projected: <[O::Rows; 3]>::default(), mixed: O::Rows::default() }
    }
}

impl<O: SoundOperations> SoundStream<O> {
    /// The bands of a recording, whose rows are not computed yet.
    pub(super) fn new(n_rows: usize, band: usize) -> Self {
        let bands = (0..n_rows).step_by(band).map(|start| SoundBand {
            rows: start..n_rows.min(start + band),
            stream: O::Rows::default(),
            queries: O::Rows::default(),
        });
        Self {
            n_rows,
            bands: bands.collect(),
            keys: O::Rows::default(),
            values: O::Rows::default(),
            waves: O::Rows::default(),
            distances: O::Rows::default(),
            gated: O::Rows::default(),
        }
    }
}
