//! The operations on the CPU, by the kernels of `causerie-backend`.

use std::ops::Range;

use causerie_backend::{
    Activations, AttentionMask, AttentionStep, CacheShape, ConvolutionStep, DeltaMemory, DeltaStep, DeltaTokens,
    KeyValues, Pairing, Product, ResidualAddition, Rotation,
};

use crate::checkpoint::Activation;
use crate::checkpoint::{Rope, RopePairing, RotaryPlaces};
use crate::error::{ErrorKind, Result, SdkError};
use crate::memory;
use crate::model::delta_net::DeltaHeads;
use crate::model::experts::Experts;
use crate::model::heads::Heads;
use crate::model::linear::Linear;
use crate::model::native::backend::Native;
use crate::model::native::kernel_names::{delta_shape, gate_function, stored_cache_type};
use crate::model::native::memories::ConvolutionWindow;
use crate::model::native::rows::FloatRows;
use crate::model::native::scratch::Scratch;
use crate::model::network::{Inputs, PerSequence};
use crate::model::operations::{AttentionPart, DeltaRows, NormFactors, Operations, Residual, SequencePart, Sight};
use crate::weights::RowTable;

/// The angles of all rows, for one kind of rotary positions.
#[derive(Default)]
pub(crate) struct RotaryAngles {
    pub(super) cosines: Vec<f32>,
    pub(super) sines: Vec<f32>,
    /// Factors of the queries of each row; empty if queries do not grow.
    pub(super) query_factors: Vec<f32>,
}

impl Operations for Native {
    type Rows = FloatRows;
    type Inputs = Activations;
    type Angles = RotaryAngles;
    type Scratch = Scratch;
    type KeyValues = KeyValues;
    type Window = ConvolutionWindow;
    type DeltaMemory = DeltaMemory;
    type PendingChoice = ();

    const SHARES_PASSES: bool = true;

    fn key_values(&self, Heads { n_keys: n_heads, head_dim, .. }: Heads) -> Result<KeyValues> {
        Ok(KeyValues::new(CacheShape { n_heads, head_dim, cache_type: stored_cache_type(self.cache_type) }))
    }

    fn window(&self, n_taps: usize, n_channels: usize) -> Result<ConvolutionWindow> {
        Ok(ConvolutionWindow::new(n_taps, n_channels))
    }

    fn delta_memory(&self, heads: DeltaHeads) -> Result<DeltaMemory> {
        Ok(DeltaMemory::new(delta_shape(heads)))
    }

    fn embed(&self, table: &Self::Matrix, steps: &[Inputs<'_>], factor: f32, out: &mut FloatRows) -> Result<()> {
        let hidden = table.n_columns();
        out.reshape(steps.iter().map(Inputs::len).sum(), hidden);
        self.cpu.for_rows(&mut out.values, hidden, |row, x| match at(steps, row) {
            Some((Inputs::Tokens(tokens), at)) => {
                table.read_row(tokens[at] as usize, x);
                if factor != 1.0 {
                    x.iter_mut().for_each(|x| *x *= factor);
                }
            }
            Some((Inputs::Rows { rows, .. }, at)) => x.copy_from_slice(&rows[at * hidden..][..hidden]),
            None => {}
        });
        Ok(())
    }

    fn inputs(&self, rows: &FloatRows, next: &[&Linear<Self>], inputs: &mut Activations) -> Result<()> {
        let shape = (rows.n_rows(), rows.width);
        self.cpu.inputs(inputs, shape, are_quantised(next), |row, x| x.copy_from_slice(rows.row(row)));
        Ok(())
    }

    fn input_rows(&self, inputs: &Activations, rows: &mut FloatRows) -> Result<()> {
        let width = if inputs.n_rows() == 0 { 0 } else { inputs.row(0).len() };
        rows.reshape(inputs.n_rows(), width);
        self.cpu.for_rows(&mut rows.values, width, |row, to| to.copy_from_slice(inputs.row(row)));
        Ok(())
    }

    fn norm(
        &self,
        rows: &FloatRows,
        (weight, epsilon): NormFactors<'_, Self>,
        next: &[&Linear<Self>],
        inputs: &mut Activations,
    ) -> Result<()> {
        self.cpu.norm(&rows.values, weight, epsilon, are_quantised(next), inputs);
        Ok(())
    }

    fn product<const N: usize>(
        &self,
        inputs: &Activations,
        mut products: [(&Linear<Self>, &mut FloatRows); N],
    ) -> Result<()> {
        let product = |(map, out): &mut (&Linear<Self>, &mut FloatRows)| {
            out.reshape(inputs.n_rows(), map.weight.n_rows());
        };
        products.iter_mut().for_each(product);
        self.cpu.product(
            inputs,
            products.each_mut().map(|(map, out)| Product { matrix: &map.weight, out: &mut out.values, adds: false }),
        );
        for (map, out) in products {
            map.add_bias(&self.cpu, &mut out.values);
        }
        Ok(())
    }

    fn add_product(
        &self,
        inputs: &Activations,
        map: &Linear<Self>,
        Residual { norm, factor }: Residual<'_, Self>,
        spare: &mut FloatRows,
        stream: &mut FloatRows,
    ) -> Result<()> {
        let norm = norm.map(|(weight, epsilon)| (weight.as_slice(), epsilon));
        let residual = ResidualAddition { norm, factor };
        map.add_to((&self.cpu, inputs), residual, &mut spare.values, &mut stream.values);
        Ok(())
    }

    fn angles(&self, rope: &Rope, places: &[RotaryPlaces], angles: &mut RotaryAngles) -> Result<()> {
        let RotaryAngles { cosines, sines, query_factors } = angles;
        [&mut *cosines, &mut *sines, &mut *query_factors].into_iter().for_each(Vec::clear);
        for places in places.iter().flat_map(RotaryPlaces::iter) {
            rope.angles(places, cosines, sines);
            query_factors.extend(rope.query_growth.map(|growth| growth.factor(places[0])));
        }
        Ok(())
    }

    fn rotate(
        &self,
        rows: &mut FloatRows,
        head_dim: usize,
        norm: Option<NormFactors<'_, Self>>,
        rotation: Option<(&Rope, &RotaryAngles)>,
    ) -> Result<()> {
        let rotation = rotation.map(|(rope, RotaryAngles { cosines, sines, .. })| {
            let pairing = match rope.pairing {
                RopePairing::Halves => Pairing::Halves,
                RopePairing::Neighbours => Pairing::Neighbours,
            };
            Rotation { cosines, sines, n_pairs: rope.n_pairs(), pairing }
        });
        let norm = norm.map(|(weight, epsilon)| (weight.as_slice(), epsilon));
        self.cpu.rotate(&mut rows.values, (rows.width, head_dim), norm, rotation);
        Ok(())
    }

    fn grow_queries(&self, queries: &mut FloatRows, angles: &RotaryAngles) -> Result<()> {
        let factors = &angles.query_factors;
        self.cpu.for_rows(&mut queries.values, queries.width, |row, q| q.iter_mut().for_each(|q| *q *= factors[row]));
        Ok(())
    }

    fn split_heads(
        &self,
        pairs: &FloatRows,
        head_dim: usize,
        queries: &mut FloatRows,
        gates: &mut FloatRows,
    ) -> Result<()> {
        let width = pairs.width / 2;
        for (part, offset) in [(queries, 0), (gates, head_dim)] {
            part.reshape(pairs.n_rows(), width);
            self.cpu.for_rows(&mut part.values, width, |row, part| {
                let heads = pairs.row(row).chunks_exact(2 * head_dim);
                for (part, head) in part.chunks_exact_mut(head_dim).zip(heads) {
                    part.copy_from_slice(&head[offset..][..head_dim]);
                }
            });
        }
        Ok(())
    }

    fn sigmoid(&self, rows: &mut FloatRows) -> Result<()> {
        self.cpu.for_rows(&mut rows.values, rows.width, |_, row| self.cpu.sigmoid(row));
        Ok(())
    }

    fn append(&self, past: SequencePart<&mut KeyValues>, keys: &FloatRows, values: &FloatRows) -> Result<()> {
        let part = past.rows.start * keys.width..past.rows.end * keys.width;
        let n_bytes = past.memory.shape().page_bytes();
        past.memory.reserve(past.rows.len()).map_err(|_| memory::exhausted("keys and values", n_bytes))?;
        past.memory.append(&keys.values[part.clone()], &values.values[part]);
        Ok(())
    }

    fn attention(
        &self,
        queries: &FloatRows,
        steps: &[AttentionPart<'_, KeyValues>],
        _: Heads,
        Sight { window, n_after, scale }: Sight,
        mixed: &mut FloatRows,
    ) -> Result<()> {
        mixed.reshape(queries.n_rows(), queries.width);
        let [window, n_after] = [window, n_after].map(|limit| limit.unwrap_or(usize::MAX));
        let mask = |is_two_way: bool| match is_two_way {
            true => AttentionMask::TwoWay { window, n_after },
            false => AttentionMask::Causal { window },
        };
        let steps = steps.iter().map(|AttentionPart { rows, past, is_two_way }| AttentionStep {
            rows: rows.clone(),
            past,
            mask: mask(*is_two_way),
        });
        let steps: PerSequence<_> = steps.collect();
        self.cpu.attention(&queries.values, &steps, scale, &mut mixed.values);
        Ok(())
    }

    fn gate_heads(
        &self,
        rows: &FloatRows,
        gates: &FloatRows,
        next: &Linear<Self>,
        inputs: &mut Activations,
    ) -> Result<()> {
        let shape = (rows.n_rows(), rows.width);
        let n_elements = rows.width / gates.width; // elements that share a gate
        self.cpu.inputs(inputs, shape, next.is_quantised(), |row, x| {
            x.copy_from_slice(rows.row(row));
            for (x, gate) in x.chunks_exact_mut(n_elements).zip(gates.row(row)) {
                x.iter_mut().for_each(|x| *x *= gate);
            }
        });
        Ok(())
    }

    fn gate(
        &self,
        activation: Activation,
        gate: &FloatRows,
        up: &FloatRows,
        next: &[&Linear<Self>],
        inputs: &mut Activations,
    ) -> Result<()> {
        let rows = (gate.values.as_slice(), up.values.as_slice(), gate.width);
        self.cpu.gate(gate_function(activation), rows, are_quantised(next), inputs);
        Ok(())
    }

    fn convolve(
        &self,
        projected: &FloatRows,
        taps: &Self::Vector,
        bias: Option<&Self::Vector>,
        steps: &mut [SequencePart<&mut ConvolutionWindow>],
        next: &Linear<Self>,
        inputs: &mut Activations,
    ) -> Result<()> {
        let hidden = projected.width / 3;
        let mut windows = PerSequence::new();
        for SequencePart { rows, memory } in steps {
            let gated = |row: usize| {
                let row = projected.row(row);
                row[..hidden].iter().zip(&row[2 * hidden..]).map(|(b, x)| b * x)
            };
            memory.record(rows.clone().flat_map(gated));
            windows.push(ConvolutionStep { rows: rows.clone(), past: &mut memory.inputs });
        }
        let weights = (taps.as_slice(), bias.map(Vec::as_slice), hidden);
        self.cpu.convolution(&projected.values, weights, &mut windows, next.is_quantised(), inputs);
        Ok(())
    }

    fn convolve_centred(
        &self,
        projected: &FloatRows,
        taps: &Self::Vector,
        bias: Option<&Self::Vector>,
        sequences: &[Range<usize>],
        next: &Linear<Self>,
        inputs: &mut Activations,
    ) -> Result<()> {
        let weights = (taps.as_slice(), bias.map(Vec::as_slice), projected.width / 3);
        self.cpu.centred_convolution(&projected.values, weights, sequences, next.is_quantised(), inputs);
        Ok(())
    }

    fn delta_inputs(
        &self,
        projected: &FloatRows,
        heads: DeltaHeads,
        taps: &Self::Vector,
        steps: &mut [SequencePart<&mut ConvolutionWindow>],
        tokens: &mut FloatRows,
    ) -> Result<()> {
        tokens.reshape(projected.n_rows(), projected.width);
        let mut windows = PerSequence::new();
        for SequencePart { rows, memory } in steps {
            let part = rows.start * projected.width..rows.end * projected.width;
            memory.record(projected.values[part].iter().copied());
            windows.push(ConvolutionStep { rows: rows.clone(), past: &mut memory.inputs });
        }
        let weights = (delta_shape(heads), taps.as_slice());
        self.cpu.delta_inputs(&projected.values, weights, &mut windows, &mut tokens.values);
        Ok(())
    }

    fn decays(&self, rows: &mut FloatRows, log_decays: &Self::Vector, bias: &Self::Vector) -> Result<()> {
        self.cpu.decays(&mut rows.values, log_decays, bias);
        Ok(())
    }

    fn delta_net(
        &self,
        DeltaRows { tokens, decays, rates }: DeltaRows<'_, Self>,
        steps: &mut [SequencePart<&mut DeltaMemory>],
        out: &mut FloatRows,
    ) -> Result<()> {
        let width = steps.first().map_or(0, |step| {
            let shape = step.memory.shape();
            shape.n_values * shape.value_dim
        });
        out.reshape(tokens.n_rows(), width);
        let mut memories: PerSequence<_> =
            steps.iter_mut().map(|step| DeltaStep { rows: step.rows.clone(), memory: &mut *step.memory }).collect();
        let tokens = DeltaTokens { rows: &tokens.values, decays: &decays.values, rates: &rates.values };
        self.cpu.delta_net(tokens, &mut memories, &mut out.values);
        Ok(())
    }

    fn gated_norm(
        &self,
        rows: &FloatRows,
        gate: &FloatRows,
        (weight, epsilon): NormFactors<'_, Self>,
        next: &Linear<Self>,
        inputs: &mut Activations,
    ) -> Result<()> {
        let norm = (rows.width, weight.as_slice(), epsilon);
        self.cpu.gated_norm(&rows.values, &gate.values, norm, next.is_quantised(), inputs);
        Ok(())
    }

    fn experts(
        &self,
        experts: &Experts<Self>,
        inputs: &Activations,
        scratch: &mut Scratch,
        stream: &mut FloatRows,
    ) -> Result<()> {
        scratch.experts.add(self, experts, inputs, stream)
    }

    fn mix_table_rows(
        &self,
        table: &RowTable,
        tokens: impl Iterator<Item = u32>,
        factor: f32,
        Scratch { row, bytes, .. }: &mut Scratch,
        rows: &mut FloatRows,
    ) -> Result<()> {
        for (token, values) in tokens.zip(rows.values.chunks_exact_mut(rows.width)) {
            row.clear();
            table.read_row(token as usize, bytes, row).map_err(|err| {
                SdkError::new(ErrorKind::Generation, "the model's file cannot be read any more").caused_by(err)
            })?;
            let values = values.iter_mut().zip(&*row);
            values.for_each(|(value, own)| *value = (*value + own * factor) * std::f32::consts::FRAC_1_SQRT_2);
        }
        Ok(())
    }

    fn columns(&self, from: &FloatRows, columns: Range<usize>, to: &mut FloatRows) -> Result<()> {
        to.reshape(from.n_rows(), columns.len());
        for (row, to) in to.values.chunks_exact_mut(columns.len()).enumerate() {
            to.copy_from_slice(&from.row(row)[columns.clone()]);
        }
        Ok(())
    }

    fn select(&self, from: &FloatRows, ranges: &[Range<usize>], to: &mut FloatRows) -> Result<()> {
        to.values.clear();
        to.width = from.width;
        for range in ranges {
            to.values.extend_from_slice(&from.values[range.start * from.width..range.end * from.width]);
        }
        Ok(())
    }

    fn scale(&self, rows: &mut FloatRows, factor: f32) -> Result<()> {
        self.cpu.for_rows(&mut rows.values, rows.width, |_, x| x.iter_mut().for_each(|x| *x *= factor));
        Ok(())
    }

    fn bound(&self, rows: &mut FloatRows, bound: f32) -> Result<()> {
        self.cpu.bound(&mut rows.values, rows.width, bound);
        Ok(())
    }

    fn read(&self, rows: &FloatRows, range: Range<usize>, to: &mut Vec<f32>) -> Result<()> {
        to.extend_from_slice(&rows.values[range.start * rows.width..range.end * rows.width]);
        Ok(())
    }
}

/// Whether inputs of these maps are quantised.
pub(super) fn are_quantised(maps: &[&Linear<Native>]) -> bool {
    maps.iter().any(|map| map.is_quantised())
}

/// The inputs that a row comes from, and its index in them.
fn at<'a>(steps: &[Inputs<'a>], row: usize) -> Option<(Inputs<'a>, usize)> {
    let mut start = 0;
    for inputs in steps {
        if row < start + inputs.len() {
            return Some((*inputs, row - start));
        }
        start += inputs.len();
    }
    None
}
