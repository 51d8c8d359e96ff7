//! The operations with candle's tensors.

use std::ops::Range;

use candle_core::quantized::QMatMul;
use candle_core::{D, Module, Result as TensorResult, Tensor};
use candle_nn::ops::{rms_norm, sigmoid, silu};

use crate::checkpoint::Activation;
use crate::checkpoint::{Rope, RopePairing, RotaryPlaces};
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::candle::attention::attend;
use crate::model::candle::backend::Candle;
use crate::model::candle::memories::{TensorDeltaMemory, TensorKeyValues, TensorWindow};
use crate::model::candle::rotation::{TensorAngles, rotated};
use crate::model::candle::rows::{TensorRows, computation_failed};
use crate::model::delta_net::DeltaHeads;
use crate::model::dense::Dense;
use crate::model::experts::Experts;
use crate::model::heads::Heads;
use crate::model::linear::Linear;
use crate::model::network::Inputs;
use crate::model::operations::{AttentionPart, DeltaRows, NormFactors, Operations, Residual, SequencePart, Sight};
use crate::weights::RowTable;

/// Added to the squared length of the queries and keys of delta nets.
const DELTA_EPSILON: f64 = 1e-6;

impl Operations for Candle {
    type Rows = TensorRows;
    type Inputs = TensorRows;
    type Angles = TensorAngles;
    type Scratch = ();
    type KeyValues = TensorKeyValues;
    type Window = TensorWindow;
    type DeltaMemory = TensorDeltaMemory;
    type PendingChoice = ();

    const SHARES_PASSES: bool = false;

    fn key_values(&self, heads: Heads) -> Result<TensorKeyValues> {
        Ok(TensorKeyValues::new(heads, &self.device))
    }

    fn window(&self, n_taps: usize, n_channels: usize) -> Result<TensorWindow> {
        TensorWindow::new(n_taps, n_channels, &self.device)
    }

    fn delta_memory(&self, heads: DeltaHeads) -> Result<TensorDeltaMemory> {
        TensorDeltaMemory::new(heads, &self.device)
    }

    fn embed(&self, table: &QMatMul, steps: &[Inputs<'_>], factor: f32, out: &mut TensorRows) -> Result<()> {
        let rows = |inputs: &Inputs<'_>| match inputs {
            Inputs::Tokens(tokens) => {
                let rows = table.embedding(&Tensor::new(*tokens, &self.device)?)?;
                if factor == 1.0 { Ok(rows) } else { rows * f64::from(factor) }
            }
            Inputs::Rows { rows, n_rows } => {
                Tensor::from_slice(rows, (*n_rows, rows.len() / n_rows.max(&1)), &self.device)
            }
        };
        out.set(|| Tensor::cat(&steps.iter().map(rows).collect::<TensorResult<Vec<_>>>()?, 0))
    }

    fn inputs(&self, rows: &TensorRows, _: &[&Linear<Self>], inputs: &mut TensorRows) -> Result<()> {
        inputs.set(|| rows.get().cloned())
    }

    fn input_rows(&self, inputs: &TensorRows, rows: &mut TensorRows) -> Result<()> {
        rows.set(|| inputs.get().cloned())
    }

    fn norm(
        &self,
        rows: &TensorRows,
        (weight, epsilon): NormFactors<'_, Self>,
        _: &[&Linear<Self>],
        inputs: &mut TensorRows,
    ) -> Result<()> {
        inputs.set(|| rms_norm(&rows.get()?.contiguous()?, weight, epsilon))
    }

    fn product<const N: usize>(
        &self,
        inputs: &TensorRows,
        products: [(&Linear<Self>, &mut TensorRows); N],
    ) -> Result<()> {
        products.into_iter().try_for_each(|(map, out)| out.set(|| map.apply(inputs.get()?)))
    }

    fn add_product(
        &self,
        inputs: &TensorRows,
        map: &Linear<Self>,
        residual: Residual<'_, Self>,
        _: &mut TensorRows,
        stream: &mut TensorRows,
    ) -> Result<()> {
        stream.map(|stream| added(stream, map.apply(inputs.get()?)?, residual))
    }

    fn angles(&self, rope: &Rope, places: &[RotaryPlaces], angles: &mut TensorAngles) -> Result<()> {
        *angles = TensorAngles::new(rope, places, &self.device).map_err(computation_failed)?;
        Ok(())
    }

    fn rotate(
        &self,
        rows: &mut TensorRows,
        head_dim: usize,
        norm: Option<NormFactors<'_, Self>>,
        rotation: Option<(&Rope, &TensorAngles)>,
    ) -> Result<()> {
        let rotation = rotation.map(|(rope, angles)| ((rope.n_pairs(), rope.pairing), angles));
        rows.map(|rows| normalised_and_rotated(rows, head_dim, norm, rotation))
    }

    fn grow_queries(&self, queries: &mut TensorRows, angles: &TensorAngles) -> Result<()> {
        queries.map(|queries| queries.broadcast_mul(angles.query_factors()?))
    }

    fn split_heads(
        &self,
        pairs: &TensorRows,
        head_dim: usize,
        queries: &mut TensorRows,
        gates: &mut TensorRows,
    ) -> Result<()> {
        let part = |at: usize| {
            let (n_rows, width) = pairs.get()?.dims2()?;
            let pairs = pairs.get()?.reshape((n_rows, width / (2 * head_dim), 2, head_dim))?;
            pairs.narrow(2, at, 1)?.contiguous()?.reshape((n_rows, width / 2))
        };
        queries.set(|| part(0))?;
        gates.set(|| part(1))
    }

    fn sigmoid(&self, rows: &mut TensorRows) -> Result<()> {
        rows.map(sigmoid)
    }

    fn append(
        &self,
        SequencePart { rows, memory }: SequencePart<&mut TensorKeyValues>,
        keys: &TensorRows,
        values: &TensorRows,
    ) -> Result<()> {
        let Heads { n_keys, head_dim, .. } = memory.heads();
        let heads = |all: &TensorRows| {
            let part = all.get()?.narrow(0, rows.start, rows.len())?;
            part.reshape((rows.len(), n_keys, head_dim))?.transpose(0, 1)?.contiguous() // (heads, time, head_dim)
        };
        heads(keys).and_then(|keys| memory.past.append(&keys, &heads(values)?)).map_err(computation_failed)
    }

    fn attention(
        &self,
        queries: &TensorRows,
        steps: &[AttentionPart<'_, TensorKeyValues>],
        heads: Heads,
        sight: Sight,
        mixed: &mut TensorRows,
    ) -> Result<()> {
        mixed.set(|| {
            let part = |step: &AttentionPart<'_, TensorKeyValues>| {
                let queries = queries.get()?.narrow(0, step.rows.start, step.rows.len())?;
                attend(&queries, (&step.past.past, step.is_two_way), heads, sight)
            };
            Tensor::cat(&steps.iter().map(part).collect::<TensorResult<Vec<_>>>()?, 0)
        })
    }

    fn gate_heads(
        &self,
        rows: &TensorRows,
        gates: &TensorRows,
        _: &Linear<Self>,
        inputs: &mut TensorRows,
    ) -> Result<()> {
        inputs.set(|| {
            let (rows, gates) = (rows.get()?, gates.get()?);
            let ((n_rows, width), (_, n_gates)) = (rows.dims2()?, gates.dims2()?);
            let groups = rows.reshape((n_rows, n_gates, width / n_gates))?;
            groups.broadcast_mul(&gates.unsqueeze(2)?)?.reshape((n_rows, width))
        })
    }

    fn gate(
        &self,
        activation: Activation,
        gate: &TensorRows,
        up: &TensorRows,
        _: &[&Linear<Self>],
        inputs: &mut TensorRows,
    ) -> Result<()> {
        inputs.set(|| activated(activation, gate.get()?)? * up.get()?)
    }

    fn convolve(
        &self,
        projected: &TensorRows,
        taps: &Tensor,
        bias: Option<&Tensor>,
        steps: &mut [SequencePart<&mut TensorWindow>],
        _: &Linear<Self>,
        inputs: &mut TensorRows,
    ) -> Result<()> {
        inputs.set(|| {
            let projected = projected.get()?;
            let hidden = projected.dim(1)? / 3;
            let mut part = |step: &mut SequencePart<&mut TensorWindow>| {
                let rows = projected.narrow(0, step.rows.start, step.rows.len())?;
                let column = |at: usize| rows.narrow(1, at * hidden, hidden);
                let mut mixed = convolved(&(column(0)? * column(2)?)?, taps, step.memory)?;
                if let Some(bias) = bias {
                    mixed = mixed.broadcast_add(bias)?;
                }
                column(1)? * mixed
            };
            Tensor::cat(&steps.iter_mut().map(&mut part).collect::<TensorResult<Vec<_>>>()?, 0)
        })
    }

    fn convolve_centred(
        &self,
        projected: &TensorRows,
        taps: &Tensor,
        bias: Option<&Tensor>,
        sequences: &[Range<usize>],
        _: &Linear<Self>,
        inputs: &mut TensorRows,
    ) -> Result<()> {
        inputs.set(|| {
            let projected = projected.get()?;
            let hidden = projected.dim(1)? / 3;
            let n_after = taps.elem_count() / hidden / 2;
            let part = |rows: &Range<usize>| {
                let rows = projected.narrow(0, rows.start, rows.len())?;
                let column = |at: usize| rows.narrow(1, at * hidden, hidden);
                // With zeros after the sequence, the last outputs of the causal convolution are the centred ones.
                let zeros = Tensor::zeros((n_after, hidden), rows.dtype(), rows.device())?;
                let inputs = Tensor::cat(&[&(column(0)? * column(2)?)?, &zeros], 0)?;
                let past = Tensor::zeros((2 * n_after, hidden), rows.dtype(), rows.device())?;
                let mut mixed = convolved(&inputs, taps, &mut TensorWindow(past))?.narrow(0, n_after, rows.dim(0)?)?;
                if let Some(bias) = bias {
                    mixed = mixed.broadcast_add(bias)?;
                }
                column(1)? * mixed
            };
            Tensor::cat(&sequences.iter().map(part).collect::<TensorResult<Vec<_>>>()?, 0)
        })
    }

    fn delta_inputs(
        &self,
        projected: &TensorRows,
        heads: DeltaHeads,
        taps: &Tensor,
        steps: &mut [SequencePart<&mut TensorWindow>],
        tokens: &mut TensorRows,
    ) -> Result<()> {
        tokens.set(|| {
            let projected = projected.get()?;
            let mut part = |step: &mut SequencePart<&mut TensorWindow>| {
                let rows = projected.narrow(0, step.rows.start, step.rows.len())?;
                silu(&convolved(&rows, taps, step.memory)?)
            };
            let rows = Tensor::cat(&steps.iter_mut().map(&mut part).collect::<TensorResult<Vec<_>>>()?, 0)?;
            let (n_rows, width) = rows.dims2()?;
            let n = heads.n_keys * heads.key_dim;
            let unit = |at: usize, divisor: f64| {
                let x = rows.narrow(1, at * n, n)?.contiguous()?.reshape((n_rows, heads.n_keys, heads.key_dim))?;
                let length = ((x.sqr()?.sum_keepdim(D::Minus1)? + DELTA_EPSILON)?.sqrt()? * divisor)?;
                x.broadcast_div(&length)?.reshape((n_rows, n))
            };
            let (q, k) = (unit(0, (heads.key_dim as f64).sqrt())?, unit(1, 1.0)?);
            Tensor::cat(&[q, k, rows.narrow(1, 2 * n, width - 2 * n)?.contiguous()?], 1)
        })
    }

    fn decays(&self, rows: &mut TensorRows, log_decays: &Tensor, bias: &Tensor) -> Result<()> {
        rows.map(|rows| {
            let x = rows.broadcast_add(bias)?;
            // ln(1 + e^x), without an overflow for large x
            let softplus = (x.relu()? + (x.abs()?.neg()?.exp()? + 1.0)?.log()?)?;
            softplus.broadcast_mul(log_decays)?.exp()
        })
    }

    fn delta_net(
        &self,
        DeltaRows { tokens, decays, rates }: DeltaRows<'_, Self>,
        steps: &mut [SequencePart<&mut TensorDeltaMemory>],
        out: &mut TensorRows,
    ) -> Result<()> {
        out.set(|| {
            let (tokens, decays, rates) = (tokens.get()?, decays.get()?, rates.get()?);
            let mut rows = Vec::new();
            for SequencePart { rows: range, memory } in steps {
                for row in range.clone() {
                    let row = |all: &Tensor| all.narrow(0, row, 1);
                    rows.push(memory.advance(&row(tokens)?, &row(decays)?, &row(rates)?)?);
                }
            }
            Tensor::cat(&rows, 0)
        })
    }

    fn gated_norm(
        &self,
        rows: &TensorRows,
        gate: &TensorRows,
        (weight, epsilon): NormFactors<'_, Self>,
        _: &Linear<Self>,
        inputs: &mut TensorRows,
    ) -> Result<()> {
        inputs.set(|| {
            let (n_rows, width) = rows.get()?.dims2()?;
            let head_dim = weight.dim(0)?;
            let heads = rows.get()?.reshape((n_rows, width / head_dim, head_dim))?.contiguous()?;
            rms_norm(&heads, weight, epsilon)?.reshape((n_rows, width))? * silu(gate.get()?)?
        })
    }

    fn experts(
        &self,
        experts: &Experts<Self>,
        inputs: &TensorRows,
        (): &mut (),
        stream: &mut TensorRows,
    ) -> Result<()> {
        stream.map(|stream| {
            let inputs = inputs.get()?;
            let shares: Vec<Vec<f32>> = sigmoid(&experts.router.apply(inputs)?)?.to_vec2()?; // (rows, experts)
            // The rows of each expert, with their weights. All rows of an expert go through it together.
            let mut rows = vec![(Vec::new(), Vec::new()); experts.experts.len()];
            let mut order = Vec::new();
            for (row, shares) in (0u32..).zip(&shares) {
                for (expert, weight) in experts.route(shares, &mut order) {
                    rows[expert].0.push(row);
                    rows[expert].1.push(weight);
                }
            }
            let mut stream = stream.clone();
            for (expert, (rows, weights)) in experts.experts.iter().zip(rows) {
                if rows.is_empty() {
                    continue;
                }
                let weights = Tensor::from_slice(&weights, (weights.len(), 1), &self.device)?;
                let rows = Tensor::new(rows, &self.device)?;
                let outputs = expert.apply(&inputs.index_select(&rows, 0)?)?.broadcast_mul(&weights)?;
                stream = stream.index_add(&rows, &outputs, 0)?;
            }
            Ok(stream)
        })
    }

    fn mix_table_rows(
        &self,
        table: &RowTable,
        tokens: impl Iterator<Item = u32>,
        factor: f32,
        (): &mut (),
        rows: &mut TensorRows,
    ) -> Result<()> {
        let (mut bytes, mut own) = (Vec::new(), Vec::new());
        for token in tokens {
            table.read_row(token as usize, &mut bytes, &mut own).map_err(|err| {
                SdkError::new(ErrorKind::Generation, "the model's file cannot be read any more").caused_by(err)
            })?;
        }
        rows.map(|rows| {
            let own = (Tensor::from_slice(&own, rows.dims2()?, &self.device)? * f64::from(factor))?;
            (rows + own)? * std::f64::consts::FRAC_1_SQRT_2
        })
    }

    fn columns(&self, from: &TensorRows, columns: Range<usize>, to: &mut TensorRows) -> Result<()> {
        to.set(|| from.get()?.narrow(1, columns.start, columns.len())?.contiguous())
    }

    fn select(&self, from: &TensorRows, ranges: &[Range<usize>], to: &mut TensorRows) -> Result<()> {
        to.set(|| {
            let parts = ranges.iter().filter(|range| !range.is_empty());
            let parts = parts.map(|range| from.get()?.narrow(0, range.start, range.len()));
            Tensor::cat(&parts.collect::<TensorResult<Vec<_>>>()?, 0)
        })
    }

    fn scale(&self, rows: &mut TensorRows, factor: f32) -> Result<()> {
        rows.map(|rows| rows * f64::from(factor))
    }

    fn bound(&self, rows: &mut TensorRows, bound: f32) -> Result<()> {
        rows.map(|rows| (rows / f64::from(bound))?.tanh()? * f64::from(bound))
    }

    fn read(&self, rows: &TensorRows, range: Range<usize>, to: &mut Vec<f32>) -> Result<()> {
        let part = || rows.get()?.narrow(0, range.start, range.len())?.flatten_all()?.to_vec1::<f32>();
        to.extend(part().map_err(computation_failed)?);
        Ok(())
    }
}

/// The heads of rows, normalised, and rotated by some pairs.
pub(super) fn normalised_and_rotated(
    rows: &Tensor,
    head_dim: usize,
    norm: Option<NormFactors<'_, Candle>>,
    rotation: Option<((usize, RopePairing), &TensorAngles)>,
) -> TensorResult<Tensor> {
    let (n_rows, width) = rows.dims2()?;
    let mut heads = rows.reshape((n_rows, width / head_dim, head_dim))?;
    if let Some((weight, epsilon)) = norm {
        heads = rms_norm(&heads.contiguous()?, weight, epsilon)?;
    }
    if let Some((pairs, angles)) = rotation {
        heads = rotated(&heads, pairs, angles)?;
    }
    heads.reshape((n_rows, width))
}

impl Linear<Candle> {
    /// `(rows, inputs)` to `(rows, outputs)`.
    fn apply(&self, x: &Tensor) -> TensorResult<Tensor> {
        let y = self.weight.forward(&x.contiguous()?)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

impl Dense<Candle> {
    fn apply(&self, x: &Tensor) -> TensorResult<Tensor> {
        self.down.apply(&(activated(self.activation, &self.gate.apply(x)?)? * self.up.apply(x)?)?)
    }
}

impl TensorDeltaMemory {
    /// Computes one token, given as rows of one.
    fn advance(&mut self, token: &Tensor, decay: &Tensor, rate: &Tensor) -> TensorResult<Tensor> {
        let DeltaHeads { n_keys, n_values, key_dim, value_dim } = self.heads;
        let device = token.device();
        let key_heads: Vec<u32> = (0..n_values).map(|head| (head % n_keys) as u32).collect();
        let key_heads = Tensor::new(key_heads, device)?;
        let part = |at: usize| {
            let heads = token.narrow(1, at * n_keys * key_dim, n_keys * key_dim)?.reshape((n_keys, key_dim))?;
            heads.index_select(&key_heads, 0)?.unsqueeze(1) // (value heads, 1, key size)
        };
        let (q, k) = (part(0)?, part(1)?);
        let v = token.narrow(1, 2 * n_keys * key_dim, n_values * value_dim)?.reshape((n_values, 1, value_dim))?;
        let matrices = self.matrices.broadcast_mul(&decay.reshape((n_values, 1, 1))?)?;
        let change = (v - k.matmul(&matrices)?)?.broadcast_mul(&rate.reshape((n_values, 1, 1))?)?;
        self.matrices = (matrices + k.transpose(1, 2)?.contiguous()?.matmul(&change)?)?;
        q.matmul(&self.matrices)?.reshape((1, n_values * value_dim))
    }
}

fn activated(activation: Activation, x: &Tensor) -> TensorResult<Tensor> {
    match activation {
        Activation::Silu => silu(x),
        Activation::GeluTanh => x.gelu(),
    }
}

/// A causal convolution of rows, `(time, channels)`, whose window advances. `taps` is `(window * channels)`.
fn convolved(rows: &Tensor, taps: &Tensor, window: &mut TensorWindow) -> TensorResult<Tensor> {
    let (time, n_channels) = rows.dims2()?;
    let n_past = window.0.dim(0)?;
    let all = Tensor::cat(&[&window.0, rows], 0)?; // (window - 1 + time, channels)
    let mut mixed = rows.zeros_like()?;
    for tap in 0..=n_past {
        let inputs = all.narrow(0, tap, time)?;
        mixed = (mixed + inputs.broadcast_mul(&taps.narrow(0, tap * n_channels, n_channels)?)?)?;
    }
    // A copy: a view would keep all rows in memory for as long as a snapshot lives.
    window.0 = all.narrow(0, time, n_past)?.force_contiguous()?;
    Ok(mixed)
}

/// The residual stream with outputs.
pub(super) fn added(
    stream: &Tensor,
    mut outputs: Tensor,
    Residual { norm, factor }: Residual<'_, Candle>,
) -> TensorResult<Tensor> {
    if let Some((weight, epsilon)) = norm {
        outputs = rms_norm(&outputs, weight, epsilon)?;
    }
    if factor != 1.0 {
        outputs = (outputs * f64::from(factor))?;
    }
    stream + outputs
}
