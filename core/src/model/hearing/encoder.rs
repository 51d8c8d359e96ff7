//! The encoder of a model's audio part, whatever computes it.

use std::sync::Arc;

use crate::checkpoint::invalid;
use crate::checkpoint::{CausalEncoderCheckpoint, EncoderKind, HearingArchitecture};
use crate::error::Result;
use crate::model::hearing::causal::CausalEncoder;
use crate::model::hearing::fast_conformer::FastConformer;
use crate::model::hearing::local_conformer::LocalConformer;
use crate::model::hearing::network::{EncoderNetwork, LoadedEncoder, RecordingPass};
use crate::model::hearing::operations::SoundOperations;
use crate::position::EmbeddingJob;
use crate::weights::Weights;

/// The audio part of a model. Clones share it.
#[derive(Clone)]
pub(crate) struct SoundEncoder(Arc<dyn LoadedEncoder>);

/// The computation of one recording.
pub(crate) struct SoundPass(Box<dyn RecordingPass>);

impl SoundEncoder {
    pub(crate) fn load<O: SoundOperations>(
        operations: O,
        files: &Weights,
        architecture: &HearingArchitecture,
    ) -> Result<Self> {
        Ok(Self(match architecture.family.kind {
            EncoderKind::FastConformer => {
                Arc::new(EncoderNetwork::<O, FastConformer<O>>::load(operations, files, architecture)?)
            }
            EncoderKind::Causal => {
                let HearingArchitecture { n_layers, norm_eps, .. } = *architecture;
                let checkpoint = CausalEncoderCheckpoint::read(files, n_layers, norm_eps)?;
                Arc::new(CausalEncoder::load(operations, &checkpoint, architecture)?)
            }
            EncoderKind::LocalConformer => {
                Arc::new(EncoderNetwork::<O, LocalConformer<O>>::load(operations, files, architecture)?)
            }
        }))
    }

    pub(crate) fn architecture(&self) -> &HearingArchitecture {
        self.0.architecture()
    }

    /// Checks that rows are as long as the decoder's rows.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad).
    pub(crate) fn check_row_size(&self, hidden: usize) -> Result<()> {
        match self.0.row_size() {
            found if found == hidden => Ok(()),
            found => Err(invalid(format!("the adapter of sound must give rows of {hidden} values, found {found}"))),
        }
    }

    /// Values that differ between encoders, with the types of their weights: a few kilobytes that name it.
    pub(crate) fn fingerprint(&self) -> Vec<u8> {
        self.0.fingerprint()
    }

    /// Begins with the features of a recording, `(frames, bins)`, of which there is at least one frame.
    pub(crate) fn begin(&self, features: Vec<f32>) -> SoundPass {
        SoundPass(Arc::clone(&self.0).begin(features))
    }
}

impl EmbeddingJob for SoundPass {
    /// Computes the rows of the beginning, then the layers, a piece at a time, then the rows, `(rows, row size)`. They come last.
    ///
    /// # Errors
    /// A device that fails, or memory that has ended. The pass must not be used afterwards.
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>> {
        self.0.advance()
    }
}
