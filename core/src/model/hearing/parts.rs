//! What kinds of encoders differ in: their networks, in bands of rows.

use crate::checkpoint::HearingArchitecture;
use crate::error::Result;
use crate::model::hearing::operations::SoundOperations;
use crate::model::hearing::reader::EncoderReader;
use crate::model::hearing::stream::{EncoderBuffers, SoundStream};

/// The networks of one kind of encoder.
pub(super) trait EncoderParts<O: SoundOperations>: Sized + Send + Sync + 'static {
    fn load(reader: &EncoderReader<'_, O>, architecture: &HearingArchitecture) -> Result<Self>;

    /// Names of tensors whose first values tell encoders apart.
    fn distinct_tensors() -> &'static [&'static str];

    fn n_layers(&self) -> usize;

    /// Values of a row that the encoder gives.
    fn row_size(&self) -> usize;

    /// Computes a band of the stream from the features, `(frames, bins)`. The first band also prepares what all layers share.
    fn begin(
        &self,
        operations: &O,
        features: &[f32],
        stream: &mut SoundStream<O>,
        band: usize,
        buffers: &mut EncoderBuffers<O>,
    ) -> Result<()>;

    /// Computes a phase of a layer for a band.
    fn advance(
        &self,
        operations: &O,
        place: (usize, Phase),
        stream: &mut SoundStream<O>,
        band: usize,
        buffers: &mut EncoderBuffers<O>,
    ) -> Result<()>;

    /// Appends a band's rows of the decoder's embedding.
    fn end(
        &self,
        operations: &O,
        stream: &SoundStream<O>,
        band: usize,
        buffers: &mut EncoderBuffers<O>,
        values: &mut Vec<f32>,
    ) -> Result<()>;
}

/// The phases of a layer. Each needs all bands of the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The first feed-forward block; queries, keys and values.
    Project,
    /// Attention; what the convolution gets.
    Attend,
    /// The convolution and the second feed-forward block.
    Convolve,
}

impl Phase {
    pub(super) const ALL: [Self; 3] = [Self::Project, Self::Attend, Self::Convolve];
}
