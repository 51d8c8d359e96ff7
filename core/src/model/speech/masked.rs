//! LFM3-Audio's writer of frames: a small network of which all positions, one for each codebook, attend to each other. It begins with
//! masks for all codes, and reveals a third of them in each of three passes, in an order that is drawn.

use parking_lot::Mutex;

use crate::checkpoint::MaskedCheckpoint;
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::linear::Linear;
use crate::model::network::Inputs;
use crate::model::operations::Operations;
use crate::model::pass::{Buffers, StackSequence};
use crate::model::speech::frames::{FrameChooser, FrameNetwork, places_in_table, sum_of_rows};
use crate::model::stack::Stack;
use crate::weights::{MatrixPlace, TensorPart};

/// Passes of a frame.
const N_PASSES: usize = 3;

pub(super) struct MaskedFrames<O: Operations> {
    operations: O,
    /// `(codebooks * width, hidden)`
    input: Linear<O>,
    stack: Stack<O>,
    output_norm: O::Vector,
    codebooks: Vec<MaskedCodebook<O>>,
    /// What stands for a code that is not known yet.
    mask: Vec<f32>,
    /// The rows of all codes of all codebooks in the decoder's inputs, `(codebooks * codes, hidden)`.
    sums: O::Matrix,
    n_codes: usize,
    width: usize,
    buffers: Mutex<MaskedBuffers<O>>,
}

struct MaskedCodebook<O: Operations> {
    /// `(codes, width)`: embeddings, which also give the logits.
    embedding: Linear<O>,
    norm: O::Vector,
}

struct MaskedBuffers<O: Operations> {
    stack: Buffers<O>,
    normed: O::Rows,
    row: O::Rows,
}

impl<O: Operations> Default for MaskedBuffers<O> {
    fn default() -> Self {
        Self { stack: Buffers::default(), normed: O::Rows::default(), row: O::Rows::default() }
    }
}

impl<O: Operations> MaskedFrames<O> {
    pub(super) fn load(operations: O, checkpoint: &MaskedCheckpoint) -> Result<Self> {
        let MaskedCheckpoint { architecture, tensors, n_codebooks, width, hidden, n_codes, .. } = checkpoint;
        let (n_codebooks, width, hidden, n_codes) = (*n_codebooks, *width, *hidden, *n_codes);
        let matrix = |name: &str, shape: (usize, usize), part: TensorPart| {
            operations.matrix(tensors, &MatrixPlace { name, shape, part })
        };
        let norms = tensors.floats("head_norm.weight", &[n_codebooks, width])?;
        let codebook = |(index, norm): (usize, &[f32])| {
            let part = TensorPart::OfStack { index, n_matrices: n_codebooks };
            let weight = matrix("embd.weight", (n_codes, width), part)?;
            Ok(MaskedCodebook { embedding: Linear { weight, bias: None }, norm: operations.vector(norm.to_vec())? })
        };
        let rows = n_codebooks * width;
        let bias = operations.vector(tensors.floats("proj_in.bias", &[rows])?)?;
        Ok(Self {
            input: Linear { weight: matrix("proj_in.weight", (rows, hidden), TensorPart::Whole)?, bias: Some(bias) },
            stack: Stack::load(
                &operations,
                tensors,
                architecture,
                width,
                &mut |_| std::ops::ControlFlow::Continue(()),
            )?,
            output_norm: operations.vector(tensors.floats("output_norm.weight", &[width])?)?,
            codebooks: norms.chunks_exact(width).enumerate().map(codebook).collect::<Result<_>>()?,
            mask: tensors.floats("mask_embd", &[width])?,
            sums: matrix("out_embd.weight", (n_codebooks * n_codes, hidden), TensorPart::Whole)?,
            n_codes,
            width,
            buffers: Mutex::default(),
            operations,
        })
    }

    /// The values of the input map for a vector of the decoder, `(codebooks, width)`.
    fn inputs(&self, hidden: &[f32], buffers: &mut Buffers<O>) -> Result<Vec<f32>> {
        let Buffers { stream, inputs, mixed, .. } = buffers;
        let mut values = Vec::new();
        self.operations.embed(&self.sums, &[Inputs::Rows { rows: hidden, n_rows: 1 }], 1.0, stream)?;
        self.operations.inputs(stream, &[&self.input], inputs)?;
        self.operations.product(inputs, [(&self.input, &mut *mixed)])?;
        self.operations.read(mixed, 0..1, &mut values)?;
        Ok(values)
    }

    /// Computes all positions, of which some codes are known, into the rows after the output norm.
    fn pass(&self, inputs: &[f32], codes: &[Option<u32>], buffers: &mut MaskedBuffers<O>) -> Result<()> {
        let (operations, MaskedBuffers { stack: buffers, normed, .. }) = (&self.operations, buffers);
        let mut rows = inputs.to_vec();
        for ((row, code), codebook) in rows.chunks_exact_mut(self.width).zip(codes).zip(&self.codebooks) {
            let mut embedding = Vec::new();
            let embedding = match code {
                None => &self.mask,
                Some(code) => {
                    let table = &codebook.embedding.weight;
                    operations.embed(table, &[Inputs::Tokens(&[*code])], 1.0, &mut buffers.stream)?;
                    operations.read(&buffers.stream, 0..1, &mut embedding)?;
                    &embedding
                }
            };
            row.iter_mut().zip(embedding).for_each(|(to, value)| *to += value);
        }
        let Some(MaskedCodebook { embedding, .. }) = self.codebooks.first() else { return Ok(()) };
        let n_rows = codes.len();
        operations.embed(&embedding.weight, &[Inputs::Rows { rows: &rows, n_rows }], 1.0, &mut buffers.stream)?;
        let state = &mut self.stack.empty_state(operations)?;
        self.stack.forward(operations, &mut [StackSequence { rows: 0..n_rows, state, content: None }], buffers)?;
        operations.norm(&buffers.stream, (&self.output_norm, self.stack.norm_eps), &[], &mut buffers.inputs)?;
        operations.input_rows(&buffers.inputs, normed)
    }

    /// The logits of a codebook after a pass.
    fn logits(&self, codebook: usize, buffers: &mut MaskedBuffers<O>) -> Result<Vec<f32>> {
        let (operations, MaskedBuffers { stack: Buffers { inputs, mixed, .. }, normed, row }) =
            (&self.operations, buffers);
        let (mut logits, MaskedCodebook { embedding, norm }) = (Vec::new(), &self.codebooks[codebook]);
        let of_codebook = codebook..codebook + 1;
        operations.select(normed, &[of_codebook], row)?;
        operations.norm(row, (norm, self.stack.norm_eps), &[embedding], inputs)?;
        operations.product(inputs, [(embedding, &mut *mixed)])?;
        operations.read(mixed, 0..1, &mut logits)?;
        Ok(logits)
    }

    /// The logits of all codebooks where some codes are known.
    #[cfg(test)]
    pub(super) fn all_logits(&self, hidden: &[f32], codes: &[Option<u32>]) -> Result<Vec<Vec<f32>>> {
        let mut buffers = self.buffers.lock();
        let inputs = self.inputs(hidden, &mut buffers.stack)?;
        self.pass(&inputs, codes, &mut buffers)?;
        (0..codes.len()).map(|codebook| self.logits(codebook, &mut buffers)).collect()
    }
}

impl<O: Operations> FrameNetwork for MaskedFrames<O> {
    fn n_codebooks(&self) -> usize {
        self.codebooks.len()
    }

    fn end_code(&self) -> u32 {
        self.n_codes as u32 - 1 // a codebook has at least two codes, and its table fits in memory
    }

    fn ends_sound(&self, frame: &[u32]) -> bool {
        frame.contains(&self.end_code())
    }

    fn frame(&self, hidden: &[f32], chooser: &mut dyn FrameChooser) -> Result<Vec<u32>> {
        let mut buffers = self.buffers.lock();
        let n_codebooks = self.codebooks.len();
        let inputs = self.inputs(hidden, &mut buffers.stack)?;
        let (order, mut codes) = (chooser.order(n_codebooks), vec![None; n_codebooks]);
        for revealed in order.chunks(n_codebooks.div_ceil(N_PASSES)) {
            self.pass(&inputs, &codes, &mut buffers)?;
            for codebook in revealed {
                let mut logits = self.logits(*codebook, &mut buffers)?;
                codes[*codebook] = Some(chooser.code(*codebook, &mut logits)?);
            }
        }
        let missing = || SdkError::new(ErrorKind::Internal, "the order of codebooks must have each of them");
        codes.into_iter().collect::<Option<Vec<u32>>>().ok_or_else(missing)
    }

    fn row(&self, frame: &[u32]) -> Result<Vec<f32>> {
        let mut buffers = self.buffers.lock();
        let (ids, mut rows) = (places_in_table(frame, self.n_codes), Vec::new());
        let stream = &mut buffers.stack.stream;
        self.operations.embed(&self.sums, &[Inputs::Tokens(&ids)], 1.0, stream)?;
        self.operations.read(stream, 0..ids.len(), &mut rows)?;
        Ok(sum_of_rows(&rows, rows.len() / ids.len().max(1)))
    }
}
