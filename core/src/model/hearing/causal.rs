//! The encoder of LFM3-Audio: convolutions, a stack of causal layers as decoders have, and an adapter. A piece of rows needs nothing of
//! later ones.

use std::mem;
use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::checkpoint::{CausalEncoderCheckpoint, HearingArchitecture};
use crate::error::Result;
use crate::model::hearing::adapter::{self, Adapter};
use crate::model::hearing::causal_subsampling::CausalSubsampling;
use crate::model::hearing::network::{LoadedEncoder, RecordingPass};
use crate::model::hearing::operations::SoundOperations;
use crate::model::hearing::reader::EncoderReader;
use crate::model::hearing::stream::EncoderBuffers;
use crate::model::hearing::subsampling::FRAMES;
use crate::model::pass::{Buffers, DecoderState, StackSequence};
use crate::model::stack::Stack;

/// Rows of a piece: ten seconds of sound.
const PIECE: usize = 128;

pub(super) struct CausalEncoder<O: SoundOperations> {
    operations: O,
    subsampling: CausalSubsampling<O>,
    stack: Stack<O>,
    output_norm: O::Vector,
    adapter: Adapter<O>,
    fingerprint: Vec<u8>,
    architecture: HearingArchitecture,
    buffers: Mutex<CausalBuffers<O>>,
}

/// The values of one recording.
pub(super) struct CausalRecording<O: SoundOperations> {
    encoder: Arc<CausalEncoder<O>>,
    /// `(frames, bins)`
    features: Vec<f32>,
    /// `None` before the first rows.
    state: Option<DecoderState<O>>,
    n_rows: usize,
    n_done: usize,
    values: Vec<f32>,
}

struct CausalBuffers<O: SoundOperations> {
    stack: Buffers<O>,
    encoder: EncoderBuffers<O>,
    normed: O::Rows,
}

impl<O: SoundOperations> Default for CausalBuffers<O> {
    fn default() -> Self {
        Self { stack: Buffers::default(), encoder: EncoderBuffers::default(), normed: O::Rows::default() }
    }
}

impl<O: SoundOperations> CausalEncoder<O> {
    pub(super) fn load(
        operations: O,
        checkpoint: &CausalEncoderCheckpoint,
        architecture: &HearingArchitecture,
    ) -> Result<Self> {
        let CausalEncoderCheckpoint { architecture: layers, tensors } = checkpoint;
        let reader = EncoderReader { operations: &operations, tensors, norm_eps: layers.norm_eps };
        let subsampling = CausalSubsampling::load(&reader, architecture.n_bins)?;
        let hidden = subsampling.hidden;
        let stack = Stack::load(&operations, tensors, layers, hidden, &mut |_| ControlFlow::Continue(()))?;
        let output_norm = reader.vector("a.post_ln.weight", hidden)?;
        let adapter = Adapter::load(&reader, hidden)?;
        let mut fingerprint = reader.fingerprint(&["a.conv1d.0", adapter::FIRST, adapter::SECOND])?;
        fingerprint.extend(format!("{architecture:?}").into_bytes());
        let architecture = architecture.clone();
        let buffers = Mutex::default();
        Ok(Self { subsampling, stack, output_norm, adapter, fingerprint, architecture, operations, buffers })
    }
}

impl<O: SoundOperations> LoadedEncoder for CausalEncoder<O> {
    fn architecture(&self) -> &HearingArchitecture {
        &self.architecture
    }

    fn row_size(&self) -> usize {
        self.adapter.row_size
    }

    fn fingerprint(&self) -> Vec<u8> {
        self.fingerprint.clone()
    }

    fn begin(self: Arc<Self>, features: Vec<f32>) -> Box<dyn RecordingPass> {
        Box::new(CausalRecording::new(self, features))
    }
}

impl<O: SoundOperations> CausalRecording<O> {
    pub(super) fn new(encoder: Arc<CausalEncoder<O>>, features: Vec<f32>) -> Self {
        let n_rows = (features.len() / encoder.architecture.n_bins).div_ceil(FRAMES);
        Self { encoder, features, state: None, n_rows, n_done: 0, values: Vec::new() }
    }

    /// Computes some rows, at least one.
    pub(super) fn compute(&mut self, n: usize) -> Result<()> {
        let CausalEncoder { operations, subsampling, stack, output_norm, adapter, buffers, .. } = &*self.encoder;
        let CausalBuffers { stack: buffers, encoder: between, normed } = &mut *buffers.lock();
        let rows = self.n_done..self.n_done + n;
        subsampling.apply(operations, &self.features, rows, between, &mut buffers.stream)?;
        let state = match &mut self.state {
            Some(state) => state,
            empty => empty.insert(stack.empty_state(operations)?),
        };
        stack.forward(operations, &mut [StackSequence { rows: 0..n, state: &mut *state, content: None }], buffers)?;
        stack.release_unseen(state);
        operations.norm(&buffers.stream, (output_norm, stack.norm_eps), &[], &mut buffers.inputs)?;
        operations.input_rows(&buffers.inputs, normed)?;
        adapter.apply(operations, (normed, n), between, &mut self.values)?;
        self.n_done += n;
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }
}

impl<O: SoundOperations> RecordingPass for CausalRecording<O> {
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>> {
        let n = PIECE.min(self.n_rows - self.n_done);
        if 0 < n {
            self.compute(n)?;
        }
        Ok((self.n_done == self.n_rows).then(|| mem::take(&mut self.values).into()))
    }
}
