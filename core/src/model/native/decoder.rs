//! A pass of the decoder on the CPU.

use std::any::Any;
use std::ops::Range;
use std::sync::PoisonError;

use causerie_backend::{CacheShape, DeltaMemory, KeyValues, Product, ResidualAddition};
use smallvec::SmallVec;

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::attention::{Attention, KeyValueSource};
use crate::model::decoder::Decoder;
use crate::model::delta_net::DeltaNet;
use crate::model::feed_forward::FeedForward;
use crate::model::heads::Heads;
use crate::model::layer::{Layer, Operator};
use crate::model::native::backend::Native;
use crate::model::native::buffers::{PassBuffers, resize};
use crate::model::native::cache_type::stored_cache_type;
use crate::model::native::delta_net;
use crate::model::native::state::{ConvolutionWindow, NativeLayerState, NativeState};
use crate::model::network::{ForwardOutcome, Inputs, Network, PerSequence, SequenceState, Step};
use crate::model::rope::Rope;
use crate::model::short_convolution::ShortConvolution;

/// The id of the padding token in models with per-layer embeddings.
const PADDING: u32 = 0;

/// A step whose state is known to be one of this network, with its place in the pass.
struct PassSequence<'a> {
    inputs: Inputs<'a>,
    rows: Range<usize>,
    state: &'a mut NativeState,
    logits: &'a mut Vec<f32>,
    n_logits: usize,
}

impl Network for Decoder<Native> {
    fn n_vocabulary(&self) -> usize {
        self.n_vocabulary
    }

    fn hidden_size(&self) -> usize {
        self.hidden
    }

    fn shares_passes(&self) -> bool {
        true
    }

    fn start(&self) -> Result<Box<dyn SequenceState>> {
        Ok(Box::new(self.empty_state()))
    }

    fn load_state(&self, bytes: &[u8]) -> Option<Box<dyn SequenceState>> {
        Some(Box::new(self.empty_state().load(bytes)?))
    }

    fn forward(&self, steps: &mut [Step<'_>]) -> PerSequence<Result<ForwardOutcome>> {
        let n_steps = steps.len();
        let outcome = match sequences(steps, self.hidden) {
            Some(mut sequences) => self.compute(&mut sequences),
            None => Err(SdkError::new(ErrorKind::Internal, "a step does not belong to this network")),
        };
        (0..n_steps).map(|_| outcome.clone().map(|()| ForwardOutcome::Done)).collect()
    }
}

/// The sequences of a pass; `None` if one has a state of another network, or rows of another size.
fn sequences<'a>(steps: &'a mut [Step<'_>], hidden: usize) -> Option<PerSequence<PassSequence<'a>>> {
    let mut end = 0;
    let next = |step: &'a mut Step<'_>| {
        let Step { inputs, state, logits, n_logits } = step;
        let rows = end..end + inputs.len();
        end = rows.end;
        let state = (&mut **state as &mut dyn Any).downcast_mut()?;
        inputs.fits(hidden).then_some(PassSequence { inputs: *inputs, rows, state, logits, n_logits: *n_logits })
    };
    steps.iter_mut().map(next).collect()
}

impl Decoder<Native> {
    fn empty_state(&self) -> NativeState {
        let layers = self.layers.iter().map(|layer| match &layer.operator {
            Operator::ShortConvolution(ShortConvolution { window, hidden, .. }) => {
                NativeLayerState::Convolution(ConvolutionWindow::new(*window, *hidden))
            }
            Operator::DeltaNet(DeltaNet { window, heads, .. }) => {
                let window = ConvolutionWindow::new(*window, heads.n_channels());
                NativeLayerState::DeltaNet(window, DeltaMemory::new(delta_net::shape(*heads)))
            }
            Operator::Attention(Attention { key_values: KeyValueSource::Layer(_), .. }) => NativeLayerState::Shared,
            Operator::Attention(attention) => {
                let Heads { n_keys: n_heads, head_dim, .. } = attention.heads;
                let cache_type = stored_cache_type(self.backend.cache_type);
                NativeLayerState::Attention(KeyValues::new(CacheShape { n_heads, head_dim, cache_type }))
            }
        });
        NativeState::new(layers.collect())
    }

    /// # Errors
    /// A file with a part of the weights that cannot be read any more, and memory that ends.
    fn compute(&self, sequences: &mut [PassSequence<'_>]) -> Result<()> {
        let mut buffers = self.backend.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let buffers = &mut *buffers;
        let ropes = self.ropes();
        buffers.set_angles(&ropes, sequences.iter().flat_map(PassSequence::positions));
        for sequence in &mut *sequences {
            sequence.state.reserve(sequence.rows.len())?;
            sequence.state.expect_cut(1 < sequence.n_logits);
        }
        self.embed(sequences, &mut buffers.stream);
        if let Some(embedding) = &self.per_layer {
            let rows = sequences.iter().flat_map(|sequence| token_ids(sequence.inputs));
            embedding.forward(&self.backend.cpu, rows, self.norm_eps, buffers)?;
        }
        for (at, layer) in self.layers.iter().enumerate() {
            self.layer(at, layer, sequences, &ropes, buffers);
        }
        for sequence in &mut *sequences {
            sequence.state.n_positions += sequence.rows.len();
        }
        self.logits(sequences, buffers);
        Ok(())
    }

    /// Fills the stream with the embeddings of tokens, and with rows that were computed elsewhere.
    fn embed(&self, sequences: &[PassSequence<'_>], stream: &mut Vec<f32>) {
        let hidden = self.hidden;
        resize(stream, sequences.last().map_or(0, |sequence| sequence.rows.end) * hidden);
        self.backend.cpu.for_rows(stream, hidden, |row, x| {
            let sequence = &sequences[sequences.partition_point(|sequence| sequence.rows.end <= row)];
            let at = row - sequence.rows.start;
            match sequence.inputs {
                Inputs::Tokens(tokens) => {
                    self.embedding.read_row(tokens[at] as usize, x);
                    if self.scales.embedding != 1.0 {
                        x.iter_mut().for_each(|x| *x *= self.scales.embedding);
                    }
                }
                Inputs::Rows { rows, .. } => x.copy_from_slice(&rows[at * hidden..][..hidden]),
            }
        });
    }

    fn layer(
        &self,
        at: usize,
        layer: &Layer<Native>,
        sequences: &mut [PassSequence<'_>],
        ropes: &[&Rope],
        buffers: &mut PassBuffers,
    ) {
        let cpu = &self.backend.cpu;
        let quantises = match &layer.operator {
            Operator::ShortConvolution(convolution) => convolution.in_proj.is_quantised(),
            Operator::Attention(attention) => attention.quantises(),
            Operator::DeltaNet(delta_net) => delta_net.quantises(),
        };
        cpu.norm(&buffers.stream, &layer.operator_norm, self.norm_eps, quantises, &mut buffers.inputs);
        let how = self.addition(layer.operator_output_norm.as_ref());
        let state_at = match &layer.operator {
            Operator::Attention(Attention { key_values: KeyValueSource::Layer(source), .. }) => *source,
            _ => at,
        };
        let mut states = sequences.iter_mut().map(|sequence| (&mut sequence.state.layers[state_at], &sequence.rows));
        match &layer.operator {
            Operator::ShortConvolution(convolution) => convolution.forward(cpu, &mut states, how, buffers),
            Operator::DeltaNet(delta_net) => delta_net.forward(cpu, &mut states, self.norm_eps, how, buffers),
            Operator::Attention(attention) => {
                let angles = attention.rope.as_ref().and_then(|rope| ropes.iter().position(|known| *known == rope));
                attention.forward(cpu, &mut states, self.norm_eps, angles, how, buffers);
            }
        }
        let quantises = match &layer.feed_forward {
            FeedForward::Dense(dense) => dense.quantises(),
            FeedForward::Experts(experts) => experts.router.is_quantised(),
        };
        cpu.norm(&buffers.stream, &layer.feed_forward_norm, self.norm_eps, quantises, &mut buffers.inputs);
        match &layer.feed_forward {
            FeedForward::Dense(dense) => {
                dense.forward(cpu, self.addition(layer.feed_forward_output_norm.as_ref()), buffers);
            }
            FeedForward::Experts(experts) => experts.forward(cpu, buffers),
        }
        if let Some(block) = &layer.per_layer {
            block.forward(cpu, self.addition(Some(&block.output_norm)), buffers);
        }
        if layer.output_scale != 1.0 {
            let scale = layer.output_scale;
            cpu.for_rows(&mut buffers.stream, self.hidden, |_, x| x.iter_mut().for_each(|x| *x *= scale));
        }
    }

    /// How outputs with this norm are added to the residual stream.
    fn addition<'a>(&self, norm: Option<&'a Vec<f32>>) -> ResidualAddition<'a> {
        ResidualAddition { norm: norm.map(|weight| (weight.as_slice(), self.norm_eps)), factor: self.scales.residual }
    }

    /// Computes the logits of the last rows of each sequence that asks for them.
    fn logits(&self, sequences: &mut [PassSequence<'_>], buffers: &mut PassBuffers) {
        let (cpu, hidden) = (&self.backend.cpu, self.hidden);
        let PassBuffers { stream, inputs, mixed, logits, .. } = buffers;
        mixed.clear();
        for PassSequence { rows, n_logits, .. } in &*sequences {
            mixed.extend_from_slice(&stream[(rows.end - n_logits) * hidden..rows.end * hidden]);
        }
        if !mixed.is_empty() {
            let head = self.head();
            cpu.norm(mixed, &self.output_norm, self.norm_eps, head.format().is_quantised(), inputs);
            resize(logits, inputs.n_rows() * self.n_vocabulary);
            cpu.product(inputs, [Product { matrix: head, out: logits, adds: false }]);
            if self.scales.logits != 1.0 {
                logits.iter_mut().for_each(|logit| *logit *= self.scales.logits);
            }
            if let Some(bound) = self.scales.logit_softcap {
                cpu.bound(logits, self.n_vocabulary, bound);
            }
        }
        let mut rest = logits.as_slice();
        for sequence in sequences {
            let (these, later) = rest.split_at(sequence.n_logits * self.n_vocabulary);
            sequence.logits.clear();
            sequence.logits.extend_from_slice(these);
            rest = later;
        }
    }

    /// The kinds of rotary positions that layers have.
    fn ropes(&self) -> SmallVec<[&Rope; 2]> {
        let mut ropes: SmallVec<[&Rope; 2]> = SmallVec::new();
        for layer in &self.layers {
            if let Operator::Attention(Attention { rope: Some(rope), .. }) = &layer.operator
                && !ropes.contains(&rope)
            {
                ropes.push(rope);
            }
        }
        ropes
    }
}

/// The tokens of a step. Rows that are embeddings of something else count as padding.
fn token_ids<'a>(inputs: Inputs<'a>) -> impl Iterator<Item = u32> + 'a {
    let tokens = match inputs {
        Inputs::Tokens(tokens) => tokens,
        Inputs::Rows { .. } => &[],
    };
    tokens.iter().copied().chain(std::iter::repeat(PADDING)).take(inputs.len())
}

impl PassSequence<'_> {
    /// The positions of the step in its sequence.
    fn positions(&self) -> Range<usize> {
        self.state.n_positions..self.state.n_positions + self.rows.len()
    }
}
