//! The layers of a FastConformer, in bands of rows and three phases: each needs all bands of the one before.

use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::hearing::operations::{DepthwiseConvolution, RelativeQueries, SoundOperations};
use crate::model::hearing::parts::Phase;
use crate::model::hearing::reader::EncoderReader;
use crate::model::hearing::stream::{EncoderBuffers, SoundStream};
use crate::model::linear::Linear;
use crate::model::operations::Residual;
use crate::model::tower::{TowerActivation, TowerNorm, TowerOperations};

/// Elements of a convolution's kernel at most.
const MAX_KERNEL: usize = 63;
/// Added to the residual stream as a half: the outputs of both feed-forward blocks.
const HALF: f32 = 0.5;

pub(super) struct ConformerLayer<B: Backend> {
    feed_forwards: [HalfFeedForward<B>; 2],
    attention_norm: TowerNorm<B>,
    /// Queries, keys and values.
    projections: [Linear<B>; 3],
    /// The map of distances.
    distance: Linear<B>,
    /// What is added to queries for keys, and for distances.
    biases: [B::Vector; 2],
    attention_out: Linear<B>,
    convolution_norm: TowerNorm<B>,
    /// `(2 * hidden, hidden)`
    pairs: Linear<B>,
    /// `(places, hidden)`, with the norm after the convolution folded in.
    taps: B::Vector,
    bias: B::Vector,
    n_places: usize,
    convolution_out: Linear<B>,
    out_norm: TowerNorm<B>,
    n_heads: usize,
    /// Factor of the scores.
    scale: f32,
}

struct HalfFeedForward<B: Backend> {
    norm: TowerNorm<B>,
    up: Linear<B>,
    down: Linear<B>,
}

/// How outputs are added to the residual stream.
fn times<'a, O: TowerOperations>(factor: f32) -> Residual<'a, O> {
    Residual { norm: None, factor }
}

impl<O: SoundOperations> HalfFeedForward<O> {
    fn load(reader: &EncoderReader<'_, O>, prefix: &str, end: &str, hidden: usize) -> Result<Self> {
        let name = |part: &str| format!("{prefix}.{part}{end}");
        // Files state a wrong width; the tensor has the right one.
        let width = reader.rows(&name("ffn_up"))?;
        Ok(Self {
            norm: reader.norm(&name("ffn_norm"), hidden)?,
            up: reader.linear(&name("ffn_up"), (width, hidden))?,
            down: reader.linear(&name("ffn_down"), (hidden, width))?,
        })
    }

    fn apply(&self, operations: &O, stream: &mut O::Rows, buffers: &mut EncoderBuffers<O>) -> Result<()> {
        let EncoderBuffers { inputs, projected: [up, spare, _], .. } = buffers;
        self.norm.apply(operations, stream, &[&self.up], inputs)?;
        operations.product(inputs, [(&self.up, &mut *up)])?;
        operations.activate(TowerActivation::Silu, up, &self.down, inputs)?;
        operations.add_product(inputs, &self.down, times(HALF), spare, stream)
    }
}

impl<O: SoundOperations> ConformerLayer<O> {
    pub(super) fn load(reader: &EncoderReader<'_, O>, layer: usize, (hidden, n_heads): (usize, usize)) -> Result<Self> {
        if n_heads == 0 || !hidden.is_multiple_of(n_heads) {
            return Err(invalid(format!("the heads of the sound encoder must divide {hidden}, found {n_heads}")));
        }
        let prefix = format!("a.blk.{layer}");
        let name = |part: &str| format!("{prefix}.{part}");
        let square = |part: &str| reader.linear(&name(part), (hidden, hidden));
        let (taps, bias, n_places) = convolution(reader, &prefix, hidden)?;
        Ok(Self {
            feed_forwards: [
                HalfFeedForward::load(reader, &prefix, "", hidden)?,
                HalfFeedForward::load(reader, &prefix, "_1", hidden)?,
            ],
            attention_norm: reader.norm(&name("ln1"), hidden)?,
            projections: [square("attn_q")?, square("attn_k")?, square("attn_v")?],
            distance: square("linear_pos")?,
            biases: [reader.vector(&name("pos_bias_u"), hidden)?, reader.vector(&name("pos_bias_v"), hidden)?],
            attention_out: square("attn_out")?,
            convolution_norm: reader.norm(&name("norm_conv"), hidden)?,
            pairs: reader.linear(&name("conv_pw1"), (2 * hidden, hidden))?,
            taps,
            bias,
            n_places,
            convolution_out: square("conv_pw2")?,
            out_norm: reader.norm(&name("ln2"), hidden)?,
            n_heads,
            scale: ((hidden / n_heads) as f32).sqrt().recip(),
        })
    }

    /// Computes a phase of a band.
    pub(super) fn advance(
        &self,
        operations: &O,
        phase: Phase,
        stream: &mut SoundStream<O>,
        band: usize,
        buffers: &mut EncoderBuffers<O>,
    ) -> Result<()> {
        match phase {
            Phase::Project => self.project(operations, stream, band, buffers),
            Phase::Attend => self.attend(operations, stream, band, buffers),
            Phase::Convolve => self.convolve(operations, stream, band, buffers),
        }
    }

    fn project(
        &self,
        operations: &O,
        SoundStream { bands, keys, values, waves, distances, .. }: &mut SoundStream<O>,
        band: usize,
        buffers: &mut EncoderBuffers<O>,
    ) -> Result<()> {
        if band == 0 {
            operations.inputs(waves, &[&self.distance], &mut buffers.inputs)?;
            operations.product(&buffers.inputs, [(&self.distance, distances)])?;
        }
        let band = &mut bands[band];
        self.feed_forwards[0].apply(operations, &mut band.stream, buffers)?;
        let EncoderBuffers { inputs, projected: [k, v, _], .. } = buffers;
        let [q_proj, k_proj, v_proj] = &self.projections;
        self.attention_norm.apply(operations, &band.stream, &[q_proj, k_proj, v_proj], inputs)?;
        operations.product(inputs, [(q_proj, &mut band.queries), (k_proj, &mut *k), (v_proj, &mut *v)])?;
        operations.extend(k, band.rows.start, keys)?;
        operations.extend(v, band.rows.start, values)
    }

    fn attend(
        &self,
        operations: &O,
        SoundStream { n_rows, bands, keys, values, distances, gated, .. }: &mut SoundStream<O>,
        band: usize,
        EncoderBuffers { inputs, projected: [spare, pairs, _], mixed }: &mut EncoderBuffers<O>,
    ) -> Result<()> {
        let band = &mut bands[band];
        let queries = RelativeQueries {
            queries: &band.queries,
            first: band.rows.start,
            keys,
            values,
            distances,
            n_before: *n_rows - 1,
            n_after: *n_rows - 1,
            biases: self.biases.each_ref(),
            scale: self.scale,
            bound: None,
        };
        operations.relative_attention(queries, self.n_heads, mixed)?;
        operations.inputs(mixed, &[&self.attention_out], inputs)?;
        operations.add_product(inputs, &self.attention_out, times(1.0), spare, &mut band.stream)?;
        self.convolution_norm.apply(operations, &band.stream, &[&self.pairs], inputs)?;
        operations.product(inputs, [(&self.pairs, &mut *pairs)])?;
        operations.gate_halves(pairs, spare)?;
        operations.extend(spare, band.rows.start, gated)
    }

    fn convolve(
        &self,
        operations: &O,
        SoundStream { bands, gated, .. }: &mut SoundStream<O>,
        band: usize,
        buffers: &mut EncoderBuffers<O>,
    ) -> Result<()> {
        let band = &mut bands[band];
        let EncoderBuffers { inputs, projected: [convolved, spare, _], .. } = buffers;
        let convolution = DepthwiseConvolution {
            grid: gated,
            first_row: 0,
            n_columns: 1,
            taps: &self.taps,
            bias: Some(&self.bias),
            kernel: (self.n_places, 1),
            before: (self.n_places / 2, 0),
            stride: 1,
        };
        operations.convolve_channels(convolution, band.rows.clone(), convolved)?;
        operations.activate(TowerActivation::Silu, convolved, &self.convolution_out, inputs)?;
        operations.add_product(inputs, &self.convolution_out, times(1.0), spare, &mut band.stream)?;
        self.feed_forwards[1].apply(operations, &mut band.stream, buffers)?;
        self.out_norm.apply(operations, &band.stream, &[], &mut buffers.inputs)?;
        operations.input_rows(&buffers.inputs, &mut band.stream)
    }
}

/// The taps and the bias of a layer's convolution, and the elements of a kernel. The norm after it multiplies and adds only, so it
/// is folded in.
fn convolution<O: SoundOperations>(
    reader: &EncoderReader<'_, O>,
    prefix: &str,
    hidden: usize,
) -> Result<(O::Vector, O::Vector, usize)> {
    let name = format!("{prefix}.conv_dw");
    let n_places = depthwise_places(reader, &name, hidden)?;
    let factors = reader.flat(&format!("{prefix}.conv_norm.weight"), hidden)?;
    let shifts = reader.flat(&format!("{prefix}.conv_norm.bias"), hidden)?;
    let taps = reader.taps(&name, hidden, n_places)?;
    let taps = taps.iter().zip(factors.iter().cycle()).map(|(tap, factor)| tap * factor);
    let bias = reader.flat(&format!("{name}.bias"), hidden)?;
    let bias = bias.iter().zip(&factors).zip(&shifts).map(|((bias, factor), shift)| bias * factor + shift);
    let operations = reader.operations;
    Ok((operations.vector(taps.collect())?, operations.vector(bias.collect())?, n_places))
}

/// The elements of the kernels of a convolution over time, of which each channel has one.
pub(super) fn depthwise_places<O: SoundOperations>(
    reader: &EncoderReader<'_, O>,
    name: &str,
    hidden: usize,
) -> Result<usize> {
    match *reader.shape(name)? {
        [channels, n_places] if channels == hidden && n_places % 2 == 1 && n_places <= MAX_KERNEL => Ok(n_places),
        ref shape => Err(invalid(format!(
            "tensor {name}.weight must have {hidden} kernels of an odd number of elements up to {MAX_KERNEL}, found shape \
             {shape:?}"
        ))),
    }
}
