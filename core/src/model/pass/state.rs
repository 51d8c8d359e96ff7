//! The state of a sequence in all layers of a decoder.

use std::collections::HashSet;
use std::ops::Range;

use crate::error::Result;
use crate::model::network::{ContentRows, SequenceState};
use crate::model::operations::{LayerMemory, Operations};
use crate::model::saved_state::{SavedLayerKind, StateReader, StateWriter};
use crate::position::EmbeddedLayout;

pub(crate) struct DecoderState<O: Operations> {
    pub(super) layers: Vec<LayerState<O>>,
    pub(super) n_positions: usize,
    /// One after each image whose positions are counted by rows and columns.
    shifts: Vec<RotaryShift>,
    is_spoiled: bool,
    /// The next step, if it was begun before its token was known. Only this state has it, no clone.
    pub(super) ahead: Option<AheadStep<O>>,
}

/// A step that was begun before it is known whether the sequence goes on so.
pub(super) struct AheadStep<O: Operations> {
    /// The token that it computes.
    pub(super) token: u32,
    /// Tokens from which the next one is chosen.
    pub(super) n_tokens: usize,
    /// The layers after the step. They share memory with those before it, which the step does not change.
    pub(super) layers: Vec<LayerState<O>>,
    pub(super) choice: O::PendingChoice,
}

/// How far rotary positions are behind the positions of the sequence, from some position on: an image takes as many of them as its
/// longer side has rows, and of the sequence as many as it has rows in all.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RotaryShift {
    from: usize,
    shift: usize,
}

/// The state of a sequence in one layer.
pub(super) enum LayerState<O: Operations> {
    Attention(O::KeyValues),
    Convolution(O::Window),
    DeltaNet(O::Window, O::DeltaMemory),
    /// The layer reads the state of an earlier one.
    Shared,
}

/// The states of one layer, each with the rows of its sequence, and whether these attend to each other in both directions.
pub(super) type LayerStates<'s, 'a, O> = &'s mut dyn Iterator<Item = (&'a mut LayerState<O>, &'a Range<usize>, bool)>;

impl<O: Operations> Clone for DecoderState<O> {
    fn clone(&self) -> Self {
        let Self { n_positions, is_spoiled, .. } = *self;
        Self { layers: self.layers.clone(), n_positions, shifts: self.shifts.clone(), is_spoiled, ahead: None }
    }
}

impl<O: Operations> Clone for LayerState<O> {
    fn clone(&self) -> Self {
        match self {
            Self::Attention(past) => Self::Attention(past.clone()),
            Self::Convolution(window) => Self::Convolution(window.clone()),
            Self::DeltaNet(window, memory) => Self::DeltaNet(window.clone(), memory.clone()),
            Self::Shared => Self::Shared,
        }
    }
}

impl<O: Operations> DecoderState<O> {
    /// The state before the first position.
    pub(super) fn new(layers: Vec<LayerState<O>>) -> Self {
        Self { layers, n_positions: 0, shifts: Vec::new(), is_spoiled: false, ahead: None }
    }

    /// The rotary position of the next row; in an image, that of a row of a line.
    pub(super) fn rotary_position(&self) -> usize {
        self.n_positions - self.shift()
    }

    fn shift(&self) -> usize {
        self.shifts.last().map_or(0, |last| last.shift)
    }

    /// Counts the rows of a step.
    pub(super) fn advance(&mut self, n_rows: usize, content: Option<ContentRows>) {
        self.n_positions += n_rows;
        if let Some(ContentRows { first, layout: EmbeddedLayout { grid: Some((n_grid_rows, n_columns)), .. } }) =
            content
            && first + n_rows == n_grid_rows * n_columns
        {
            let shift = self.shift() + first + n_rows - n_grid_rows.max(n_columns);
            self.shifts.push(RotaryShift { from: self.n_positions, shift });
        }
    }

    /// Says whether [`cut`](SequenceState::cut) must be able to return into the next step.
    pub(super) fn expect_cut(&mut self, is_expected: bool) {
        for layer in &mut self.layers {
            match layer {
                LayerState::Attention(past) => past.expect_cut(is_expected),
                LayerState::Convolution(window) => window.expect_cut(is_expected),
                LayerState::DeltaNet(window, memory) => {
                    window.expect_cut(is_expected);
                    memory.expect_cut(is_expected);
                }
                LayerState::Shared => {}
            }
        }
    }

    /// The same state, for a step that is begun before it is known whether the sequence goes on so.
    pub(super) fn ahead(&self) -> Self {
        let Self { n_positions, is_spoiled, .. } = *self;
        let layers = self.layers.iter().map(LayerState::ahead).collect();
        Self { layers, n_positions, shifts: self.shifts.clone(), is_spoiled, ahead: None }
    }

    /// Goes on with the layers after a step of one token that was begun ahead.
    pub(super) fn settle(&mut self, layers: Vec<LayerState<O>>) {
        self.layers = layers;
        self.layers.iter_mut().for_each(LayerState::settle);
        self.advance(1, None);
    }

    /// As [`LayerMemory::reserve`], in all layers.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the CPU takes memory as it goes"))]
    pub(super) fn reserve(&mut self, n_rows: usize, is_cut_expected: bool) -> Result<()> {
        let reserved = self.layers.iter_mut().try_for_each(|layer| layer.reserve(n_rows, is_cut_expected));
        if reserved.is_err() {
            self.layers.iter_mut().try_for_each(|layer| layer.reserve(0, false))?;
        }
        reserved
    }

    /// Marks a state that a step may have left half changed.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "steps of the CPU do not fail halfway"))]
    pub(crate) fn spoil(&mut self) {
        self.is_spoiled = true;
    }

    /// Reads the bytes of [`save`](SequenceState::save) into a state that is empty so far.
    pub(super) fn load(mut self, bytes: &[u8]) -> Option<Self> {
        let mut reader = StateReader::new(bytes)?;
        self.n_positions = reader.n_positions();
        for layer in &mut self.layers {
            match layer {
                LayerState::Attention(past) => past.load(&mut reader)?,
                LayerState::Convolution(window) => window.load(&mut reader)?,
                LayerState::DeltaNet(window, memory) => {
                    window.load(&mut reader)?;
                    memory.load(&mut reader)?;
                }
                LayerState::Shared => {}
            }
        }
        if !reader.is_at_end() {
            self.shifts = loaded_shifts(&mut reader)?;
        }
        reader.is_at_end().then_some(self)
    }
}

/// Shifts that were saved; `None` if no sequence has such.
fn loaded_shifts(reader: &mut StateReader<'_>) -> Option<Vec<RotaryShift>> {
    let (n_positions, [n_shifts, 2]) = (reader.n_positions(), reader.sizes(SavedLayerKind::ROTARY_SHIFTS)?) else {
        return None;
    };
    let values = reader.values(&[n_shifts, 2])?;
    let shift = |pair: &[f32]| RotaryShift { from: pair[0] as usize, shift: pair[1] as usize };
    let shifts: Vec<RotaryShift> = values.chunks_exact(2).map(shift).collect();
    let is_after = |pair: &[RotaryShift]| pair[0].from < pair[1].from && pair[0].shift <= pair[1].shift;
    let fits = |last: &RotaryShift| last.from <= n_positions && last.shift < last.from;
    (shifts.windows(2).all(is_after) && shifts.iter().all(fits)).then_some(shifts)
}

impl<O: Operations> LayerState<O> {
    fn ahead(&self) -> Self {
        match self {
            Self::Attention(past) => Self::Attention(past.ahead()),
            Self::Convolution(window) => Self::Convolution(window.ahead()),
            Self::DeltaNet(window, memory) => Self::DeltaNet(window.ahead(), memory.ahead()),
            Self::Shared => Self::Shared,
        }
    }

    fn settle(&mut self) {
        match self {
            Self::Attention(past) => past.settle(),
            Self::Convolution(window) => window.settle(),
            Self::DeltaNet(window, memory) => {
                window.settle();
                memory.settle();
            }
            Self::Shared => {}
        }
    }

    fn reserve(&mut self, n_rows: usize, is_cut_expected: bool) -> Result<()> {
        match self {
            Self::Attention(past) => past.reserve(n_rows, is_cut_expected),
            Self::Convolution(window) => window.reserve(n_rows, is_cut_expected),
            Self::DeltaNet(window, memory) => {
                window.reserve(n_rows, is_cut_expected)?;
                memory.reserve(n_rows, is_cut_expected)
            }
            Self::Shared => Ok(()),
        }
    }

    fn can_be_cut(&self) -> bool {
        match self {
            Self::Attention(_) => O::KeyValues::CAN_BE_CUT,
            Self::Convolution(_) => O::Window::CAN_BE_CUT,
            Self::DeltaNet(..) => O::Window::CAN_BE_CUT && O::DeltaMemory::CAN_BE_CUT,
            Self::Shared => true,
        }
    }

    fn cut(&self, n_positions: usize, n_back: usize) -> Option<Self> {
        Some(match self {
            Self::Attention(past) => Self::Attention(past.cut(n_positions, n_back)?),
            Self::Convolution(window) => Self::Convolution(window.cut(n_positions, n_back)?),
            Self::DeltaNet(window, memory) => {
                Self::DeltaNet(window.cut(n_positions, n_back)?, memory.cut(n_positions, n_back)?)
            }
            Self::Shared => Self::Shared,
        })
    }
}

impl<O: Operations> SequenceState for DecoderState<O> {
    fn n_positions(&self) -> usize {
        self.n_positions
    }

    fn can_be_cut(&self) -> bool {
        self.layers.iter().all(LayerState::can_be_cut)
    }

    fn cut(&self, n_positions: usize) -> Option<Box<dyn SequenceState>> {
        if self.is_spoiled {
            return None;
        }
        let n_back = self.n_positions.checked_sub(n_positions)?;
        let layers = self.layers.iter().map(|layer| layer.cut(n_positions, n_back)).collect::<Option<_>>()?;
        let shifts = self.shifts.iter().copied().take_while(|shift| shift.from <= n_positions).collect();
        Some(Box::new(Self { layers, n_positions, shifts, is_spoiled: false, ahead: None }))
    }

    fn n_bytes(&self, counted: &mut HashSet<usize>) -> usize {
        let n_bytes = |layer: &LayerState<O>| match layer {
            LayerState::Attention(past) => past.n_bytes(counted),
            LayerState::Convolution(window) => window.n_bytes(counted),
            LayerState::DeltaNet(window, memory) => window.n_bytes(counted) + memory.n_bytes(counted),
            LayerState::Shared => 0,
        };
        self.layers.iter().map(n_bytes).sum()
    }

    fn save(&self) -> Result<Option<Vec<u8>>> {
        if self.is_spoiled {
            return Ok(None);
        }
        let mut writer = StateWriter::new(self.n_positions);
        for layer in &self.layers {
            match layer {
                LayerState::Attention(past) => past.save(&mut writer)?,
                LayerState::Convolution(window) => window.save(&mut writer)?,
                LayerState::DeltaNet(window, memory) => {
                    window.save(&mut writer)?;
                    memory.save(&mut writer)?;
                }
                LayerState::Shared => {}
            }
        }
        if !self.shifts.is_empty() {
            // Exact: positions stay below 2^24.
            let values = self.shifts.iter().flat_map(|shift| [shift.from as f32, shift.shift as f32]);
            let values: Vec<f32> = values.collect();
            writer.layer(SavedLayerKind::ROTARY_SHIFTS, [self.shifts.len(), 2], &[&values]);
        }
        Ok(Some(writer.finish()))
    }

    fn is_spoiled(&self) -> bool {
        self.is_spoiled
    }

    fn drop_ahead(&mut self) {
        self.ahead = None;
    }

    fn clone_box(&self) -> Box<dyn SequenceState> {
        Box::new(self.clone())
    }
}
