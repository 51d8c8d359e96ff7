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
use crate::model::pass::state::{DecoderState, LayerState, LayerStates};
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
        self.angles(operations, &ropes, sequences.iter().map(StackSequence::places).collect(), buffers)?;
        self.apply(operations, 0..self.layers.len(), sequences, &ropes, buffers)?;
        advance(sequences);
        Ok(())
    }

    /// As [`forward`](Self::forward), for the last `n_last` rows of each sequence: afterwards the stream has these alone, if there are
    /// any. The other rows are computed only as far as layers remember them. So of a prompt's chunk, the last layer computes keys and
    /// values; and where layers share the keys of earlier ones, all of them compute nothing.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub(crate) fn forward_last(
        &self,
        operations: &O,
        sequences: &mut [StackSequence<'_, O>],
        n_last: &[usize],
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        if sequences.iter().zip(n_last).all(|(sequence, n)| sequence.rows.len() == *n) {
            return self.forward(operations, sequences, buffers);
        }
        let ropes = self.ropes();
        let places: PerSequence<_> = sequences.iter().map(StackSequence::places).collect();
        self.angles(operations, &ropes, places.clone(), buffers)?;
        let remembering = self.layers.iter().rposition(|layer| layer.operator.remembers()).unwrap_or(0);
        self.apply(operations, 0..remembering, sequences, &ropes, buffers)?;
        let attends_later = match self.layers.get(remembering) {
            Some(layer) => self.remember(operations, (remembering, layer), sequences, &ropes, buffers)?,
            None => false,
        };
        let (mut last, places) = self.narrow(operations, sequences, (n_last, &places), buffers)?;
        if !last.is_empty() {
            self.angles(operations, &ropes, places, buffers)?;
            if let Some(layer) = self.layers.get(remembering) {
                if attends_later {
                    self.operate(operations, (remembering, layer), (&mut last, true), &ropes, buffers)?;
                }
                self.feed(operations, layer, buffers)?;
            }
            self.apply(operations, remembering + 1..self.layers.len(), &mut last, &ropes, buffers)?;
        }
        drop(last);
        advance(sequences);
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

    fn angles(
        &self,
        operations: &O,
        ropes: &[&Rope],
        places: PerSequence<RotaryPlaces>,
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        buffers.angles.resize_with(ropes.len(), O::Angles::default);
        let mut each = ropes.iter().zip(&mut buffers.angles);
        each.try_for_each(|(rope, angles)| operations.angles(rope, &places, angles))
    }

    /// Applies some layers.
    fn apply(
        &self,
        operations: &O,
        layers: Range<usize>,
        sequences: &mut [StackSequence<'_, O>],
        ropes: &[&Rope],
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let first = layers.start;
        for (at, layer) in self.layers.get(layers).unwrap_or_default().iter().enumerate() {
            self.operate(operations, (first + at, layer), (sequences, false), ropes, buffers)?;
            self.feed(operations, layer, buffers)?;
        }
        Ok(())
    }

    /// Computes what a layer remembers of all rows. Returns whether its operator is still to be applied.
    fn remember(
        &self,
        operations: &O,
        (at, layer): (usize, &Layer<O>),
        sequences: &mut [StackSequence<'_, O>],
        ropes: &[&Rope],
        buffers: &mut Buffers<O>,
    ) -> Result<bool> {
        let Operator::Attention(Attention { rope, key_values: KeyValueSource::Own(maps), heads, .. }) = &layer.operator
        else {
            self.operate(operations, (at, layer), (sequences, false), ropes, buffers)?;
            return Ok(false);
        };
        let norm = (&layer.operator_norm, self.norm_eps);
        let angles = place_of(rope.as_ref(), ropes);
        let mut states = sequences.iter_mut().map(|StackSequence { rows, state, .. }| (&mut state.layers[at], &*rows));
        maps.remember(operations, &mut states, (heads.head_dim, norm), rope.as_ref().zip(angles), buffers)?;
        Ok(true)
    }

    /// Leaves the last rows of each sequence in the stream. Returns the sequences that have such rows, and their places.
    fn narrow<'a>(
        &self,
        operations: &O,
        sequences: &'a mut [StackSequence<'_, O>],
        (n_last, places): (&[usize], &[RotaryPlaces]),
        buffers: &mut Buffers<O>,
    ) -> Result<(PerSequence<StackSequence<'a, O>>, PerSequence<RotaryPlaces>)> {
        let (mut ranges, mut last, mut last_places, mut end) =
            (PerSequence::new(), PerSequence::new(), PerSequence::new(), 0);
        for ((StackSequence { rows, state, content }, n), places) in sequences.iter_mut().zip(n_last).zip(places) {
            if 0 < *n {
                ranges.push(rows.end - n..rows.end);
                last.push(StackSequence { rows: end..end + n, state: &mut **state, content: *content });
                last_places.push(places.last(*n));
                end += n;
            }
        }
        if 0 < end {
            let Buffers { stream, mixed, per_layer, .. } = buffers;
            operations.select(stream, &ranges, mixed)?;
            std::mem::swap(stream, mixed);
            if self.layers.iter().any(|layer| layer.per_layer.is_some()) {
                operations.select(per_layer, &ranges, mixed)?;
                std::mem::swap(per_layer, mixed);
            }
        }
        Ok((last, last_places))
    }

    /// Applies a layer's operator. `is_remembered` says whether the layer has remembered the rows already.
    fn operate(
        &self,
        operations: &O,
        (at, layer): (usize, &Layer<O>),
        (sequences, is_remembered): (&mut [StackSequence<'_, O>], bool),
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
                convolution.forward(operations, &mut states, norm, residual, buffers)
            }
            Operator::DeltaNet(delta_net) => delta_net.forward(operations, &mut states, norm, residual, buffers),
            Operator::Attention(attention) => {
                let angles = place_of(attention.rope.as_ref(), ropes);
                let states = (&mut states as LayerStates<'_, '_, O>, is_remembered);
                attention.forward(operations, states, norm, angles, residual, buffers)
            }
        }
    }

    /// Applies what comes after a layer's operator.
    fn feed(&self, operations: &O, layer: &Layer<O>, buffers: &mut Buffers<O>) -> Result<()> {
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

/// The place of a layer's rotary positions among all kinds.
fn place_of(rope: Option<&Rope>, ropes: &[&Rope]) -> Option<usize> {
    rope.and_then(|rope| ropes.iter().position(|known| *known == rope))
}

fn advance<O: Operations>(sequences: &mut [StackSequence<'_, O>]) {
    for StackSequence { rows, state, content } in sequences {
        state.advance(rows.len(), *content);
    }
}

impl<O: Operations> Operator<O> {
    /// Whether a sequence's state has something of this layer.
    fn remembers(&self) -> bool {
        !matches!(self, Self::Attention(Attention { key_values: KeyValueSource::Layer(_), .. }))
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
