//! The layers of a stack, applied to the residual stream of several sequences at once.

use std::ops::Range;

use smallvec::SmallVec;

use crate::checkpoint::{Rope, RotaryPlaces};
use crate::error::Result;
use crate::model::attention::{Attention, KeyValueSource};
use crate::model::delta_net::DeltaNet;
use crate::model::layer::{Layer, Operator};
use crate::model::network::{ContentRows, PerSequence};
use crate::model::operations::{LayerMemory, Operations, Residual};
use crate::model::pass::buffers::Buffers;
use crate::model::pass::state::{DecoderState, LayerState};
use crate::model::short_convolution::ShortConvolution;
use crate::model::stack::Stack;
use crate::position::{EmbeddedLayout, MutualAttention};

/// A sequence's part of the residual stream.
pub(crate) struct StackSequence<'a, O: Operations> {
    /// Its rows among all rows.
    pub(crate) rows: Range<usize>,
    pub(crate) state: &'a mut DecoderState<O>,
    /// Which rows of content they are.
    pub(crate) content: Option<ContentRows>,
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
        let places: PerSequence<_> = sequences.iter().map(StackSequence::places).collect();
        buffers.angles.resize_with(ropes.len(), O::Angles::default);
        for (rope, angles) in ropes.iter().zip(&mut buffers.angles) {
            operations.angles(rope, &places, angles)?;
        }
        for (at, layer) in self.layers.iter().enumerate() {
            self.layer(operations, (at, layer), sequences, &ropes, buffers)?;
        }
        for StackSequence { rows, state, content } in sequences {
            state.advance(rows.len(), *content);
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
        let residual = self.residual(layer.operator_output_norm.as_ref());
        let state_at = match &layer.operator {
            Operator::Attention(Attention { key_values: KeyValueSource::Layer(source), .. }) => *source,
            _ => at,
        };
        let has_window = matches!(&layer.operator, Operator::Attention(Attention { window: Some(_), .. }));
        let mut states = sequences.iter_mut().map(|StackSequence { rows, state, content }| {
            let is_two_way = match content.map(|content| content.layout.mutual) {
                None | Some(MutualAttention::Nowhere) => false,
                Some(MutualAttention::InWindows) => has_window,
                Some(MutualAttention::Everywhere) => true,
            };
            (&mut state.layers[state_at], &*rows, is_two_way)
        });
        let norm = (&layer.operator_norm, self.norm_eps);
        match &layer.operator {
            Operator::ShortConvolution(convolution) => {
                convolution.forward(operations, &mut states, norm, residual, buffers)?
            }
            Operator::DeltaNet(delta_net) => {
                delta_net.forward(operations, &mut states, norm, residual, buffers)?;
            }
            Operator::Attention(attention) => {
                let angles = attention.rope.as_ref().and_then(|rope| ropes.iter().position(|known| *known == rope));
                attention.forward(operations, &mut states, norm, angles, residual, buffers)?;
            }
        }
        let norm = (&layer.feed_forward_norm, self.norm_eps);
        let residual = self.residual(layer.feed_forward_output_norm.as_ref());
        layer.feed_forward.forward(operations, norm, residual, buffers)?;
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

impl<O: Operations> StackSequence<'_, O> {
    /// The rotary positions of the step.
    fn places(&self) -> RotaryPlaces {
        let (start, n) = (self.state.rotary_position(), self.rows.len());
        match self.content {
            Some(ContentRows { first, layout: EmbeddedLayout { grid: Some((_, n_columns)), .. } }) => {
                // A state from a damaged file may begin later than the image.
                RotaryPlaces::Grid { start: start.saturating_sub(first), cells: first..first + n, n_columns }
            }
            _ => RotaryPlaces::Line(start..start + n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::native::Native;
    use crate::model::network::SequenceState;
    use crate::model::saved_state::{SavedLayerKind, StateWriter};
    use crate::position::MutualAttention;

    /// The rows of an image, and tokens.
    const IMAGES: [(usize, Option<(usize, usize)>); 5] =
        [(3, None), (6, Some((2, 3))), (2, None), (4, Some((2, 2))), (2, None)];

    fn content(first: usize, grid: Option<(usize, usize)>) -> Option<ContentRows> {
        grid.map(|_| ContentRows { first, layout: EmbeddedLayout { grid, mutual: MutualAttention::Nowhere } })
    }

    /// The places of all rows, in steps of at most `chunk` of them.
    fn places(state: &mut DecoderState<Native>, chunk: usize) -> Vec<[usize; 3]> {
        let mut places = Vec::new();
        for (n_rows, grid) in IMAGES {
            for first in (0..n_rows).step_by(chunk) {
                let (n, content) = (chunk.min(n_rows - first), content(first, grid));
                let sequence = StackSequence { rows: 0..n, state: &mut *state, content };
                places.extend(sequence.places().iter());
                state.advance(n, content);
            }
        }
        places
    }

    #[test]
    fn rows_of_images_are_counted_by_rows_and_columns() {
        // transformers 5.24, Qwen3.5's `get_rope_index`.
        let expect = [
            [0, 1, 2, 3, 3, 3, 3, 3, 3, 6, 7, 8, 8, 8, 8, 10, 11],
            [0, 1, 2, 3, 3, 3, 4, 4, 4, 6, 7, 8, 8, 9, 9, 10, 11],
            [0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8, 9, 8, 9, 10, 11],
        ];
        for chunk in [1, 2, 4, 100] {
            let found = places(&mut DecoderState::new(Vec::new()), chunk);
            for (axis, expect) in expect.iter().enumerate() {
                assert!(found.iter().map(|places| places[axis]).eq(expect.iter().copied()), "chunks of {chunk}");
            }
        }
    }

    #[test]
    fn a_state_that_was_cut_or_saved_counts_on_as_before() {
        let mut state = DecoderState::<Native>::new(Vec::new());
        places(&mut state, 100);
        assert_eq!((state.n_positions, state.rotary_position()), (17, 12));
        let saved = state.save().unwrap().unwrap();
        let loaded = DecoderState::<Native>::new(Vec::new()).load(&saved).unwrap();
        assert_eq!((loaded.n_positions, loaded.rotary_position()), (17, 12));
        for (n_positions, expect) in [(16, 11), (11, 8), (9, 6), (3, 3)] {
            let cut: Box<dyn std::any::Any> = loaded.cut(n_positions).unwrap();
            assert_eq!(cut.downcast::<DecoderState<Native>>().unwrap().rotary_position(), expect);
        }
        for at in 0..saved.len() {
            let mut damaged = saved.clone();
            damaged[at] ^= 0x41;
            // Either another state, or none.
            if let Some(state) = DecoderState::<Native>::new(Vec::new()).load(&damaged) {
                assert!(state.rotary_position() <= state.n_positions);
            }
        }
        assert!(DecoderState::<Native>::new(Vec::new()).load(&saved[..saved.len() - 1]).is_none());
    }

    #[test]
    fn a_state_that_contradicts_an_image_counts_from_its_first_row() {
        let mut writer = StateWriter::new(5);
        writer.layer(SavedLayerKind::ROTARY_SHIFTS, [1, 2], &[&[5.0, 4.0]]);
        let mut state = DecoderState::<Native>::new(Vec::new()).load(&writer.finish()).unwrap();
        assert_eq!(state.rotary_position(), 1);
        let sequence = StackSequence { rows: 0..3, state: &mut state, content: content(3, Some((2, 3))) };
        assert_eq!(sequence.places().iter().next(), Some([0, 1, 0]));
    }
}
