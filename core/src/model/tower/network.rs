//! A tower and its passes: from the pixels of an image to rows of the decoder's embedding, in pieces of one layer.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::checkpoint::VisionArchitecture;
use crate::error::Result;
use crate::media::Picture;
use crate::model::tower::norm::residual;
use crate::model::tower::operations::TowerOperations;
use crate::model::tower::patches::{PlaceVectors, axial_angles, half_angles, write_pixels};
use crate::model::tower::stream::{PatchBand, TowerBuffers, TowerStream};
use crate::model::tower::weights::{AxialRotation, TowerWeights};
use crate::weights::Weights;

/// Rows that a layer projects or mixes at once.
const BAND: usize = 1024;
/// Rows of a piece. A layer projects and mixes its rows, so an image of 1,024 patches takes one layer at a time.
const PIECE: usize = 2 * BAND;

/// A tower of any operations.
pub(super) trait LoadedTower: Send + Sync {
    fn architecture(&self) -> &VisionArchitecture;

    /// Values of a row.
    fn row_size(&self) -> usize;

    fn fingerprint(&self) -> Vec<u8>;

    fn begin(self: Arc<Self>, image: Picture) -> Box<dyn ImagePass>;
}

/// The computation of one image, with any operations.
pub(super) trait ImagePass: Send {
    /// Computes a piece; returns the rows after the last one.
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>>;
}

pub(super) struct TowerNetwork<O: TowerOperations> {
    operations: O,
    weights: TowerWeights<O>,
    architecture: VisionArchitecture,
    buffers: Mutex<TowerBuffers<O>>,
}

struct NetworkPass<O: TowerOperations> {
    tower: Arc<TowerNetwork<O>>,
    image: Picture,
    stream: TowerStream<O>,
    /// Layers computed so far.
    n_layers: usize,
    /// Bands that the next layer has projected and mixed so far.
    n_projected: usize,
    n_mixed: usize,
}

impl<O: TowerOperations> TowerNetwork<O> {
    pub(super) fn load(operations: O, files: &Weights, architecture: &VisionArchitecture) -> Result<Self> {
        let weights = TowerWeights::load(&operations, &architecture.tensors(files)?, architecture)?;
        Ok(Self { operations, weights, architecture: architecture.clone(), buffers: Mutex::default() })
    }

    /// The embedding of an image's patches, with their places.
    fn patches(&self, image: &Picture, buffers: &mut TowerBuffers<O>) -> Result<TowerStream<O>> {
        let Self { operations, weights, architecture, .. } = self;
        let (side, hidden) = (architecture.rules.patch, weights.hidden);
        let (n_rows, n_columns) = (image.height / side, image.width / side);
        let places = weights.places.as_ref().map(|table| PlaceVectors::new(table, hidden, (n_rows, n_columns)));
        let places = places.transpose()?;
        let n_heads = architecture.n_heads;
        let TowerBuffers { inputs, projected: [spare, pixels, _], .. } = buffers;
        let (mut bands, n_patches) = (Vec::new(), n_rows * n_columns);
        for start in (0..n_patches).step_by(BAND) {
            let mut band = PatchBand::<O>::new(start..n_patches.min(start + BAND));
            let n = band.patches.len();
            operations.upload(
                (n, hidden),
                |at, to| match &places {
                    Some(places) => places.write(start + at, to),
                    None => to.fill(0.0),
                },
                &mut band.stream,
            )?;
            if let Some(AxialRotation { frequencies, is_by_halves }) = &weights.rotation {
                let n_pairs = if *is_by_halves { frequencies.len() } else { 2 * frequencies.len() };
                let (cosines, sines) = match is_by_halves {
                    true => half_angles(frequencies, n_columns, band.patches.clone(), n_heads),
                    false => axial_angles(frequencies, n_columns, band.patches.clone()),
                };
                let angles = band.angles.insert(O::Angles::default());
                operations.upload_angles(cosines, sines, n_pairs, angles)?;
            }
            let write = |at: usize, to: &mut [f32]| write_pixels(image, architecture, start + at, to);
            operations.upload((n, 3 * side * side), write, pixels)?;
            operations.inputs(pixels, &[&weights.patch], inputs)?;
            operations.add_product(inputs, &weights.patch, residual(None), spare, &mut band.stream)?;
            if let Some(norm) = &weights.patch_norm {
                norm.apply(operations, &band.stream, &[], inputs)?;
                operations.input_rows(inputs, &mut band.stream)?;
            }
            bands.push(band);
        }
        let is_rotated_by_halves = weights.rotation.as_ref().is_some_and(|rotation| rotation.is_by_halves);
        Ok(TowerStream { bands, n_columns, hidden, is_rotated_by_halves, ..TowerStream::default() })
    }
}

impl<O: TowerOperations> LoadedTower for TowerNetwork<O> {
    fn architecture(&self) -> &VisionArchitecture {
        &self.architecture
    }

    fn row_size(&self) -> usize {
        self.weights.row_size
    }

    fn fingerprint(&self) -> Vec<u8> {
        self.weights.fingerprint.clone()
    }

    fn begin(self: Arc<Self>, image: Picture) -> Box<dyn ImagePass> {
        let stream = TowerStream::default();
        Box::new(NetworkPass { tower: self, image, stream, n_layers: 0, n_projected: 0, n_mixed: 0 })
    }
}

impl<O: TowerOperations> ImagePass for NetworkPass<O> {
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>> {
        let tower = Arc::clone(&self.tower);
        let mut buffers = tower.buffers.lock();
        if self.stream.bands.is_empty() {
            self.stream = tower.patches(&self.image, &mut buffers)?;
            return Ok(None);
        }
        if self.n_layers < tower.weights.layers.len() {
            let mut n_rows = 0;
            while n_rows < PIECE && self.n_layers < tower.weights.layers.len() {
                n_rows += self.advance_layer(&tower, &mut buffers)?;
            }
            return Ok(None);
        }
        let side = tower.architecture.rules.merge;
        Ok(Some(tower.weights.head.apply(&tower.operations, side, &mut self.stream, &mut buffers)?.into()))
    }
}

impl<O: TowerOperations> NetworkPass<O> {
    /// Computes a band of a layer, and returns its number of rows.
    fn advance_layer(&mut self, tower: &TowerNetwork<O>, buffers: &mut TowerBuffers<O>) -> Result<usize> {
        let layer = &tower.weights.layers[self.n_layers];
        let n_bands = self.stream.bands.len();
        let n_rows = |stream: &TowerStream<O>, band: usize| stream.bands[band].patches.len();
        if self.n_projected < n_bands {
            let band = self.n_projected;
            self.n_projected += 1;
            layer.project(&tower.operations, &mut self.stream, band, buffers)?;
            return Ok(n_rows(&self.stream, band));
        }
        let band = self.n_mixed;
        self.n_mixed += 1;
        layer.mix(&tower.operations, &mut self.stream, band, buffers)?;
        if self.n_mixed == n_bands {
            self.n_layers += 1;
            (self.n_projected, self.n_mixed) = (0, 0);
        }
        Ok(n_rows(&self.stream, band))
    }
}
