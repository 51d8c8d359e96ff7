//! The operations on a GPU. Each records kernels; a step is computed when something is read, or when it ends.

use std::ops::Range;
use std::sync::Arc;

use causerie_gpu::{
    AttentionRow, GateCurve, GpuDeltaMemory, GpuInputs, GpuKeyValues, GpuMatrix, GpuRows, GpuVector, GpuWindow,
    KeyValueShape, NormedRow, OutputNorm, PendingLargest, PlacedHeads, WindowSizes,
};

use crate::checkpoint::Activation;
use crate::checkpoint::{Rope, RotaryPlaces};
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::delta_net::DeltaHeads;
use crate::model::experts::Experts;
use crate::model::gpu::backend::{Wgsl, failed_step};
use crate::model::gpu::experts::{self, ExpertRows};
use crate::model::gpu::forms::{
    WgslAngles, are_quantised, curve, delta_sizes, row_rotation, seen, token_choice, unbiased,
};
use crate::model::gpu::memories::{WgslDeltaMemory, WgslKeyValues, WgslWindow};
use crate::model::heads::Heads;
use crate::model::linear::Linear;
use crate::model::network::{Inputs, TokenChoice};
use crate::model::operations::{
    AttentionPart, DeltaRows, HeadPlace, NormFactors, Operations, Residual, SequencePart, Sight,
};
use crate::weights::RowTable;

/// Added to the squared length of the queries and keys of delta nets.
const DELTA_EPSILON: f32 = 1e-6;

impl Operations for Wgsl {
    type Rows = GpuRows;
    type Inputs = GpuInputs;
    type Angles = WgslAngles;
    type Scratch = ExpertRows;
    type KeyValues = WgslKeyValues;
    type Window = WgslWindow;
    type DeltaMemory = WgslDeltaMemory;
    type PendingChoice = PendingLargest;

    const SHARES_PASSES: bool = true;
    const RUNS_AHEAD: bool = true;

    fn key_values(&self, Heads { n_keys: n_heads, head_dim, .. }: Heads) -> Result<WgslKeyValues> {
        let past = GpuKeyValues::new(&self.recorder, KeyValueShape { n_heads, head_dim, format: self.cache_format });
        Ok(WgslKeyValues { past, recorder: Arc::clone(&self.recorder) })
    }

    fn window(&self, n_taps: usize, n_channels: usize) -> Result<WgslWindow> {
        let sizes = WindowSizes { n_past: n_taps.saturating_sub(1), n_channels };
        let window = GpuWindow::new(&self.recorder, sizes);
        Ok(WgslWindow { window, recorder: Arc::clone(&self.recorder) })
    }

    fn delta_memory(&self, heads: DeltaHeads) -> Result<WgslDeltaMemory> {
        let memory = GpuDeltaMemory::new(&self.recorder, delta_sizes(heads));
        Ok(WgslDeltaMemory { memory, recorder: Arc::clone(&self.recorder) })
    }

    fn embed(&self, table: &GpuMatrix, steps: &[Inputs<'_>], factor: f32, out: &mut GpuRows) -> Result<()> {
        let n_rows = steps.iter().map(Inputs::len).sum();
        self.recorder.embedded((n_rows, table.n_columns()), out).map_err(failed_step)?;
        let mut first = 0;
        for inputs in steps {
            match inputs {
                Inputs::Tokens(tokens) => self.recorder.embed_tokens(table, tokens, factor, first, out),
                Inputs::Rows { rows, .. } => self.recorder.embed_rows(rows, first, out),
            }
            .map_err(failed_step)?;
            first += inputs.len();
        }
        Ok(())
    }

    fn inputs(&self, rows: &GpuRows, next: &[&Linear<Self>], inputs: &mut GpuInputs) -> Result<()> {
        self.recorder.inputs(rows, are_quantised(next), inputs).map_err(failed_step)
    }

    fn input_rows(&self, inputs: &GpuInputs, rows: &mut GpuRows) -> Result<()> {
        self.recorder.input_rows(inputs, rows).map_err(failed_step)
    }

    fn norm(
        &self,
        rows: &GpuRows,
        norm: NormFactors<'_, Self>,
        next: &[&Linear<Self>],
        inputs: &mut GpuInputs,
    ) -> Result<()> {
        self.recorder.norm(rows, norm, are_quantised(next), inputs).map_err(failed_step)
    }

    fn norm_product<const N: usize>(
        &self,
        rows: &GpuRows,
        norm: NormFactors<'_, Self>,
        products: [(&Linear<Self>, &mut GpuRows); N],
        inputs: &mut GpuInputs,
    ) -> Result<()> {
        let maps: [&Linear<Self>; N] = products.each_ref().map(|(map, _)| *map);
        if let Some(matrices) = unbiased(maps)
            && self.recorder.fits_norm_product(rows, &matrices)
        {
            let mut products = products.map(|(map, out)| (&map.weight, out));
            return self.recorder.norm_product(NormedRow { rows, norm }, &mut products).map_err(failed_step);
        }
        self.norm(rows, norm, &maps, inputs)?;
        self.product(inputs, products)
    }

    fn norm_gate(
        &self,
        rows: &GpuRows,
        norm: NormFactors<'_, Self>,
        (activation, maps, next): (Activation, [&Linear<Self>; 2], &Linear<Self>),
        [gates, ups]: [&mut GpuRows; 2],
        inputs: &mut GpuInputs,
    ) -> Result<()> {
        let (curve, is_quantised) = (curve(activation), next.weight.is_quantised());
        if let Some(matrices) = unbiased(maps)
            && self.recorder.fits_norm_gate(rows, matrices, is_quantised)
        {
            let row = NormedRow { rows, norm };
            return self.recorder.norm_gate(row, matrices, curve, is_quantised, inputs).map_err(failed_step);
        }
        self.norm_product(rows, norm, [(maps[0], &mut *gates), (maps[1], &mut *ups)], inputs)?;
        self.recorder.gate(curve, gates, ups, is_quantised, inputs).map_err(failed_step)
    }

    fn product<const N: usize>(&self, inputs: &GpuInputs, products: [(&Linear<Self>, &mut GpuRows); N]) -> Result<()> {
        products
            .into_iter()
            .try_for_each(|(map, out)| self.recorder.product(inputs, &map.weight, map.bias.as_ref(), out))
            .map_err(failed_step)
    }

    fn add_product(
        &self,
        inputs: &GpuInputs,
        map: &Linear<Self>,
        Residual { norm, factor }: Residual<'_, Self>,
        spare: &mut GpuRows,
        stream: &mut GpuRows,
    ) -> Result<()> {
        let (map, how) = ((&map.weight, map.bias.as_ref()), OutputNorm { norm, factor });
        self.recorder.add_product(inputs, map, how, spare, stream).map_err(failed_step)
    }

    fn angles(&self, rope: &Rope, places: &[RotaryPlaces], angles: &mut WgslAngles) -> Result<()> {
        let (mut cosines, mut sines, mut query_factors) = (Vec::new(), Vec::new(), Vec::new());
        for places in places.iter().flat_map(RotaryPlaces::iter) {
            rope.angles(places, &mut cosines, &mut sines);
            query_factors.extend(rope.query_growth.map(|growth| growth.factor(places[0])));
        }
        let table = |values: &[f32]| self.recorder.table(values).map_err(failed_step);
        *angles =
            WgslAngles { cosines: table(&cosines)?, sines: table(&sines)?, query_factors: table(&query_factors)? };
        Ok(())
    }

    fn rotate(
        &self,
        rows: &mut GpuRows,
        head_dim: usize,
        norm: Option<NormFactors<'_, Self>>,
        rotation: Option<(&Rope, &WgslAngles)>,
    ) -> Result<()> {
        self.recorder.rotate(rows, head_dim, norm, rotation.map(row_rotation)).map_err(failed_step)
    }

    fn append_heads(
        &self,
        [queries, keys, values]: [&mut GpuRows; 3],
        HeadPlace { head_dim, norms, rotation }: HeadPlace<'_, Self>,
        pasts: &mut [SequencePart<&mut WgslKeyValues>],
    ) -> Result<()> {
        // One kernel normalises both, or neither.
        let of_both = match norms {
            [None, None] => Some(None),
            [Some((query, epsilon)), Some((key, _))] => Some(Some(([query, key], epsilon))),
            _ => None,
        };
        if let ([past], Some(norms)) = (&mut *pasts, of_both) {
            let rotation = rotation.map(row_rotation);
            let heads = PlacedHeads { queries, keys, values, norms, rotation };
            return self.recorder.append_heads(heads, &mut past.memory.past).map_err(failed_step);
        }
        let [query_norm, key_norm] = norms;
        self.rotate(queries, head_dim, query_norm, rotation)?;
        self.rotate(keys, head_dim, key_norm, rotation)?;
        pasts.iter_mut().try_for_each(|SequencePart { rows, memory }| {
            self.append(SequencePart { rows: rows.clone(), memory: &mut **memory }, keys, values)
        })
    }

    fn grow_queries(&self, queries: &mut GpuRows, angles: &WgslAngles) -> Result<()> {
        self.recorder.grow(queries, angles.query_factors).map_err(failed_step)
    }

    fn split_heads(&self, pairs: &GpuRows, head_dim: usize, queries: &mut GpuRows, gates: &mut GpuRows) -> Result<()> {
        self.recorder.split_heads(pairs, head_dim, queries, gates).map_err(failed_step)
    }

    fn sigmoid(&self, rows: &mut GpuRows) -> Result<()> {
        self.recorder.sigmoid(rows).map_err(failed_step)
    }

    fn append(
        &self,
        SequencePart { rows, memory }: SequencePart<&mut WgslKeyValues>,
        keys: &GpuRows,
        values: &GpuRows,
    ) -> Result<()> {
        memory.past.append(&self.recorder, rows, keys, values).map_err(failed_step)
    }

    fn attention(
        &self,
        queries: &GpuRows,
        steps: &[AttentionPart<'_, WgslKeyValues>],
        _: Heads,
        sight: Sight,
        mixed: &mut GpuRows,
    ) -> Result<()> {
        let rows: Vec<AttentionRow<'_>> = steps.iter().flat_map(|step| seen(step, sight)).collect();
        self.recorder.attention(queries, &rows, sight.scale, mixed).map_err(failed_step)
    }

    fn attention_inputs(
        &self,
        queries: &GpuRows,
        steps: &[AttentionPart<'_, WgslKeyValues>],
        (heads, sight, next): (Heads, Sight, &Linear<Self>),
        mixed: &mut GpuRows,
        inputs: &mut GpuInputs,
    ) -> Result<()> {
        if !self.recorder.fits_attention_inputs(heads.head_dim) {
            self.attention(queries, steps, heads, sight, mixed)?;
            return self.inputs(mixed, &[next], inputs);
        }
        let rows: Vec<AttentionRow<'_>> = steps.iter().flat_map(|step| seen(step, sight)).collect();
        let is_quantised = next.weight.is_quantised();
        self.recorder.attention_inputs(queries, &rows, sight.scale, is_quantised, inputs).map_err(failed_step)
    }

    fn gate_heads(&self, rows: &GpuRows, gates: &GpuRows, next: &Linear<Self>, inputs: &mut GpuInputs) -> Result<()> {
        self.recorder.gate_heads(rows, gates, next.weight.is_quantised(), inputs).map_err(failed_step)
    }

    fn gate(
        &self,
        activation: Activation,
        gate: &GpuRows,
        up: &GpuRows,
        next: &[&Linear<Self>],
        inputs: &mut GpuInputs,
    ) -> Result<()> {
        self.recorder.gate(curve(activation), gate, up, are_quantised(next), inputs).map_err(failed_step)
    }

    fn convolve(
        &self,
        projected: &GpuRows,
        taps: &GpuVector,
        bias: Option<&GpuVector>,
        steps: &mut [SequencePart<&mut WgslWindow>],
        next: &Linear<Self>,
        inputs: &mut GpuInputs,
    ) -> Result<()> {
        let windows = steps.iter_mut().map(|step| (step.rows.clone(), &mut step.memory.window));
        let is_quantised = next.weight.is_quantised();
        self.recorder.convolve(projected, (taps, bias), windows, is_quantised, inputs).map_err(failed_step)
    }

    fn add_convolved(
        &self,
        projected: &mut GpuRows,
        (taps, bias): (&GpuVector, Option<&GpuVector>),
        steps: &mut [SequencePart<&mut WgslWindow>],
        (map, residual): (&Linear<Self>, Residual<'_, Self>),
        inputs: &mut GpuInputs,
        stream: &mut GpuRows,
    ) -> Result<()> {
        let is_plain = map.bias.is_none() && residual.norm.is_none() && residual.factor == 1.0;
        if is_plain && self.recorder.fits_convolved(projected, &map.weight) {
            let windows = steps.iter_mut().map(|step| (step.rows.clone(), &mut step.memory.window));
            let (projected, convolution) = (&*projected, (taps, bias));
            return self
                .recorder
                .add_convolved(projected, convolution, windows, &map.weight, stream)
                .map_err(failed_step);
        }
        self.convolve(projected, taps, bias, steps, map, inputs)?;
        self.add_product(inputs, map, residual, projected, stream)
    }

    fn convolve_centred(
        &self,
        _: &GpuRows,
        _: &GpuVector,
        _: Option<&GpuVector>,
        _: &[Range<usize>],
        _: &Linear<Self>,
        _: &mut GpuInputs,
    ) -> Result<()> {
        // Only models that read whole texts have such, and the CPU computes these.
        Err(SdkError::new(ErrorKind::Internal, "a GPU was asked for a centred convolution"))
    }

    fn delta_inputs(
        &self,
        projected: &GpuRows,
        heads: DeltaHeads,
        taps: &GpuVector,
        steps: &mut [SequencePart<&mut WgslWindow>],
        tokens: &mut GpuRows,
    ) -> Result<()> {
        let windows = steps.iter_mut().map(|step| (step.rows.clone(), &mut step.memory.window));
        self.recorder.convolve_channels(projected, taps, windows, tokens).map_err(failed_step)?;
        self.recorder.unit_heads(tokens, delta_sizes(heads), DELTA_EPSILON).map_err(failed_step)
    }

    fn decays(&self, rows: &mut GpuRows, log_decays: &GpuVector, bias: &GpuVector) -> Result<()> {
        self.recorder.decays(rows, log_decays, bias).map_err(failed_step)
    }

    fn delta_net(
        &self,
        DeltaRows { tokens, decays, rates }: DeltaRows<'_, Self>,
        steps: &mut [SequencePart<&mut WgslDeltaMemory>],
        out: &mut GpuRows,
    ) -> Result<()> {
        let memories = steps.iter_mut().map(|step| (step.rows.clone(), &mut step.memory.memory));
        self.recorder.delta_net((tokens, decays, rates), memories, out).map_err(failed_step)
    }

    fn gated_norm(
        &self,
        rows: &GpuRows,
        gate: &GpuRows,
        norm: NormFactors<'_, Self>,
        next: &Linear<Self>,
        inputs: &mut GpuInputs,
    ) -> Result<()> {
        let normed = &mut *self.normed.lock();
        self.recorder.columns(rows, 0..rows.width(), normed).map_err(failed_step)?;
        self.recorder.rotate(normed, norm.0.values().len(), Some(norm), None).map_err(failed_step)?;
        let is_quantised = next.weight.is_quantised();
        self.recorder.gate(GateCurve::Silu, gate, normed, is_quantised, inputs).map_err(failed_step)
    }

    fn routes(&self, experts: &Experts<Self>) -> bool {
        experts::fit(&self.recorder, experts)
    }

    fn experts(
        &self,
        experts: &Experts<Self>,
        inputs: &GpuInputs,
        scratch: &mut ExpertRows,
        stream: &mut GpuRows,
    ) -> Result<()> {
        scratch.add(self, experts, inputs, stream)
    }

    fn mix_table_rows(
        &self,
        table: &RowTable,
        tokens: impl Iterator<Item = u32>,
        factor: f32,
        _: &mut ExpertRows,
        rows: &mut GpuRows,
    ) -> Result<()> {
        let (mut bytes, mut own) = (Vec::new(), Vec::new());
        for token in tokens {
            table.read_row(token as usize, &mut bytes, &mut own).map_err(|err| {
                SdkError::new(ErrorKind::Generation, "the model's file cannot be read any more").caused_by(err)
            })?;
        }
        self.recorder.mix(rows, &own, factor).map_err(failed_step)
    }

    fn columns(&self, from: &GpuRows, columns: Range<usize>, to: &mut GpuRows) -> Result<()> {
        self.recorder.columns(from, columns, to).map_err(failed_step)
    }

    fn select(&self, from: &GpuRows, ranges: &[Range<usize>], to: &mut GpuRows) -> Result<()> {
        self.recorder.select(from, ranges, to).map_err(failed_step)
    }

    fn scale(&self, rows: &mut GpuRows, factor: f32) -> Result<()> {
        self.recorder.scale(rows, factor).map_err(failed_step)
    }

    fn bound(&self, rows: &mut GpuRows, bound: f32) -> Result<()> {
        self.recorder.bound(rows, bound).map_err(failed_step)
    }

    fn end_step(&self) -> Result<()> {
        self.recorder.end_step().map_err(failed_step)
    }

    fn choose(&self, logits: &GpuRows, n_tokens: usize) -> Result<Option<Vec<TokenChoice>>> {
        let largest = self.recorder.largest(logits, n_tokens, &mut self.choices.lock()).map_err(failed_step)?;
        Ok(Some(largest.into_iter().map(token_choice).collect()))
    }

    fn begin_choice(&self, logits: &GpuRows, n_tokens: usize) -> Result<Option<PendingLargest>> {
        self.recorder.begin_largest(logits, n_tokens, &mut self.choices.lock()).map(Some).map_err(failed_step)
    }

    fn embed_chosen(&self, choice: &PendingLargest, table: &GpuMatrix, factor: f32, out: &mut GpuRows) -> Result<bool> {
        let choices = self.choices.lock();
        if !choice.is_in(table, &choices) {
            return Ok(false);
        }
        self.recorder.embed_largest(table, factor, &choices, out).map(|()| true).map_err(failed_step)
    }

    fn finish_choice(&self, choice: PendingLargest) -> Result<TokenChoice> {
        let largest = self.recorder.finish_largest(choice, &mut self.choices.lock()).map_err(failed_step)?;
        Ok(largest.first().map_or(TokenChoice::NotFinite, |largest| token_choice(*largest)))
    }

    fn read(&self, rows: &GpuRows, range: Range<usize>, to: &mut Vec<f32>) -> Result<()> {
        self.recorder.read(rows, range, to).map_err(failed_step)
    }
}
