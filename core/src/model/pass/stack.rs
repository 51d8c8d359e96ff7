//! The layers of a stack, applied to the residual stream of several sequences at once.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use crate::checkpoint::Rope;
use crate::error::Result;
use crate::model::attention::{Attention, KeyValueSource};
use crate::model::delta_net::DeltaNet;
use crate::model::layer::{Layer, Operator};
use crate::model::linear::Readers;
use crate::model::network::PerSequence;
use crate::model::operations::{LayerMemory, Operations, Residual};
use crate::model::pass::buffers::Buffers;
use crate::model::pass::state::{DecoderState, LayerState};
use crate::model::short_convolution::ShortConvolution;
use crate::model::stack::Stack;

/// A sequence's part of the residual stream.
pub(crate) struct StackSequence<'a, O: Operations> {
    /// Its rows among all rows.
    pub(crate) rows: Range<usize>,
    pub(crate) state: &'a mut DecoderState<O>,
}

impl<O: Operations> Stack<O> {
    /// The state before the first position.
    pub(crate) fn empty_state(&self, operations: &O) -> Result<DecoderState<O>> {
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

    /// Applies all layers to the residual stream in the buffers, and moves the states on.
    ///
    /// # Errors
    /// A device that fails, or a file with a part of the weights that cannot be read any more.
    pub(crate) fn forward(
        &self,
        operations: &O,
        sequences: &mut [StackSequence<'_, O>],
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let ropes = self.ropes();
        let positions: PerSequence<_> = sequences.iter().map(StackSequence::positions).collect();
        buffers.angles.resize_with(ropes.len(), O::Angles::default);
        for (rope, angles) in ropes.iter().zip(&mut buffers.angles) {
            operations.angles(rope, &positions, angles)?;
        }
        for (at, layer) in self.layers.iter().enumerate() {
            self.layer(operations, (at, layer), sequences, &ropes, buffers)?;
        }
        for sequence in sequences {
            sequence.state.n_positions += sequence.rows.len();
        }
        Ok(())
    }

    /// Frees keys and values that no later position attends to, in layers with a window. The state must not be cut or saved
    /// afterwards, and no layer may read the keys of another.
    pub(crate) fn release_unseen(&self, state: &mut DecoderState<O>) {
        for (layer, state) in self.layers.iter().zip(&mut state.layers) {
            if let (Operator::Attention(Attention { window: Some(window), .. }), LayerState::Attention(past)) =
                (&layer.operator, state)
            {
                past.keep_last(window.saturating_sub(1));
            }
        }
    }

    fn layer(
        &self,
        operations: &O,
        (at, layer): (usize, &Layer<O>),
        sequences: &mut [StackSequence<'_, O>],
        ropes: &[&Rope],
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
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
        Residual { norm: norm.map(|weight| (weight, self.norm_eps)), factor: self.residual }
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

impl<O: Operations> StackSequence<'_, O> {
    /// The positions of the step in its sequence.
    fn positions(&self) -> Range<usize> {
        self.state.n_positions..self.state.n_positions + self.rows.len()
    }
}
