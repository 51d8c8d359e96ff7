//! A step of the decoder for several sequences at once: each layer as a sequence of operations.
//!
//! The weights of the layers are read in the modules above; this folder says what is computed with them, once for all devices.

mod attention;
mod buffers;
mod delta_net;
mod feed_forward;
mod per_layer;
mod short_convolution;
mod state;

use std::any::Any;
use std::ops::Range;

use parking_lot::Mutex;
use smallvec::{SmallVec, smallvec};

use crate::checkpoint::Rope;
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::attention::{Attention, KeyValueSource};
use crate::model::decoder::Decoder;
use crate::model::delta_net::DeltaNet;
use crate::model::layer::{Layer, Operator};
use crate::model::linear::Readers;
use crate::model::network::{ForwardOutcome, Inputs, Network, PerSequence, SequenceState, Step};
use crate::model::operations::{Operations, Residual};
use crate::model::pass::buffers::Buffers;
use crate::model::pass::state::{DecoderState, LayerState};
use crate::model::short_convolution::ShortConvolution;

/// The id of the padding token in models with per-layer embeddings.
const PADDING: u32 = 0;

/// A step whose state is known to be one of this network, with its place in the pass.
struct PassSequence<'a, O: Operations> {
    inputs: Inputs<'a>,
    rows: Range<usize>,
    state: &'a mut DecoderState<O>,
    logits: &'a mut Vec<f32>,
    n_logits: usize,
}

/// A decoder, and the buffers of its steps.
pub(crate) struct DecoderNetwork<O: Operations> {
    decoder: Decoder<O>,
    buffers: Mutex<Buffers<O>>,
}

impl<O: Operations> DecoderNetwork<O> {
    pub(crate) fn new(decoder: Decoder<O>) -> Self {
        Self { decoder, buffers: Mutex::default() }
    }
}

impl<O: Operations> Network for DecoderNetwork<O> {
    fn n_vocabulary(&self) -> usize {
        self.decoder.n_vocabulary
    }

    fn hidden_size(&self) -> usize {
        self.decoder.hidden
    }

    fn shares_passes(&self) -> bool {
        O::SHARES_PASSES
    }

    fn start(&self) -> Result<Box<dyn SequenceState>> {
        Ok(Box::new(self.decoder.empty_state()?))
    }

    fn load_state(&self, bytes: &[u8]) -> Option<Box<dyn SequenceState>> {
        Some(Box::new(self.decoder.empty_state().ok()?.load(bytes)?))
    }

    fn forward(&self, steps: &mut [Step<'_>]) -> PerSequence<Result<ForwardOutcome>> {
        let n_steps = steps.len();
        let mut buffers = self.buffers.lock();
        let outcome = match sequences(steps, self.decoder.hidden) {
            Some(mut sequences) => self.decoder.compute(&mut sequences, &mut buffers),
            None => Err(SdkError::new(ErrorKind::Internal, "a step does not belong to this network")),
        };
        (0..n_steps).map(|_| outcome.clone().map(|()| ForwardOutcome::Done)).collect()
    }
}

/// The sequences of a pass; `None` if one has a state of another network, or rows of another size.
fn sequences<'a, O: Operations>(steps: &'a mut [Step<'_>], hidden: usize) -> Option<PerSequence<PassSequence<'a, O>>> {
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

impl<O: Operations> Decoder<O> {
    fn empty_state(&self) -> Result<DecoderState<O>> {
        let operations = &self.backend;
        let layers = self.layers.iter().map(|layer| {
            Ok(match &layer.operator {
                Operator::ShortConvolution(ShortConvolution { window, hidden, .. }) => {
                    LayerState::Convolution(operations.window(*window, *hidden)?)
                }
                Operator::DeltaNet(DeltaNet { window, heads, .. }) => {
                    let window = operations.window(*window, heads.n_channels())?;
                    LayerState::DeltaNet(window, operations.delta_memory(*heads)?)
                }
                Operator::Attention(Attention { key_values: KeyValueSource::Layer(_), .. }) => LayerState::Shared,
                Operator::Attention(attention) => LayerState::Attention(operations.key_values(attention.heads)?),
            })
        });
        Ok(DecoderState::new(layers.collect::<Result<_>>()?))
    }

    /// # Errors
    /// A device that fails, or a file with a part of the weights that cannot be read any more.
    fn compute(&self, sequences: &mut [PassSequence<'_, O>], buffers: &mut Buffers<O>) -> Result<()> {
        let operations = &self.backend;
        let ropes = self.ropes();
        let positions: PerSequence<_> = sequences.iter().map(PassSequence::positions).collect();
        buffers.angles.resize_with(ropes.len(), O::Angles::default);
        for (rope, angles) in ropes.iter().zip(&mut buffers.angles) {
            operations.angles(rope, &positions, angles)?;
        }
        sequences.iter_mut().for_each(|sequence| sequence.state.expect_cut(1 < sequence.n_logits));
        let inputs: PerSequence<_> = sequences.iter().map(|sequence| sequence.inputs).collect();
        operations.embed(&self.embedding.weight, &inputs, self.scales.embedding, &mut buffers.stream)?;
        if let Some(embedding) = &self.per_layer {
            let tokens = inputs.iter().flat_map(|inputs| token_ids(*inputs));
            embedding.forward(operations, tokens, self.norm_eps, buffers)?;
        }
        for (at, layer) in self.layers.iter().enumerate() {
            self.layer(at, layer, sequences, &ropes, buffers)?;
        }
        for sequence in &mut *sequences {
            sequence.state.n_positions += sequence.rows.len();
        }
        self.logits(sequences, buffers)
    }

    fn layer(
        &self,
        at: usize,
        layer: &Layer<O>,
        sequences: &mut [PassSequence<'_, O>],
        ropes: &[&Rope],
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let operations = &self.backend;
        let norm = (&layer.operator_norm, self.norm_eps);
        operations.norm(&buffers.stream, norm, &layer.operator.inputs(), &mut buffers.inputs)?;
        let residual = self.residual(layer.operator_output_norm.as_ref());
        let state_at = match &layer.operator {
            Operator::Attention(Attention { key_values: KeyValueSource::Layer(source), .. }) => *source,
            _ => at,
        };
        let mut states = sequences.iter_mut().map(|sequence| (&mut sequence.state.layers[state_at], &sequence.rows));
        match &layer.operator {
            Operator::ShortConvolution(convolution) => {
                convolution.forward(operations, &mut states, residual, buffers)?
            }
            Operator::DeltaNet(delta_net) => {
                delta_net.forward(operations, &mut states, self.norm_eps, residual, buffers)?;
            }
            Operator::Attention(attention) => {
                let angles = attention.rope.as_ref().and_then(|rope| ropes.iter().position(|known| *known == rope));
                attention.forward(operations, &mut states, self.norm_eps, angles, residual, buffers)?;
            }
        }
        let norm = (&layer.feed_forward_norm, self.norm_eps);
        operations.norm(&buffers.stream, norm, &layer.feed_forward.inputs(), &mut buffers.inputs)?;
        let residual = self.residual(layer.feed_forward_output_norm.as_ref());
        layer.feed_forward.forward(operations, residual, buffers)?;
        if let Some(block) = &layer.per_layer {
            block.forward(operations, self.residual(Some(&block.output_norm)), buffers)?;
        }
        match layer.output_scale {
            1.0 => Ok(()),
            scale => operations.scale(&mut buffers.stream, scale),
        }
    }

    /// How outputs with this norm are added to the residual stream.
    fn residual<'a>(&self, norm: Option<&'a O::Vector>) -> Residual<'a, O> {
        Residual { norm: norm.map(|weight| (weight, self.norm_eps)), factor: self.scales.residual }
    }

    /// Computes the logits of the last rows of each sequence that asks for them.
    fn logits(&self, sequences: &mut [PassSequence<'_, O>], buffers: &mut Buffers<O>) -> Result<()> {
        let (operations, head) = (&self.backend, self.head());
        let Buffers { stream, inputs, mixed, logits, .. } = buffers;
        let last = |sequence: &PassSequence<'_, O>| sequence.rows.end - sequence.n_logits..sequence.rows.end;
        let ranges: PerSequence<_> = sequences.iter().map(last).collect();
        if ranges.iter().any(|range| !range.is_empty()) {
            operations.select(stream, &ranges, mixed)?;
            operations.norm(mixed, (&self.output_norm, self.norm_eps), &[head], inputs)?;
            operations.product(inputs, [(head, &mut *logits)])?;
            if self.scales.logits != 1.0 {
                operations.scale(logits, self.scales.logits)?;
            }
            if let Some(bound) = self.scales.logit_softcap {
                operations.bound(logits, bound)?;
            }
        }
        let mut start = 0;
        for sequence in sequences {
            sequence.logits.clear();
            if 0 < sequence.n_logits {
                operations.read(logits, start..start + sequence.n_logits, sequence.logits)?;
            }
            start += sequence.n_logits;
        }
        Ok(())
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

impl<O: Operations> Operator<O> {
    /// The maps that read the operator's inputs.
    fn inputs(&self) -> Readers<'_, O> {
        match self {
            Self::ShortConvolution(convolution) => smallvec![&convolution.in_proj],
            Self::Attention(attention) => attention.inputs(),
            Self::DeltaNet(delta_net) => {
                smallvec![&delta_net.in_proj, &delta_net.gate, &delta_net.rate, &delta_net.decay]
            }
        }
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

impl<O: Operations> PassSequence<'_, O> {
    /// The positions of the step in its sequence.
    fn positions(&self) -> Range<usize> {
        self.state.n_positions..self.state.n_positions + self.rows.len()
    }
}
