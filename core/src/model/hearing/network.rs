//! An encoder and its passes: from the features of a recording to rows of the decoder's embedding, in pieces of one layer.

use std::f64::consts::LN_10;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::checkpoint::HearingArchitecture;
use crate::error::Result;
use crate::model::hearing::adapter::{self, Adapter};
use crate::model::hearing::layer::{ConformerLayer, Phase};
use crate::model::hearing::operations::SoundOperations;
use crate::model::hearing::reader::EncoderReader;
use crate::model::hearing::stream::{EncoderBuffers, SoundStream};
use crate::model::hearing::subsampling::{FRAMES, Subsampling};
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

pub(super) struct EncoderNetwork<O: SoundOperations> {
    operations: O,
    subsampling: Subsampling<O>,
    layers: Vec<ConformerLayer<O>>,
    adapter: Adapter<O>,
    fingerprint: Vec<u8>,
    architecture: HearingArchitecture,
    buffers: Mutex<EncoderBuffers<O>>,
}

pub(super) struct NetworkRecording<O: SoundOperations> {
    encoder: Arc<EncoderNetwork<O>>,
    /// `(frames, bins)`
    features: Vec<f32>,
    pub(super) stream: SoundStream<O>,
    /// Bands of each phase that have been computed so far: of the beginning, of all layers, and of the end.
    n_done: usize,
    pub(super) values: Vec<f32>,
}

impl<O: SoundOperations> EncoderNetwork<O> {
    pub(super) fn load(operations: O, files: &Weights, architecture: &HearingArchitecture) -> Result<Self> {
        let tensors = architecture.tensors(files)?;
        let reader = EncoderReader { operations: &operations, tensors: &tensors, norm_eps: architecture.norm_eps };
        let subsampling = Subsampling::load(&reader, architecture.n_bins)?;
        let shape = (subsampling.hidden, architecture.n_heads);
        let layers = (0..architecture.n_layers).map(|layer| ConformerLayer::load(&reader, layer, shape));
        let layers = layers.collect::<Result<_>>()?;
        let adapter = Adapter::load(&reader, subsampling.hidden)?;
        let names = ["a.conv1d.0", adapter::FIRST, adapter::SECOND].map(|name| format!("{name}.weight"));
        let mut fingerprint = reader.fingerprint(&names)?;
        fingerprint.extend(format!("{architecture:?}").into_bytes());
        let architecture = architecture.clone();
        Ok(Self { subsampling, layers, adapter, fingerprint, architecture, operations, buffers: Mutex::default() })
    }
}

impl<O: SoundOperations> EncoderNetwork<O> {
    #[cfg(test)]
    pub(super) fn operations(&self) -> &O {
        &self.operations
    }
}

impl<O: SoundOperations> LoadedEncoder for EncoderNetwork<O> {
    fn architecture(&self) -> &HearingArchitecture {
        &self.architecture
    }

    fn row_size(&self) -> usize {
        self.adapter.row_size
    }

    fn fingerprint(&self) -> Vec<u8> {
        self.fingerprint.clone()
    }

    fn begin(self: Arc<Self>, features: Vec<f32>) -> Box<dyn RecordingPass> {
        Box::new(NetworkRecording::new(self, features, BAND))
    }
}

impl<O: SoundOperations> RecordingPass for NetworkRecording<O> {
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>> {
        let encoder = Arc::clone(&self.encoder);
        let mut buffers = encoder.buffers.lock();
        let (n_bands, n_phases) = (self.stream.bands.len(), Phase::ALL.len() * encoder.layers.len() + 2);
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

impl<O: SoundOperations> NetworkRecording<O> {
    /// A recording that is computed in bands of `most` rows at most.
    pub(super) fn new(encoder: Arc<EncoderNetwork<O>>, features: Vec<f32>, most: usize) -> Self {
        let n_rows = (features.len() / encoder.architecture.n_bins).div_ceil(FRAMES);
        let band = (SCORES / n_rows.max(1)).clamp(1, most);
        Self { encoder, features, stream: SoundStream::new(n_rows, band), n_done: 0, values: Vec::new() }
    }

    /// Computes a band in a phase, counted from the beginning of the encoder.
    pub(super) fn compute(
        &mut self,
        encoder: &EncoderNetwork<O>,
        (phase, at): (usize, usize),
        buffers: &mut EncoderBuffers<O>,
    ) -> Result<()> {
        let EncoderNetwork { operations, subsampling, layers, adapter, .. } = encoder;
        if phase == 0 {
            if at == 0 {
                let (n_rows, hidden) = (self.stream.n_rows, subsampling.hidden);
                let write = |row: usize, to: &mut [f32]| write_waves(n_rows as f64 - 1.0 - row as f64, to);
                operations.upload((2 * n_rows - 1, hidden), write, &mut self.stream.waves)?;
            }
            let band = &mut self.stream.bands[at];
            return subsampling.apply(operations, &self.features, band.rows.clone(), buffers, &mut band.stream);
        }
        let in_layers = phase - 1;
        match layers.get(in_layers / Phase::ALL.len()) {
            Some(layer) => {
                let phase = Phase::ALL[in_layers % Phase::ALL.len()];
                layer.advance(operations, phase, &mut self.stream, at, buffers)
            }
            None => {
                let band = &self.stream.bands[at];
                adapter.apply(operations, (&band.stream, band.rows.len()), buffers, &mut self.values)
            }
        }
    }
}

/// Writes the sines and cosines of a distance, in turn. Their frequencies fall from 1 to a ten-thousandth.
fn write_waves(distance: f64, to: &mut [f32]) {
    let width = to.len() as f64;
    for (at, to) in to.iter_mut().enumerate() {
        let pair = (at / 2 * 2) as f64;
        let angle = distance * (-4.0 * LN_10 / width * pair).exp();
        *to = (if at % 2 == 0 { angle.sin() } else { angle.cos() }) as f32; // between -1 and 1
    }
}
