//! A tower of a model, whatever computes it.

use std::sync::Arc;

use crate::checkpoint::VisionArchitecture;
use crate::checkpoint::invalid;
use crate::error::Result;
use crate::media::Picture;
use crate::model::tower::network::{ImagePass, LoadedTower, TowerNetwork};
use crate::model::tower::operations::TowerOperations;
use crate::position::EmbeddingJob;
use crate::weights::Weights;

/// The vision part of a model. Clones share it.
#[derive(Clone)]
pub(crate) struct VisionTower(Arc<dyn LoadedTower>);

/// The computation of one image.
pub(crate) struct TowerPass(Box<dyn ImagePass>);

impl VisionTower {
    pub(crate) fn load<O: TowerOperations>(
        operations: O,
        files: &Weights,
        architecture: &VisionArchitecture,
    ) -> Result<Self> {
        Ok(Self(Arc::new(TowerNetwork::load(operations, files, architecture)?)))
    }

    pub(crate) fn architecture(&self) -> &VisionArchitecture {
        self.0.architecture()
    }

    /// Checks that rows are as long as the decoder's rows.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad).
    pub(crate) fn check_row_size(&self, hidden: usize) -> Result<()> {
        match self.0.row_size() {
            found if found == hidden => Ok(()),
            found => Err(invalid(format!("the projector of images must give rows of {hidden} values, found {found}"))),
        }
    }

    /// Values that differ between towers, with the types of their weights: a few kilobytes that name it.
    pub(crate) fn fingerprint(&self) -> Vec<u8> {
        self.0.fingerprint()
    }

    /// Begins with an image, whose sides are whole units of the model's rules.
    pub(crate) fn begin(&self, image: Picture) -> TowerPass {
        TowerPass(Arc::clone(&self.0).begin(image))
    }
}

impl EmbeddingJob for TowerPass {
    /// Computes the patches, then the layers, a piece at a time, then the rows, `(rows, row size)`. They come last.
    ///
    /// # Errors
    /// A device that fails, or memory that has ended. The pass must not be used afterwards.
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>> {
        self.0.advance()
    }
}
