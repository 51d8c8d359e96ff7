//! The detokenizer of LFM2.5-Audio, and that of LFM3-Audio: six positions of a small decoder for each frame of codes, each of which gives
//! the spectrum of one window of sound.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::checkpoint::{CodeRows, DetokenizerCheckpoint};
use crate::error::{Result, SdkError};
use crate::media::sound::InverseStft;
use crate::model::linear::Linear;
use crate::model::network::Inputs;
use crate::model::pass::{Buffers, DecoderState, StackSequence};
use crate::model::speech::codec::{LoadedCodec, SpokenStream};
use crate::model::speech::frames::places_in_table;
use crate::model::speech::operations::CodecOperations;
use crate::model::stack::Stack;
use crate::weights::{MatrixPlace, TensorPart};

/// Positions of a frame.
const UPSAMPLING: usize = 6;
/// Samples of a window, and between the beginnings of two windows.
const WINDOW: usize = 1280;
const HOP: usize = 320;
/// Values of a spectrum: logarithms of magnitudes, then phases.
const SPECTRUM: usize = 2 * (WINDOW / 2 + 1);

pub(super) struct Detokenizer<O: CodecOperations> {
    operations: O,
    codes: CodeTable<O>,
    stack: Stack<O>,
    output_norm: O::Vector,
    /// `(SPECTRUM, width)`
    spectrum: Linear<O>,
    n_codes: usize,
    width: usize,
    buffers: Mutex<Buffers<O>>,
}

/// What the codes of a frame become a row by.
enum CodeTable<O: CodecOperations> {
    /// The embeddings of all codes of all codebooks, `(codebooks * codes, width)`.
    Embeddings(O::Matrix),
    Levels {
        /// The levels of all codes, `(codes, levels)`.
        levels: Vec<f32>,
        n_levels: usize,
        /// From the levels of all codebooks, and then to a row.
        maps: [Linear<O>; 2],
    },
}

struct DetokenizerStream<O: CodecOperations> {
    detokenizer: Arc<Detokenizer<O>>,
    state: DecoderState<O>,
    stft: InverseStft,
}

impl<O: CodecOperations> Detokenizer<O> {
    pub(super) fn load(operations: O, checkpoint: &DetokenizerCheckpoint) -> Result<Self> {
        let DetokenizerCheckpoint { architecture, tensors, codes, n_codebooks, n_codes, width } = checkpoint;
        let matrix = |name: &str, shape: (usize, usize)| {
            operations.matrix(tensors, &MatrixPlace { name, shape, part: TensorPart::Whole })
        };
        let linear = |name: &str, shape: (usize, usize)| {
            let bias = operations.vector(tensors.floats(&format!("{name}.bias"), &[shape.0])?)?;
            Ok::<_, SdkError>(Linear { weight: matrix(&format!("{name}.weight"), shape)?, bias: Some(bias) })
        };
        Ok(Self {
            codes: match *codes {
                CodeRows::Embeddings => CodeTable::Embeddings(matrix("codes.weight", (n_codebooks * n_codes, *width))?),
                CodeRows::Levels { n_levels, inner } => CodeTable::Levels {
                    levels: tensors.floats("levels.weight", &[*n_codes, n_levels])?,
                    n_levels,
                    maps: [linear("levels_out", (inner, n_codebooks * n_levels))?, linear("rows", (*width, inner))?],
                },
            },
            output_norm: operations.vector(tensors.floats("output_norm.weight", &[*width])?)?,
            spectrum: linear("spectrum", (SPECTRUM, *width))?,
            stack: Stack::load(&operations, tensors, architecture, *width, &mut |_| {
                std::ops::ControlFlow::Continue(())
            })?,
            n_codes: *n_codes,
            width: *width,
            buffers: Mutex::default(),
            operations,
        })
    }

    /// Writes the row of a frame as the stream, once for each of its positions.
    fn embed(&self, frame: &[u32], buffers: &mut Buffers<O>) -> Result<()> {
        let (operations, mut row) = (&self.operations, Vec::new());
        match &self.codes {
            CodeTable::Embeddings(table) => {
                let (ids, mut rows) = (places_in_table(frame, self.n_codes), Vec::new());
                operations.embed(table, &[Inputs::Tokens(&ids)], 1.0, &mut buffers.stream)?;
                operations.read(&buffers.stream, 0..ids.len(), &mut rows)?;
                row.resize(self.width, 0.0);
                for code in rows.chunks_exact(self.width) {
                    row.iter_mut().zip(code).for_each(|(mean, value)| *mean += value / ids.len() as f32);
                }
            }
            CodeTable::Levels { levels, n_levels, maps: [first, second] } => {
                let of_code = |code: &u32| &levels[*code as usize * n_levels..][..*n_levels];
                let levels: Vec<f32> = frame.iter().flat_map(of_code).copied().collect();
                let Buffers { stream, inputs, mixed, .. } = &mut *buffers;
                operations.upload((1, levels.len()), |_, row| row.copy_from_slice(&levels), stream)?;
                for map in [first, second] {
                    operations.inputs(stream, &[map], inputs)?;
                    operations.product(inputs, [(map, &mut *mixed)])?;
                    std::mem::swap(stream, mixed);
                }
                operations.read(stream, 0..1, &mut row)?;
            }
        }
        operations.upload((UPSAMPLING, self.width), |_, to| to.copy_from_slice(&row), &mut buffers.stream)
    }
}

impl<O: CodecOperations> LoadedCodec for Detokenizer<O> {
    fn begin(self: Arc<Self>) -> Result<Box<dyn SpokenStream>> {
        let state = self.stack.empty_state(&self.operations)?;
        Ok(Box::new(DetokenizerStream { state, stft: InverseStft::new(WINDOW, HOP), detokenizer: self }))
    }
}

impl<O: CodecOperations> SpokenStream for DetokenizerStream<O> {
    fn push(&mut self, frame: &[u32]) -> Result<Vec<f32>> {
        let Detokenizer { operations, stack, output_norm, spectrum, buffers, .. } = &*self.detokenizer;
        let buffers = &mut *buffers.lock();
        self.detokenizer.embed(frame, buffers)?;
        let sequence = StackSequence { rows: 0..UPSAMPLING, state: &mut self.state, content: None };
        stack.forward(operations, &mut [sequence], buffers)?;
        stack.release_unseen(&mut self.state);
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
