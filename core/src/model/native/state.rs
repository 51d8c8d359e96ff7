//! The state of a sequence on the CPU.
//!
//! Keys and values lie in pages that clones share. When two sequences continue differently from one snapshot, one of them
//! copies the page in which they differ. The matrices of delta nets are shared likewise, until one of both goes on.

use std::collections::HashSet;
use std::ops::Range;

use causerie_backend::{CacheShape, CacheType, DeltaMemory, KeyValues};

use crate::error::Result;
use crate::memory;
use crate::model::network::SequenceState;
use crate::model::saved_state::{SavedLayerKind, StateReader, StateWriter};

/// The state of a sequence in all layers.
#[derive(Clone)]
pub(super) struct NativeState {
    pub(super) layers: Vec<NativeLayerState>,
    pub(super) n_positions: usize,
}

/// The state of a sequence in one layer.
#[derive(Clone)]
pub(super) enum NativeLayerState {
    Convolution(ConvolutionWindow),
    Attention(KeyValues),
    /// The layer reads the state of an earlier one.
    Shared,
    DeltaNet(ConvolutionWindow, DeltaMemory),
}

/// The states of one layer, each with the rows of its sequence.
pub(super) type NativeLayerStates<'s, 'a> = &'s mut dyn Iterator<Item = (&'a mut NativeLayerState, &'a Range<usize>)>;

/// The last inputs of a convolution.
#[derive(Clone)]
pub(super) struct ConvolutionWindow {
    /// `(window - 1, channels)`, oldest first.
    pub(super) inputs: Vec<f32>,
    n_channels: usize,
    /// The inputs before the last step, then those of the step; `Some` if the state may be cut back into the step.
    last_step: Option<Vec<f32>>,
}

impl ConvolutionWindow {
    /// The window before the first token.
    pub(super) fn new(window: usize, n_channels: usize) -> Self {
        Self { inputs: vec![0.0; (window - 1) * n_channels], n_channels, last_step: None }
    }

    /// Records the inputs of a step before it is computed.
    pub(super) fn record(&mut self, inputs: impl Iterator<Item = f32>) {
        let Some(last_step) = &mut self.last_step else { return };
        last_step.extend_from_slice(&self.inputs);
        last_step.extend(inputs);
    }

    /// The inputs as they were before the last `n_positions` of the last step.
    fn before(&self, n_positions: usize) -> Option<Self> {
        let inputs = match &self.last_step {
            _ if n_positions == 0 => self.inputs.clone(),
            None => return None,
            Some(last_step) => {
                let end = last_step.len().checked_sub(n_positions * self.n_channels)?;
                last_step[end.checked_sub(self.inputs.len())?..end].to_vec()
            }
        };
        Some(Self { inputs, n_channels: self.n_channels, last_step: None })
    }

    /// Rows and columns of the inputs.
    fn sizes(&self) -> [usize; 2] {
        [self.inputs.len() / self.n_channels.max(1), self.n_channels]
    }

    fn load(&mut self, reader: &mut StateReader<'_>) -> Option<()> {
        reader.expect_layer(SavedLayerKind::CONVOLUTION, self.sizes())?;
        self.inputs = reader.values(&self.sizes())?;
        Some(())
    }

    fn save(&self, writer: &mut StateWriter) {
        writer.layer(SavedLayerKind::CONVOLUTION, self.sizes(), &[&self.inputs]);
    }

    fn n_bytes(&self) -> usize {
        size_of_val(self.inputs.as_slice())
    }
}

/// Value heads of a delta net, and the elements of a matrix.
fn memory_sizes(memory: &DeltaMemory) -> [usize; 2] {
    let shape = memory.shape();
    [shape.n_values, shape.key_dim * shape.value_dim]
}

impl NativeState {
    /// The state before the first position.
    pub(super) fn new(layers: Vec<NativeLayerState>) -> Self {
        Self { layers, n_positions: 0 }
    }

    /// Allocates the keys and values of the next step.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::error::ErrorKind::OutOfMemory).
    pub(super) fn reserve(&mut self, n_tokens: usize) -> Result<()> {
        for layer in &mut self.layers {
            if let NativeLayerState::Attention(past) = layer {
                let n_bytes = past.shape().page_bytes();
                past.reserve(n_tokens).map_err(|_| memory::exhausted("keys and values", n_bytes))?;
            }
        }
        Ok(())
    }

    /// Says whether [`cut`](SequenceState::cut) must be able to return into the next step.
    pub(super) fn expect_cut(&mut self, is_expected: bool) {
        for layer in &mut self.layers {
            match layer {
                NativeLayerState::Attention(_) | NativeLayerState::Shared => {}
                NativeLayerState::Convolution(window) => window.last_step = is_expected.then(Vec::new),
                NativeLayerState::DeltaNet(window, memory) => {
                    window.last_step = is_expected.then(Vec::new);
                    memory.expect_undo(is_expected);
                }
            }
        }
    }

    /// Reads the bytes of [`save`](SequenceState::save) into a state that is empty so far.
    pub(super) fn load(mut self, bytes: &[u8]) -> Option<Self> {
        let mut reader = StateReader::new(bytes)?;
        self.n_positions = reader.n_positions();
        self.layers.iter_mut().try_for_each(|layer| layer.load(&mut reader))?;
        reader.is_at_end().then_some(self)
    }
}

impl NativeLayerState {
    fn load(&mut self, reader: &mut StateReader<'_>) -> Option<()> {
        match self {
            Self::Convolution(window) => window.load(reader)?,
            Self::DeltaNet(window, memory) => {
                window.load(reader)?;
                reader.expect_layer(SavedLayerKind::DELTA_NET, memory_sizes(memory))?;
                *memory = DeltaMemory::from_floats(memory.shape(), reader.values(&memory_sizes(memory))?)?;
            }
            Self::Attention(past) => {
                let CacheShape { n_heads, head_dim, cache_type } = past.shape();
                reader.expect_layer(attention(cache_type), [n_heads, head_dim])?;
                let shape = [n_heads, reader.n_positions(), head_dim];
                let (keys, values) = (reader.values(&shape)?, reader.values(&shape)?);
                past.reserve(reader.n_positions()).ok()?;
                past.append_heads(&keys, &values);
            }
            Self::Shared => {}
        }
        Some(())
    }

    fn save(&self, writer: &mut StateWriter) {
        match self {
            Self::Convolution(window) => window.save(writer),
            Self::DeltaNet(window, memory) => {
                window.save(writer);
                writer.layer(SavedLayerKind::DELTA_NET, memory_sizes(memory), &[&memory.to_floats()]);
            }
            Self::Attention(past) => {
                let CacheShape { n_heads, head_dim, cache_type } = past.shape();
                let (keys, values) = past.to_floats();
                writer.layer(attention(cache_type), [n_heads, head_dim], &[&keys, &values]);
            }
            Self::Shared => {}
        }
    }
}

/// The kind of attention with this storage format.
fn attention(cache_type: CacheType) -> SavedLayerKind {
    match cache_type {
        CacheType::F32 => SavedLayerKind::ATTENTION_F32,
        CacheType::F16 => SavedLayerKind::ATTENTION_F16,
        CacheType::Q8_0 => SavedLayerKind::ATTENTION_Q8_0,
    }
}

impl SequenceState for NativeState {
    fn n_positions(&self) -> usize {
        self.n_positions
    }

    fn can_be_cut(&self) -> bool {
        let can_be_cut = |layer| matches!(layer, &NativeLayerState::Attention(_) | &NativeLayerState::Shared);
        self.layers.iter().all(can_be_cut)
    }

    fn cut(&self, n_positions: usize) -> Option<Box<dyn SequenceState>> {
        let n_back = self.n_positions.checked_sub(n_positions)?;
        let cut = |layer: &NativeLayerState| match layer {
            NativeLayerState::Attention(past) => past.cut(n_positions).map(NativeLayerState::Attention),
            NativeLayerState::Convolution(window) => window.before(n_back).map(NativeLayerState::Convolution),
            NativeLayerState::Shared => Some(NativeLayerState::Shared),
            NativeLayerState::DeltaNet(window, memory) => {
                Some(NativeLayerState::DeltaNet(window.before(n_back)?, memory.without(n_back)?))
            }
        };
        let layers = self.layers.iter().map(cut).collect::<Option<_>>()?;
        Some(Box::new(Self { layers, n_positions }))
    }

    fn n_bytes(&self, counted: &mut HashSet<usize>) -> usize {
        let n_bytes = |layer: &NativeLayerState| match layer {
            NativeLayerState::Convolution(window) => window.n_bytes(),
            NativeLayerState::Attention(past) => {
                past.page_ids().filter(|page| counted.insert(*page)).count() * past.shape().page_bytes()
            }
            NativeLayerState::Shared => 0,
            NativeLayerState::DeltaNet(window, memory) => {
                window.n_bytes() + memory.n_bytes(|matrices| counted.insert(matrices))
            }
        };
        self.layers.iter().map(n_bytes).sum()
    }

    fn save(&self) -> Result<Option<Vec<u8>>> {
        let mut writer = StateWriter::new(self.n_positions);
        self.layers.iter().for_each(|layer| layer.save(&mut writer));
        Ok(Some(writer.finish()))
    }

    fn clone_box(&self) -> Box<dyn SequenceState> {
        Box::new(self.clone())
    }
}
