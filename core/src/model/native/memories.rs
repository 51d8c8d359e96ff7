//! What layers remember of a sequence on the CPU.
//!
//! Keys and values lie in pages that clones share. When two sequences continue differently from one snapshot, one of them
//! copies the page in which they differ. The matrices of delta nets are shared likewise, until one of both goes on.

use std::collections::HashSet;

use causerie_backend::{CacheShape, CacheType, DeltaMemory, KeyValues};

use crate::error::Result;
use crate::model::operations::LayerMemory;
use crate::model::saved_state::{SavedLayerKind, StateReader, StateWriter};

/// The last inputs of a convolution.
#[derive(Clone)]
pub(crate) struct ConvolutionWindow {
    /// `(window - 1, channels)`, oldest first.
    pub(super) inputs: Vec<f32>,
    n_channels: usize,
    /// The inputs before the last step, then the inputs of the step; `Some` if the state may be cut back into the step.
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

    /// Rows and columns of the inputs.
    fn sizes(&self) -> [usize; 2] {
        [self.inputs.len() / self.n_channels.max(1), self.n_channels]
    }
}

impl LayerMemory for ConvolutionWindow {
    const CAN_BE_CUT: bool = false;

    fn expect_cut(&mut self, is_expected: bool) {
        self.last_step = is_expected.then(Vec::new);
    }

    fn cut(&self, _: usize, n_back: usize) -> Option<Self> {
        let inputs = match &self.last_step {
            _ if n_back == 0 => self.inputs.clone(),
            None => return None,
            Some(last_step) => {
                let end = last_step.len().checked_sub(n_back * self.n_channels)?;
                last_step[end.checked_sub(self.inputs.len())?..end].to_vec()
            }
        };
        Some(Self { inputs, n_channels: self.n_channels, last_step: None })
    }

    fn n_bytes(&self, _: &mut HashSet<usize>) -> usize {
        size_of_val(self.inputs.as_slice())
    }

    fn save(&self, writer: &mut StateWriter) -> Result<()> {
        writer.layer(SavedLayerKind::CONVOLUTION, self.sizes(), &[&self.inputs]);
        Ok(())
    }

    fn load(&mut self, reader: &mut StateReader<'_>) -> Option<()> {
        reader.expect_layer(SavedLayerKind::CONVOLUTION, self.sizes())?;
        self.inputs = reader.values(&self.sizes())?;
        Some(())
    }
}

impl LayerMemory for KeyValues {
    const CAN_BE_CUT: bool = true;

    fn expect_cut(&mut self, _: bool) {}

    fn cut(&self, n_positions: usize, _: usize) -> Option<Self> {
        self.cut(n_positions)
    }

    fn keep_last(&mut self, n_positions: usize) {
        self.keep_last(n_positions);
    }

    fn n_bytes(&self, counted: &mut HashSet<usize>) -> usize {
        self.page_ids().filter(|page| counted.insert(*page)).count() * self.shape().page_bytes()
    }

    fn save(&self, writer: &mut StateWriter) -> Result<()> {
        let CacheShape { n_heads, head_dim, cache_type } = self.shape();
        let (keys, values) = self.to_floats();
        writer.layer(kind(cache_type), [n_heads, head_dim], &[&keys, &values]);
        Ok(())
    }

    fn load(&mut self, reader: &mut StateReader<'_>) -> Option<()> {
        let CacheShape { n_heads, head_dim, cache_type } = self.shape();
        reader.expect_layer(kind(cache_type), [n_heads, head_dim])?;
        let shape = [n_heads, reader.n_positions(), head_dim];
        let (keys, values) = (reader.values(&shape)?, reader.values(&shape)?);
        self.reserve(reader.n_positions()).ok()?;
        self.append_heads(&keys, &values);
        Some(())
    }
}

impl LayerMemory for DeltaMemory {
    const CAN_BE_CUT: bool = false;

    fn expect_cut(&mut self, is_expected: bool) {
        self.expect_undo(is_expected);
    }

    fn cut(&self, _: usize, n_back: usize) -> Option<Self> {
        self.without(n_back)
    }

    fn n_bytes(&self, counted: &mut HashSet<usize>) -> usize {
        self.n_bytes(|matrices| counted.insert(matrices))
    }

    fn save(&self, writer: &mut StateWriter) -> Result<()> {
        writer.layer(SavedLayerKind::DELTA_NET, sizes(self), &[&self.to_floats()]);
        Ok(())
    }

    fn load(&mut self, reader: &mut StateReader<'_>) -> Option<()> {
        reader.expect_layer(SavedLayerKind::DELTA_NET, sizes(self))?;
        *self = Self::from_floats(self.shape(), reader.values(&sizes(self))?)?;
        Some(())
    }
}

/// Value heads of a delta net, and the elements of a matrix.
fn sizes(memory: &DeltaMemory) -> [usize; 2] {
    let shape = memory.shape();
    [shape.n_values, shape.key_dim * shape.value_dim]
}

/// The kind of attention with this storage format.
fn kind(cache_type: CacheType) -> SavedLayerKind {
    match cache_type {
        CacheType::F32 => SavedLayerKind::ATTENTION_F32,
        CacheType::F16 => SavedLayerKind::ATTENTION_F16,
        CacheType::Q8_0 => SavedLayerKind::ATTENTION_Q8_0,
    }
}
