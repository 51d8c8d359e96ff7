//! LFM2-Audio's depthformer: the codes of a frame, one codebook after the other, each by a step of a small decoder.
//!
//! `z_0 … z_n = input(hidden)`; for codebook `i`, `x = stack(z_i + embedding_(i-1)(code_(i-1)))` at position `i`, and its logits are
//! `head_i(norm_i(x))`.

use parking_lot::Mutex;

use crate::checkpoint::DepthformerCheckpoint;
use crate::error::Result;
use crate::model::linear::Linear;
use crate::model::network::Inputs;
use crate::model::operations::Operations;
use crate::model::pass::{Buffers, StackSequence};
use crate::model::speech::frames::{FrameChooser, FrameNetwork, places_in_table, sum_of_rows};
use crate::model::stack::Stack;
use crate::weights::{MatrixPlace, TensorPart};

pub(super) struct Depthformer<O: Operations> {
    operations: O,
    /// `(codebooks * width, hidden)`
    input: Linear<O>,
    stack: Stack<O>,
    codebooks: Vec<Codebook<O>>,
    /// The rows of all codes of all codebooks in the decoder's inputs, `(codebooks * codes, hidden)`.
    sums: O::Matrix,
    n_codes: usize,
    width: usize,
    buffers: Mutex<Buffers<O>>,
}

struct Codebook<O: Operations> {
    /// `(codes, width)`
    embedding: Linear<O>,
    norm: O::Vector,
    /// `None` if the embedding also gives the logits.
    head: Option<Linear<O>>,
}

impl<O: Operations> Depthformer<O> {
    pub(super) fn load(operations: O, checkpoint: &DepthformerCheckpoint) -> Result<Self> {
        let DepthformerCheckpoint { architecture, tensors, n_codebooks, width, hidden, n_codes } = checkpoint;
        let matrix = |name: &str, shape: (usize, usize)| {
            operations.matrix(tensors, &MatrixPlace { name, shape, part: TensorPart::Whole })
        };
        let linear = |name: &str| Ok(Linear { weight: matrix(name, (*n_codes, *width))?, bias: None });
        let codebook = |at: usize| {
            let name = |part: &str| format!("depth_embeddings.{at}.{part}.weight");
            let has_head = tensors.shape(&name("to_logits")).is_some();
            Ok(Codebook {
                embedding: linear(&name("embedding"))?,
                norm: operations.vector(tensors.floats(&name("embedding_norm"), &[*width])?)?,
                head: has_head.then(|| linear(&name("to_logits"))).transpose()?,
            })
        };
        let rows = n_codebooks * width;
        let bias = operations.vector(tensors.floats("depth_linear.bias", &[rows])?)?;
        Ok(Self {
            input: Linear { weight: matrix("depth_linear.weight", (rows, *hidden))?, bias: Some(bias) },
            codebooks: (0..*n_codebooks).map(codebook).collect::<Result<_>>()?,
            sums: matrix("audio_embedding.embedding.weight", (n_codebooks * n_codes, *hidden))?,
            stack: Stack::load(&operations, tensors, architecture, *width, &mut |_| {
                std::ops::ControlFlow::Continue(())
            })?,
            n_codes: *n_codes,
            width: *width,
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

    /// Adds the embedding of a code to a row.
    fn add_embedding(&self, table: &O::Matrix, code: u32, buffers: &mut Buffers<O>, row: &mut [f32]) -> Result<()> {
        let mut embedding = Vec::new();
        self.operations.embed(table, &[Inputs::Tokens(&[code])], 1.0, &mut buffers.stream)?;
        self.operations.read(&buffers.stream, 0..1, &mut embedding)?;
        row.iter_mut().zip(embedding).for_each(|(to, value)| *to += value);
        Ok(())
    }
}

impl<O: Operations> FrameNetwork for Depthformer<O> {
    fn n_codebooks(&self) -> usize {
        self.codebooks.len()
    }

    fn end_code(&self) -> u32 {
        self.n_codes as u32 - 1 // a codebook has at least one code, and its table fits in memory
    }

    fn ends_sound(&self, frame: &[u32]) -> bool {
        frame.first() == Some(&self.end_code())
    }

    fn frame(&self, hidden: &[f32], chooser: &mut dyn FrameChooser) -> Result<Vec<u32>> {
        let mut buffers = self.buffers.lock();
        let mut state = self.stack.empty_state(&self.operations)?;
        let mut rows = self.inputs(hidden, &mut buffers)?;
        let (mut codes, mut logits) = (Vec::with_capacity(self.codebooks.len()), Vec::new());
        for (at, (codebook, row)) in self.codebooks.iter().zip(rows.chunks_exact_mut(self.width)).enumerate() {
            if let (Some(code), Some(before)) = (codes.last(), at.checked_sub(1)) {
                self.add_embedding(&self.codebooks[before].embedding.weight, *code, &mut buffers, row)?;
            }
            let step = [Inputs::Rows { rows: row, n_rows: 1 }];
            self.operations.embed(&codebook.embedding.weight, &step, 1.0, &mut buffers.stream)?;
            let sequence = StackSequence { rows: 0..1, state: &mut state, content: None };
            self.stack.forward(&self.operations, &mut [sequence], &mut buffers)?;
            let Buffers { stream, inputs, mixed, .. } = &mut *buffers;
            let head = codebook.head.as_ref().unwrap_or(&codebook.embedding);
            self.operations.norm(stream, (&codebook.norm, self.stack.norm_eps), &[head], inputs)?;
            self.operations.product(inputs, [(head, &mut *mixed)])?;
            logits.clear();
            self.operations.read(mixed, 0..1, &mut logits)?;
            codes.push(chooser.code(at, &mut logits)?);
        }
        Ok(codes)
    }

    fn row(&self, frame: &[u32]) -> Result<Vec<f32>> {
        let mut buffers = self.buffers.lock();
        let (ids, mut rows) = (places_in_table(frame, self.n_codes), Vec::new());
        let stream = &mut buffers.stream;
        self.operations.embed(&self.sums, &[Inputs::Tokens(&ids)], 1.0, stream)?;
        self.operations.read(stream, 0..ids.len(), &mut rows)?;
        Ok(sum_of_rows(&rows, rows.len() / ids.len().max(1)))
    }
}
