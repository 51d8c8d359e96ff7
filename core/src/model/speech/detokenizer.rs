//! The detokenizer of LFM2.5-Audio: six positions of a small decoder for each frame of codes, each of which gives the spectrum of one
//! window of sound.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::checkpoint::CodecCheckpoint;
use crate::error::Result;
use crate::media::sound::InverseStft;
use crate::model::linear::Linear;
use crate::model::network::Inputs;
use crate::model::operations::Operations;
use crate::model::pass::{Buffers, DecoderState, StackSequence};
use crate::model::stack::Stack;
use crate::weights::{MatrixPlace, TensorPart};

/// Positions of a frame.
const UPSAMPLING: usize = 6;
/// Samples of a window, and between the beginnings of two windows.
const WINDOW: usize = 1280;
const HOP: usize = 320;
/// Values of a spectrum: logarithms of magnitudes, then phases.
const SPECTRUM: usize = 2 * (WINDOW / 2 + 1);
const SAMPLE_RATE: u32 = 24_000;

/// What turns frames of codes into sound. Clones share it.
#[derive(Clone)]
pub(crate) struct Codec(Arc<dyn LoadedCodec>);

/// The sound of one reply, frame by frame.
pub(crate) trait SpokenStream: Send {
    /// The samples that are complete with this frame.
    fn push(&mut self, frame: &[u32]) -> Result<Vec<f32>>;

    /// The samples that are left.
    fn finish(&mut self) -> Vec<f32>;
}

trait LoadedCodec: Send + Sync {
    fn begin(self: Arc<Self>) -> Result<Box<dyn SpokenStream>>;
}

struct Detokenizer<O: Operations> {
    operations: O,
    /// The embeddings of all codes of all codebooks, `(codebooks * codes, width)`.
    codes: O::Matrix,
    stack: Stack<O>,
    output_norm: O::Vector,
    /// `(SPECTRUM, width)`
    spectrum: Linear<O>,
    n_codes: usize,
    width: usize,
    buffers: Mutex<Buffers<O>>,
}

struct DetokenizerStream<O: Operations> {
    detokenizer: Arc<Detokenizer<O>>,
    state: DecoderState<O>,
    stft: InverseStft,
}

impl Codec {
    pub(super) fn load<O: Operations>(operations: O, checkpoint: &CodecCheckpoint) -> Result<Self> {
        Ok(Self(Arc::new(Detokenizer::load(operations, checkpoint)?)))
    }

    /// Samples per second.
    pub(crate) fn sample_rate(&self) -> u32 {
        SAMPLE_RATE
    }

    /// Begins the sound of a reply.
    pub(crate) fn begin(&self) -> Result<Box<dyn SpokenStream>> {
        Arc::clone(&self.0).begin()
    }
}

impl<O: Operations> Detokenizer<O> {
    fn load(operations: O, checkpoint: &CodecCheckpoint) -> Result<Self> {
        let CodecCheckpoint { architecture, tensors, n_codebooks, n_codes, width } = checkpoint;
        let matrix = |name: &str, shape: (usize, usize)| {
            operations.matrix(tensors, &MatrixPlace { name, shape, part: TensorPart::Whole })
        };
        let bias = operations.vector(tensors.floats("spectrum.bias", &[SPECTRUM])?)?;
        Ok(Self {
            codes: matrix("codes.weight", (n_codebooks * n_codes, *width))?,
            output_norm: operations.vector(tensors.floats("output_norm.weight", &[*width])?)?,
            spectrum: Linear { weight: matrix("spectrum.weight", (SPECTRUM, *width))?, bias: Some(bias) },
            stack: Stack::load(&operations, tensors, architecture, *width, &mut |_| {
                std::ops::ControlFlow::Continue(())
            })?,
            n_codes: *n_codes,
            width: *width,
            buffers: Mutex::default(),
            operations,
        })
    }

    /// The mean of the embeddings of a frame's codes.
    fn embedding(&self, frame: &[u32], buffers: &mut Buffers<O>) -> Result<Vec<f32>> {
        let ids: Vec<u32> = frame.iter().zip(0..).map(|(code, at)| code + at * self.n_codes as u32).collect();
        let mut rows = Vec::new();
        self.operations.embed(&self.codes, &[Inputs::Tokens(&ids)], 1.0, &mut buffers.stream)?;
        self.operations.read(&buffers.stream, 0..ids.len(), &mut rows)?;
        let mut mean = vec![0.0; self.width];
        for row in rows.chunks_exact(self.width) {
            mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += value / ids.len() as f32);
        }
        Ok(mean)
    }
}

impl<O: Operations> LoadedCodec for Detokenizer<O> {
    fn begin(self: Arc<Self>) -> Result<Box<dyn SpokenStream>> {
        let state = self.stack.empty_state(&self.operations)?;
        Ok(Box::new(DetokenizerStream { state, stft: InverseStft::new(WINDOW, HOP), detokenizer: self }))
    }
}

impl<O: Operations> SpokenStream for DetokenizerStream<O> {
    fn push(&mut self, frame: &[u32]) -> Result<Vec<f32>> {
        let Detokenizer { operations, codes, stack, output_norm, spectrum, buffers, .. } = &*self.detokenizer;
        let buffers = &mut *buffers.lock();
        let row = self.detokenizer.embedding(frame, buffers)?;
        let rows = row.repeat(UPSAMPLING);
        let step = [Inputs::Rows { rows: &rows, n_rows: UPSAMPLING }];
        operations.embed(codes, &step, 1.0, &mut buffers.stream)?;
        let sequence = StackSequence { rows: 0..UPSAMPLING, state: &mut self.state };
        stack.forward(operations, &mut [sequence], buffers)?;
        let Buffers { stream, inputs, mixed, .. } = buffers;
        operations.norm(stream, (output_norm, stack.norm_eps), &[spectrum], inputs)?;
        operations.product(inputs, [(spectrum, &mut *mixed)])?;
        let (mut spectra, mut samples) = (Vec::new(), Vec::new());
        operations.read(mixed, 0..UPSAMPLING, &mut spectra)?;
        for spectrum in spectra.chunks_exact(SPECTRUM) {
            let (magnitudes, phases) = spectrum.split_at(SPECTRUM / 2);
            samples.extend(self.stft.push_polar(magnitudes, phases));
        }
        Ok(samples)
    }

    fn finish(&mut self) -> Vec<f32> {
        self.stft.finish()
    }
}
