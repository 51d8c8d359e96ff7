//! The whole decoder: codes, upsampling, transformer, convolutions.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::checkpoint::{MimiCheckpoint, Rope, RopePairing, RotaryPlaces};
use crate::error::Result;
use crate::model::linear::Linear;
use crate::model::network::Inputs;
use crate::model::speech::codec::{LoadedCodec, SpokenStream};
use crate::model::speech::frames::places_in_table;
use crate::model::speech::mimi::convolution::{CausalConvolution, ConvolutionMemory};
use crate::model::speech::mimi::layer::{MimiBuffers, MimiLayer};
use crate::model::speech::mimi::reader::MimiReader;
use crate::model::speech::operations::CodecOperations;

/// Positions of a frame.
const UPSAMPLING: usize = 2;
/// Uses of a code at least, by which its sum of embeddings is divided: some codes have hardly been used in training.
const MIN_USAGE: f32 = 1e-5;

pub(in crate::model::speech) struct Mimi<O: CodecOperations> {
    operations: O,
    /// The vectors of all codes of all codebooks, `(codebooks * codes, code width)`.
    codes: O::Matrix,
    /// From the two sums of the frame before and the two of a frame to two positions: `(2 * width, 4 * code width)`.
    upsampling: Linear<O>,
    rope: Rope,
    layers: Vec<MimiLayer<O>>,
    first: CausalConvolution<O>,
    stages: Vec<MimiStage<O>>,
    last: CausalConvolution<O>,
    n_codes: usize,
    code_width: usize,
    buffers: Mutex<MimiBuffers<O>>,
}

/// More rows of fewer channels, and a residual block.
struct MimiStage<O: CodecOperations> {
    upsampling: CausalConvolution<O>,
    block: [CausalConvolution<O>; 2],
}

struct MimiStream<O: CodecOperations> {
    mimi: Arc<Mimi<O>>,
    n_positions: usize,
    /// The sums of the frame before.
    last_sums: Vec<f32>,
    key_values: Vec<O::KeyValues>,
    memories: Memories<O>,
}

struct Memories<O: CodecOperations> {
    first: ConvolutionMemory<O>,
    stages: Vec<[ConvolutionMemory<O>; 3]>,
    last: ConvolutionMemory<O>,
}

impl<O: CodecOperations> Mimi<O> {
    /// Loads what decodes the first `n_codebooks` codes of a frame.
    pub(in crate::model::speech) fn load(
        operations: O,
        checkpoint: &MimiCheckpoint,
        n_codebooks: usize,
    ) -> Result<Self> {
        let reader = MimiReader { operations: &operations, checkpoint };
        let MimiCheckpoint { n_codes, code_width, width, .. } = *checkpoint;
        let mut codes = Vec::new();
        for codebook in 0..n_codebooks {
            let sums = reader.values(&format!("codebooks.{codebook}.embedding_sum"), n_codes * code_width)?;
            let usage = reader.values(&format!("codebooks.{codebook}.cluster_usage"), n_codes)?;
            let rows = sums.chunks_exact(code_width).zip(usage);
            codes.extend(rows.flat_map(|(row, usage)| row.iter().map(move |sum| sum / usage.max(MIN_USAGE))));
        }
        let (first, mut n_channels) = CausalConvolution::load(&reader, "decoder.model.0.conv.conv", width)?;
        let mut stages = Vec::new();
        for at in (0..checkpoint.n_stages).map(|stage| 2 + 3 * stage) {
            let name = |part: &str| format!("decoder.model.{part}");
            let upsampling = name(&format!("{at}.convtr.convtr"));
            let (upsampling, n_outputs) = CausalConvolution::load_transposed(&reader, &upsampling, n_channels)?;
            let block = |part: usize, n_channels: usize| {
                CausalConvolution::load(&reader, &name(&format!("{}.block.{part}.conv.conv", at + 1)), n_channels)
            };
            let (inner, n_inner) = block(1, n_outputs)?;
            stages.push(MimiStage { upsampling, block: [inner, block(3, n_inner)?.0] });
            n_channels = n_outputs;
        }
        let last = format!("decoder.model.{}.conv.conv", 2 + 3 * checkpoint.n_stages);
        Ok(Self {
            codes: operations.matrix_of(&codes, (n_codebooks * n_codes, code_width))?,
            upsampling: upsampling(&reader)?,
            rope: Rope::new(&checkpoint.rope, None, RopePairing::Neighbours, width / checkpoint.n_heads)?,
            layers: (0..checkpoint.n_layers).map(|layer| MimiLayer::load(&reader, layer)).collect::<Result<_>>()?,
            first,
            stages,
            last: CausalConvolution::load(&reader, &last, n_channels)?.0,
            n_codes,
            code_width,
            buffers: Mutex::default(),
            operations,
        })
    }

    /// The vector of a frame's first code, then the sum of the vectors of the others.
    fn sums(&self, frame: &[u32], buffers: &mut MimiBuffers<O>) -> Result<Vec<f32>> {
        let (ids, mut rows) = (places_in_table(frame, self.n_codes), Vec::new());
        self.operations.embed(&self.codes, &[Inputs::Tokens(&ids)], 1.0, &mut buffers.stream)?;
        self.operations.read(&buffers.stream, 0..ids.len(), &mut rows)?;
        let mut sums = vec![0.0; 2 * self.code_width];
        for (at, row) in rows.chunks_exact(self.code_width).enumerate() {
            let sum = if at == 0 { &mut sums[..self.code_width] } else { &mut sums[self.code_width..] };
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        Ok(sums)
    }

    fn memories(&self) -> Result<Memories<O>> {
        let operations = &self.operations;
        let stages = self.stages.iter().map(|MimiStage { upsampling, block: [inner, outer] }| {
            Ok([upsampling.memory(operations)?, inner.memory(operations)?, outer.memory(operations)?])
        });
        Ok(Memories {
            first: self.first.memory(operations)?,
            stages: stages.collect::<Result<_>>()?,
            last: self.last.memory(operations)?,
        })
    }

    /// Turns the positions in the stream into samples.
    fn samples(&self, memories: &mut Memories<O>, buffers: &mut MimiBuffers<O>) -> Result<Vec<f32>> {
        let (operations, mut n_rows) = (&self.operations, UPSAMPLING);
        let MimiBuffers { stream, inputs, projected: [rows, activated, _], mixed, .. } = buffers;
        self.first.apply(operations, (stream, n_rows), &mut memories.first, inputs, rows)?;
        for (MimiStage { upsampling, block: [inner, outer] }, memories) in self.stages.iter().zip(&mut memories.stages)
        {
            operations.elu(rows, activated)?;
            upsampling.apply(operations, (activated, n_rows), &mut memories[0], inputs, rows)?;
            n_rows *= upsampling.n_out;
            operations.elu(rows, activated)?;
            inner.apply(operations, (activated, n_rows), &mut memories[1], inputs, mixed)?;
            operations.elu(mixed, activated)?;
            outer.apply(operations, (activated, n_rows), &mut memories[2], inputs, mixed)?;
            operations.add_rows(mixed, rows)?;
        }
        operations.elu(rows, activated)?;
        self.last.apply(operations, (activated, n_rows), &mut memories.last, inputs, rows)?;
        let mut samples = Vec::new();
        operations.read(rows, 0..n_rows, &mut samples)?;
        Ok(samples)
    }
}

/// The maps of the two sums of a frame, and the transposed convolution of each channel after them, which reaches the frame before, as
/// one map.
fn upsampling<O: CodecOperations>(reader: &MimiReader<'_, O>) -> Result<Linear<O>> {
    let MimiCheckpoint { code_width, width, .. } = *reader.checkpoint;
    let first = reader.values("quantizer.rvq_first.output_proj.weight", width * code_width)?;
    let rest = reader.values("quantizer.rvq_rest.output_proj.weight", width * code_width)?;
    let kernels = reader.values("upsample.convtr.convtr.convtr.weight", width * 2 * UPSAMPLING)?;
    let mut rows = Vec::with_capacity(UPSAMPLING * width * 4 * code_width);
    for (position, channel) in (0..UPSAMPLING).flat_map(|at| (0..width).map(move |channel| (at, channel))) {
        for place in [UPSAMPLING + position, position] {
            let factor = kernels[channel * 2 * UPSAMPLING + place];
            let of = |map: &[f32]| map[channel * code_width..][..code_width].to_vec();
            rows.extend([of(&first), of(&rest)].iter().flatten().map(|value| value * factor));
        }
    }
    reader.linear_of(&rows, (UPSAMPLING * width, 4 * code_width), None)
}

impl<O: CodecOperations> LoadedCodec for Mimi<O> {
    fn begin(self: Arc<Self>) -> Result<Box<dyn SpokenStream>> {
        let key_values = self.layers.iter().map(|layer| self.operations.key_values(layer.heads));
        Ok(Box::new(MimiStream {
            n_positions: 0,
            last_sums: vec![0.0; 2 * self.code_width],
            key_values: key_values.collect::<Result<_>>()?,
            memories: self.memories()?,
            mimi: self,
        }))
    }
}

impl<O: CodecOperations> SpokenStream for MimiStream<O> {
    fn push(&mut self, frame: &[u32]) -> Result<Vec<f32>> {
        let Mimi { operations, upsampling, rope, layers, buffers, .. } = &*self.mimi;
        let buffers = &mut *buffers.lock();
        let sums = self.mimi.sums(frame, buffers)?;
        let both = [std::mem::replace(&mut self.last_sums, sums.clone()), sums].concat();
        let MimiBuffers { stream, inputs, mixed, angles, .. } = &mut *buffers;
        operations.upload((1, both.len()), |_, row| row.copy_from_slice(&both), mixed)?;
        operations.inputs(mixed, &[upsampling], inputs)?;
        operations.product(inputs, [(upsampling, &mut *stream)])?;
        operations.split_rows(stream, UPSAMPLING)?;
        let positions = self.n_positions..self.n_positions + UPSAMPLING;
        self.n_positions = positions.end;
        operations.angles(rope, &[RotaryPlaces::Line(positions)], angles)?;
        for (layer, past) in layers.iter().zip(&mut self.key_values) {
            layer.forward(operations, UPSAMPLING, rope, past, buffers)?;
        }
        self.mimi.samples(&mut self.memories, buffers)
    }

    fn finish(&mut self) -> Vec<f32> {
        Vec::new()
    }
}
