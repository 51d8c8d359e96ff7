//! The decoder: tokens in, logits out, over the keys and values of a window of sound.

use std::ops::Range;

use crate::error::Result;
use crate::model::network::Inputs;
use crate::model::operations::{AttentionPart, SequencePart, Sight};
use crate::model::whisper::encoder::{WhisperBuffers, plainly, scale};
use crate::model::whisper::operations::SpeechOperations;
use crate::model::whisper::weights::{AttentionWeights, TextLayer, WhisperWeights};

impl<O: SpeechOperations> TextLayer<O> {
    /// Adds the layer's outputs to the residual stream. The keys and values of the text so far grow.
    fn forward(
        &self,
        operations: &O,
        stream: &mut O::Rows,
        n_rows: usize,
        (past, heard): (&mut O::KeyValues, &O::KeyValues),
        buffers: &mut WhisperBuffers<O>,
    ) -> Result<()> {
        let WhisperBuffers { inputs, projected: [queries, keys, values], mixed } = buffers;
        let AttentionWeights { norm, query, key, value, out, heads } = &self.attention;
        norm.apply(operations, stream, &[query, key, value], inputs)?;
        operations.product(inputs, [(query, &mut *queries), (key, &mut *keys), (value, &mut *values)])?;
        operations.append(SequencePart { rows: 0..n_rows, memory: &mut *past }, keys, values)?;
        let sight = Sight { window: None, n_after: None, scale: scale(&self.attention) };
        let part = AttentionPart { rows: 0..n_rows, past: &*past, is_two_way: false };
        operations.attention(queries, &[part], *heads, sight, mixed)?;
        operations.inputs(mixed, &[out], inputs)?;
        operations.add_product(inputs, out, plainly(), queries, stream)?;

        let AttentionWeights { norm, query, out, heads, .. } = &self.cross;
        norm.apply(operations, stream, &[query], inputs)?;
        operations.product(inputs, [(query, &mut *queries)])?;
        operations.bidirectional_attention(queries, heard, *heads, scale(&self.cross), mixed)?;
        operations.inputs(mixed, &[out], inputs)?;
        operations.add_product(inputs, out, plainly(), queries, stream)?;
        self.block.add(operations, stream, buffers)
    }

    /// Appends the keys and values of some rows of the encoder.
    pub(super) fn hear(
        &self,
        operations: &O,
        (rows, n_rows): (&O::Rows, usize),
        heard: &mut O::KeyValues,
        buffers: &mut WhisperBuffers<O>,
    ) -> Result<()> {
        let WhisperBuffers { inputs, projected: [_, keys, values], .. } = buffers;
        let AttentionWeights { key, value, .. } = &self.cross;
        operations.inputs(rows, &[key, value], inputs)?;
        operations.product(inputs, [(key, &mut *keys), (value, &mut *values)])?;
        operations.append(SequencePart { rows: 0..n_rows, memory: heard }, keys, values)
    }
}

/// What the decoder remembers: of the text so far, and of the sound.
pub(super) struct TextMemory<'a, K> {
    pub(super) past: &'a mut [K],
    pub(super) heard: &'a [K],
}

impl<O: SpeechOperations> WhisperWeights<O> {
    /// Computes tokens at these positions, and the logits of some of them.
    pub(super) fn write(
        &self,
        operations: &O,
        (tokens, positions): (&[u32], Range<usize>),
        memory: TextMemory<'_, O::KeyValues>,
        wanted: &[Range<usize>],
        buffers: &mut WhisperBuffers<O>,
    ) -> Result<Vec<f32>> {
        let (mut stream, mut rows) = (O::Rows::default(), O::Rows::default());
        operations.embed(&self.tokens.weight, &[Inputs::Tokens(tokens)], 1.0, &mut stream)?;
        self.text_positions.upload(operations, positions, &mut rows)?;
        operations.add_rows(&rows, &mut stream)?;
        for ((layer, past), heard) in self.text_layers.iter().zip(memory.past).zip(memory.heard) {
            layer.forward(operations, &mut stream, tokens.len(), (past, heard), buffers)?;
        }
        operations.select(&stream, wanted, &mut rows)?;
        self.text_norm.apply(operations, &rows, &[&self.tokens], &mut buffers.inputs)?;
        let [logits, ..] = &mut buffers.projected;
        operations.product(&buffers.inputs, [(&self.tokens, &mut *logits)])?;
        let mut values = Vec::new();
        operations.read(logits, 0..wanted.iter().map(Range::len).sum(), &mut values)?;
        Ok(values)
    }
}
