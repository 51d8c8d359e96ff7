//! The encoder of Gemma 4: a conformer whose queries attend to the last 12 rows only, so that a row depends on no later sound.

use crate::checkpoint::HearingArchitecture;
use crate::error::Result;
use crate::model::hearing::local_layer::{LocalLayer, N_DISTANCES, write_distance};
use crate::model::hearing::local_subsampling::LocalSubsampling;
use crate::model::hearing::operations::SoundOperations;
use crate::model::hearing::parts::{EncoderParts, Phase};
use crate::model::hearing::reader::EncoderReader;
use crate::model::hearing::stream::{EncoderBuffers, SoundStream};
use crate::model::linear::Linear;
use crate::model::tower::TowerNorm;

const OUT: &str = "a.pre_encode.out";
const PROJECTION: &str = "mm.a.input_projection";

pub(super) struct LocalConformer<O: SoundOperations> {
    subsampling: LocalSubsampling<O>,
    layers: Vec<LocalLayer<O>>,
    out: Linear<O>,
    /// The norm of the outputs, whose factors are 1.
    out_norm: TowerNorm<O>,
    projection: Linear<O>,
    row_size: usize,
}

impl<O: SoundOperations> EncoderParts<O> for LocalConformer<O> {
    fn load(reader: &EncoderReader<'_, O>, architecture: &HearingArchitecture) -> Result<Self> {
        let subsampling = LocalSubsampling::load(reader, architecture.n_bins)?;
        let hidden = subsampling.hidden;
        let shape = (hidden, architecture.n_heads);
        let layers = (0..architecture.n_layers).map(|layer| LocalLayer::load(reader, layer, shape));
        let layers = layers.collect::<Result<_>>()?;
        let (width, row_size) = (reader.rows(OUT)?, reader.rows(PROJECTION)?);
        let ones = reader.operations.vector(vec![1.0; width])?;
        Ok(Self {
            subsampling,
            layers,
            out: reader.linear(OUT, (width, hidden))?,
            out_norm: TowerNorm { weight: ones, bias: None, epsilon: reader.norm_eps },
            projection: reader.linear(PROJECTION, (row_size, width))?,
            row_size,
        })
    }

    fn distinct_tensors() -> &'static [&'static str] {
        &["a.conv1d.0", OUT, PROJECTION]
    }

    fn n_layers(&self) -> usize {
        self.layers.len()
    }

    fn row_size(&self) -> usize {
        self.row_size
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
            operations.upload((N_DISTANCES, self.subsampling.hidden), write_distance, &mut stream.waves)?;
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
        EncoderBuffers { inputs, projected: [outputs, rows, _], .. }: &mut EncoderBuffers<O>,
        values: &mut Vec<f32>,
    ) -> Result<()> {
        let band = &stream.bands[band];
        operations.inputs(&band.stream, &[&self.out], inputs)?;
        operations.product(inputs, [(&self.out, &mut *outputs)])?;
        self.out_norm.apply(operations, outputs, &[&self.projection], inputs)?;
        operations.product(inputs, [(&self.projection, &mut *rows)])?;
        operations.read(rows, 0..band.rows.len(), values)
    }
}
