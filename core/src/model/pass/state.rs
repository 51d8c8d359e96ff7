//! The state of a sequence in all layers of a decoder.

use std::collections::HashSet;
use std::ops::Range;

use crate::error::Result;
use crate::model::network::SequenceState;
use crate::model::operations::{LayerMemory, Operations};
use crate::model::saved_state::{StateReader, StateWriter};

pub(crate) struct DecoderState<O: Operations> {
    pub(super) layers: Vec<LayerState<O>>,
    pub(super) n_positions: usize,
}

/// The state of a sequence in one layer.
pub(super) enum LayerState<O: Operations> {
    Attention(O::KeyValues),
    Convolution(O::Window),
    DeltaNet(O::Window, O::DeltaMemory),
    /// The layer reads the state of an earlier one.
    Shared,
}

/// The states of one layer, each with the rows of its sequence.
pub(super) type LayerStates<'s, 'a, O> = &'s mut dyn Iterator<Item = (&'a mut LayerState<O>, &'a Range<usize>)>;

impl<O: Operations> Clone for DecoderState<O> {
    fn clone(&self) -> Self {
        Self { layers: self.layers.clone(), n_positions: self.n_positions }
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
        Self { layers, n_positions: 0 }
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
        reader.is_at_end().then_some(self)
    }
}

impl<O: Operations> LayerState<O> {
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
        let n_back = self.n_positions.checked_sub(n_positions)?;
        let layers = self.layers.iter().map(|layer| layer.cut(n_positions, n_back)).collect::<Option<_>>()?;
        Some(Box::new(Self { layers, n_positions }))
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
        Ok(Some(writer.finish()))
    }

    fn clone_box(&self) -> Box<dyn SequenceState> {
        Box::new(self.clone())
    }
}
