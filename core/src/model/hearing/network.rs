//! An encoder and its passes: from the features of a recording to rows of the decoder's embedding, in pieces of one layer.

use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::checkpoint::HearingArchitecture;
use crate::error::Result;
use crate::model::hearing::operations::SoundOperations;
use crate::model::hearing::parts::{EncoderParts, Phase};
use crate::model::hearing::reader::EncoderReader;
use crate::model::hearing::stream::{EncoderBuffers, SoundStream};
use crate::weights::Weights;

/// Rows that are computed at once, half a minute of sound.
const BAND: usize = 384;
/// Queries times keys of a band at most, so that bands of long recordings take no longer.
const SCORES: usize = BAND * 4096;
/// Rows of a piece. A layer computes its rows in three phases, so half a minute takes one layer at a time.
const PIECE: usize = 3 * BAND;

/// An encoder of any operations.
pub(super) trait LoadedEncoder: Send + Sync {
    fn architecture(&self) -> &HearingArchitecture;

    /// Values of a row.
    fn row_size(&self) -> usize;

    fn fingerprint(&self) -> Vec<u8>;

    fn begin(self: Arc<Self>, features: Vec<f32>) -> Box<dyn RecordingPass>;
}

/// The computation of one recording, with any operations.
pub(super) trait RecordingPass: Send {
    /// Computes a piece; returns the rows after the last one.
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>>;
}

pub(super) struct EncoderNetwork<O: SoundOperations, P> {
    operations: O,
    parts: P,
    fingerprint: Vec<u8>,
    architecture: HearingArchitecture,
    buffers: Mutex<EncoderBuffers<O>>,
}

pub(super) struct NetworkRecording<O: SoundOperations, P> {
    encoder: Arc<EncoderNetwork<O, P>>,
    /// `(frames, bins)`
    features: Vec<f32>,
    pub(super) stream: SoundStream<O>,
    /// Bands of each phase that have been computed so far: of the beginning, of all layers, and of the end.
    n_done: usize,
    pub(super) values: Vec<f32>,
}

impl<O: SoundOperations, P: EncoderParts<O>> EncoderNetwork<O, P> {
    pub(super) fn load(operations: O, files: &Weights, architecture: &HearingArchitecture) -> Result<Self> {
        let tensors = architecture.tensors(files)?;
        let reader = EncoderReader { operations: &operations, tensors: &tensors, norm_eps: architecture.norm_eps };
        let parts = P::load(&reader, architecture)?;
        let mut fingerprint = reader.fingerprint(P::distinct_tensors())?;
        fingerprint.extend(format!("{architecture:?}").into_bytes());
        let architecture = architecture.clone();
        Ok(Self { parts, fingerprint, architecture, operations, buffers: Mutex::default() })
    }

    #[cfg(test)]
    pub(super) fn operations(&self) -> &O {
        &self.operations
    }
}

impl<O: SoundOperations, P: EncoderParts<O>> LoadedEncoder for EncoderNetwork<O, P> {
    fn architecture(&self) -> &HearingArchitecture {
        &self.architecture
    }

    fn row_size(&self) -> usize {
        self.parts.row_size()
    }

    fn fingerprint(&self) -> Vec<u8> {
        self.fingerprint.clone()
    }

    fn begin(self: Arc<Self>, features: Vec<f32>) -> Box<dyn RecordingPass> {
        Box::new(NetworkRecording::new(self, features, BAND))
    }
}

impl<O: SoundOperations, P: EncoderParts<O>> RecordingPass for NetworkRecording<O, P> {
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>> {
        let encoder = Arc::clone(&self.encoder);
        let mut buffers = encoder.buffers.lock();
        let (n_bands, n_phases) = (self.stream.bands.len(), Phase::ALL.len() * encoder.parts.n_layers() + 2);
        let mut n_rows = 0;
        while n_rows < PIECE && self.n_done < n_bands * n_phases {
            let (phase, band) = (self.n_done / n_bands, self.n_done % n_bands);
            self.compute(&encoder, (phase, band), &mut buffers)?;
            self.n_done += 1;
            n_rows += self.stream.bands[band].rows.len();
        }
        Ok((self.n_done == n_bands * n_phases).then(|| mem::take(&mut self.values).into()))
    }
}

impl<O: SoundOperations, P: EncoderParts<O>> NetworkRecording<O, P> {
    /// A recording that is computed in bands of `most` rows at most.
    pub(super) fn new(encoder: Arc<EncoderNetwork<O, P>>, features: Vec<f32>, most: usize) -> Self {
        let HearingArchitecture { n_bins, family, .. } = encoder.architecture;
        let n_rows = (features.len() / n_bins).div_ceil(family.frames);
        let band = (SCORES / n_rows.max(1)).clamp(1, most);
        Self { encoder, features, stream: SoundStream::new(n_rows, band), n_done: 0, values: Vec::new() }
    }

    /// Computes a band in a phase, counted from the beginning of the encoder.
    pub(super) fn compute(
        &mut self,
        encoder: &EncoderNetwork<O, P>,
        (phase, at): (usize, usize),
        buffers: &mut EncoderBuffers<O>,
    ) -> Result<()> {
        let EncoderNetwork { operations, parts, .. } = encoder;
        let Self { features, stream, values, .. } = self;
        let n_phases = Phase::ALL.len();
        match phase.checked_sub(1) {
            None => parts.begin(operations, features, stream, at, buffers),
            Some(phase) if phase / n_phases < parts.n_layers() => {
                let place = (phase / n_phases, Phase::ALL[phase % n_phases]);
                parts.advance(operations, place, stream, at, buffers)
            }
            Some(_) => parts.end(operations, stream, at, buffers, values),
        }
    }
}
