//! The encoder of LFM2-Audio: a FastConformer, whose queries attend to the whole recording, and an adapter.

use std::f64::consts::LN_10;

use crate::checkpoint::HearingArchitecture;
use crate::error::Result;
use crate::model::hearing::adapter::{self, Adapter};
use crate::model::hearing::layer::ConformerLayer;
use crate::model::hearing::operations::SoundOperations;
use crate::model::hearing::parts::{EncoderParts, Phase};
use crate::model::hearing::reader::EncoderReader;
use crate::model::hearing::stream::{EncoderBuffers, SoundStream};
use crate::model::hearing::subsampling::Subsampling;

pub(super) struct FastConformer<O: SoundOperations> {
    subsampling: Subsampling<O>,
    layers: Vec<ConformerLayer<O>>,
    adapter: Adapter<O>,
}

impl<O: SoundOperations> EncoderParts<O> for FastConformer<O> {
    fn load(reader: &EncoderReader<'_, O>, architecture: &HearingArchitecture) -> Result<Self> {
        let subsampling = Subsampling::load(reader, architecture.n_bins)?;
        let shape = (subsampling.hidden, architecture.n_heads);
        let layers = (0..architecture.n_layers).map(|layer| ConformerLayer::load(reader, layer, shape));
        let layers = layers.collect::<Result<_>>()?;
        let adapter = Adapter::load(reader, subsampling.hidden)?;
        Ok(Self { subsampling, layers, adapter })
    }

    fn distinct_tensors() -> &'static [&'static str] {
        &["a.conv1d.0", adapter::FIRST, adapter::SECOND]
    }

    fn n_layers(&self) -> usize {
        self.layers.len()
    }

    fn row_size(&self) -> usize {
        self.adapter.row_size
    }

    fn begin(
        &self,
        operations: &O,
        features: &[f32],
        stream: &mut SoundStream<O>,
        band: usize,
        buffers: &mut EncoderBuffers<O>,
    ) -> Result<()> {
        if band == 0 {
            let n_rows = stream.n_rows;
            let write = |row: usize, to: &mut [f32]| write_waves(n_rows as f64 - 1.0 - row as f64, to);
            operations.upload((2 * n_rows - 1, self.subsampling.hidden), write, &mut stream.waves)?;
        }
        let band = &mut stream.bands[band];
        self.subsampling.apply(operations, features, band.rows.clone(), buffers, &mut band.stream)
    }

    fn advance(
        &self,
        operations: &O,
        (layer, phase): (usize, Phase),
        stream: &mut SoundStream<O>,
        band: usize,
        buffers: &mut EncoderBuffers<O>,
    ) -> Result<()> {
        self.layers[layer].advance(operations, phase, stream, band, buffers)
    }

    fn end(
        &self,
        operations: &O,
        stream: &SoundStream<O>,
        band: usize,
        buffers: &mut EncoderBuffers<O>,
        values: &mut Vec<f32>,
    ) -> Result<()> {
        let band = &stream.bands[band];
        self.adapter.apply(operations, (&band.stream, band.rows.len()), buffers, values)
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
