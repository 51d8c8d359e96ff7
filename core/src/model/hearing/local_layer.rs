//! A layer of Gemma 4's encoder. Attention and convolution reach backwards only, and the outputs of all blocks have norms.

use std::f64::consts::{E, LN_2};

use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::hearing::layer::depthwise_places;
use crate::model::hearing::operations::{DepthwiseConvolution, RelativeQueries, SoundOperations};
use crate::model::hearing::parts::Phase;
use crate::model::hearing::reader::EncoderReader;
use crate::model::hearing::stream::{EncoderBuffers, SoundStream};
use crate::model::linear::Linear;
use crate::model::operations::Residual;
use crate::model::tower::{ClippedLinear, TowerActivation, TowerNorm};

/// Rows that a query attends to, including its own.
pub(super) const N_DISTANCES: usize = 12;
/// Bound of the scores.
const SCORE_BOUND: f32 = 50.0;
/// Added to the residual stream as a half: the outputs of both feed-forward blocks.
const HALF: f32 = 0.5;
/// The largest period of the sines of distances.
const PERIOD: f64 = 10_000.0;

pub(super) struct LocalLayer<O: SoundOperations> {
    feed_forwards: [NormedFeedForward<O>; 2],
    attention_norm: TowerNorm<O>,
    /// Queries, keys and values.
    projections: [ClippedLinear<O>; 3],
    /// Factors of queries.
    query_factors: O::Vector,
    /// The map of distances.
    distance: Linear<O>,
    zeros: O::Vector,
    attention_out: ClippedLinear<O>,
    attention_out_norm: TowerNorm<O>,
    convolution_norm: TowerNorm<O>,
    /// `(2 * hidden, hidden)`
    pairs: ClippedLinear<O>,
    /// `(places, hidden)`
    taps: O::Vector,
    n_places: usize,
    convolved_norm: TowerNorm<O>,
    convolution_out: ClippedLinear<O>,
    out_norm: TowerNorm<O>,
    n_heads: usize,
}

struct NormedFeedForward<O: SoundOperations> {
    norm: TowerNorm<O>,
    up: ClippedLinear<O>,
    down: ClippedLinear<O>,
    out_norm: TowerNorm<O>,
}

/// The factor of keys, `ln(1 + e) / ln 2`. Distances have none.
fn key_factor() -> f64 {
    (1.0 + E).ln() / LN_2
}

/// Writes the sines, then the cosines of the distance of a row before a query, where row 0 is the farthest one. They are divided by
/// the factor of keys, which multiplies all scores.
pub(super) fn write_distance(row: usize, to: &mut [f32]) {
    let (distance, n) = ((N_DISTANCES - 1 - row) as f64, to.len() / 2);
    let step = PERIOD.ln() / n.saturating_sub(1).max(1) as f64;
    for (at, to) in to.iter_mut().enumerate() {
        let angle = distance * (-step * (at % n.max(1)) as f64).exp();
        *to = ((if at < n { angle.sin() } else { angle.cos() }) / key_factor()) as f32; // between -1 and 1
    }
}

/// How the outputs of a block are added to the residual stream.
fn normed<O: SoundOperations>(norm: &TowerNorm<O>, factor: f32) -> Residual<'_, O> {
    Residual { norm: Some((&norm.weight, norm.epsilon)), factor }
}

/// Normalises the residual stream.
fn normalise<O: SoundOperations>(
    operations: &O,
    norm: &TowerNorm<O>,
    stream: &O::Rows,
    inputs: &mut O::Inputs,
    rows: &mut O::Rows,
) -> Result<()> {
    norm.apply(operations, stream, &[], inputs)?;
    operations.input_rows(inputs, rows)
}

impl<O: SoundOperations> NormedFeedForward<O> {
    fn load(reader: &EncoderReader<'_, O>, prefix: &str, end: &str, hidden: usize) -> Result<Self> {
        let name = |part: &str| format!("{prefix}.{part}{end}");
        let width = reader.rows(&name("ffn_up"))?;
        Ok(Self {
            norm: reader.rms_norm(&name("ffn_norm"), hidden)?,
            up: reader.clipped(&name("ffn_up"), (width, hidden))?,
            down: reader.clipped(&name("ffn_down"), (hidden, width))?,
            out_norm: reader.rms_norm(&name("ffn_post_norm"), hidden)?,
        })
    }

    fn apply(&self, operations: &O, stream: &mut O::Rows, buffers: &mut EncoderBuffers<O>) -> Result<()> {
        let EncoderBuffers { inputs, projected: [rows, spare, up], .. } = buffers;
        normalise(operations, &self.norm, stream, inputs, rows)?;
        self.up.apply(operations, rows, (&mut *inputs, &mut *spare), up)?;
        operations.activate_rows(TowerActivation::Silu, up, rows)?;
        self.down.apply(operations, rows, (inputs, spare), up)?;
        operations.add_outputs(up, normed(&self.out_norm, HALF), stream)
    }
}

impl<O: SoundOperations> LocalLayer<O> {
    pub(super) fn load(reader: &EncoderReader<'_, O>, layer: usize, (hidden, n_heads): (usize, usize)) -> Result<Self> {
        if n_heads == 0 || !hidden.is_multiple_of(n_heads) || !hidden.is_multiple_of(2) {
            return Err(invalid(format!("the heads of the sound encoder must divide {hidden}, found {n_heads}")));
        }
        let prefix = format!("a.blk.{layer}");
        let name = |part: &str| format!("{prefix}.{part}");
        let square = |part: &str| reader.clipped(&name(part), (hidden, hidden));
        let norm = |part: &str| reader.rms_norm(&name(part), hidden);
        let head_dim = hidden / n_heads;
        let scale = ((head_dim as f64).sqrt() * LN_2).recip() as f32; // between 0 and 2
        let factors = reader.flat(&name("per_dim_scale.weight"), head_dim)?;
        let factors = factors.iter().cycle().take(hidden).map(|factor| factor * scale).collect();
        let n_places = depthwise_places(reader, &name("conv_dw"), hidden)?;
        Ok(Self {
            feed_forwards: [
                NormedFeedForward::load(reader, &prefix, "", hidden)?,
                NormedFeedForward::load(reader, &prefix, "_1", hidden)?,
            ],
            attention_norm: norm("attn_pre_norm")?,
            projections: [square("attn_q")?, square("attn_k")?, square("attn_v")?],
            query_factors: reader.operations.vector(factors)?,
            distance: reader.linear(&name("attn_k_rel"), (hidden, hidden))?,
            zeros: reader.operations.vector(vec![0.0; hidden])?,
            attention_out: square("attn_out")?,
            attention_out_norm: norm("attn_post_norm")?,
            // Files have these two norms under each other's names.
            convolution_norm: norm("conv_norm")?,
            convolved_norm: norm("norm_conv")?,
            pairs: reader.clipped(&name("conv_pw1"), (2 * hidden, hidden))?,
            taps: reader.operations.vector(reader.taps(&name("conv_dw"), hidden, n_places)?)?,
            n_places,
            convolution_out: square("conv_pw2")?,
            out_norm: norm("ln2")?,
            n_heads,
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
        let EncoderBuffers { inputs, projected: [rows, spare, projected], .. } = buffers;
        let [q_proj, k_proj, v_proj] = &self.projections;
        normalise(operations, &self.attention_norm, &band.stream, inputs, rows)?;
        q_proj.apply(operations, rows, (&mut *inputs, &mut *spare), &mut band.queries)?;
        operations.scale_columns(&mut band.queries, &self.query_factors, None)?;
        k_proj.apply(operations, rows, (&mut *inputs, &mut *spare), projected)?;
        operations.extend(projected, band.rows.start, keys)?;
        v_proj.apply(operations, rows, (inputs, spare), projected)?;
        operations.extend(projected, band.rows.start, values)
    }

    fn attend(
        &self,
        operations: &O,
        SoundStream { bands, keys, values, distances, gated, .. }: &mut SoundStream<O>,
        band: usize,
        EncoderBuffers { inputs, projected: [rows, spare, outputs], mixed }: &mut EncoderBuffers<O>,
    ) -> Result<()> {
        let band = &mut bands[band];
        let queries = RelativeQueries {
            queries: &band.queries,
            first: band.rows.start,
            keys,
            values,
            distances,
            n_before: N_DISTANCES - 1,
            n_after: 0,
            biases: [&self.zeros; 2],
            scale: key_factor() as f32, // nearly 2
            bound: Some(SCORE_BOUND),
        };
        operations.relative_attention(queries, self.n_heads, mixed)?;
        self.attention_out.apply(operations, mixed, (&mut *inputs, &mut *spare), outputs)?;
        operations.add_outputs(outputs, normed(&self.attention_out_norm, 1.0), &mut band.stream)?;
        normalise(operations, &self.convolution_norm, &band.stream, inputs, rows)?;
        self.pairs.apply(operations, rows, (inputs, spare), outputs)?;
        operations.gate_halves(outputs, rows)?;
        operations.extend(rows, band.rows.start, gated)
    }

    fn convolve(
        &self,
        operations: &O,
        SoundStream { bands, gated, .. }: &mut SoundStream<O>,
        band: usize,
        buffers: &mut EncoderBuffers<O>,
    ) -> Result<()> {
        let band = &mut bands[band];
        let EncoderBuffers { inputs, projected: [rows, spare, convolved], .. } = buffers;
        let convolution = DepthwiseConvolution {
            grid: gated,
            first_row: 0,
            n_columns: 1,
            taps: &self.taps,
            bias: None,
            kernel: (self.n_places, 1),
            before: (self.n_places - 1, 0),
            stride: 1,
        };
        operations.convolve_channels(convolution, band.rows.clone(), convolved)?;
        normalise(operations, &self.convolved_norm, convolved, inputs, rows)?;
        operations.activate_rows(TowerActivation::Silu, rows, convolved)?;
        self.convolution_out.apply(operations, convolved, (inputs, spare), rows)?;
        operations.add_outputs(rows, Residual { norm: None, factor: 1.0 }, &mut band.stream)?;
        self.feed_forwards[1].apply(operations, &mut band.stream, buffers)?;
        self.out_norm.apply(operations, &band.stream, &[], &mut buffers.inputs)?;
        operations.input_rows(&buffers.inputs, &mut band.stream)
    }
}
