//! BERT: the embeddings of tokens, positions and types are added and normalised; then each layer adds attention to all tokens and
//! normalises, and adds a feed-forward block and normalises.

use std::ops::Range;

use crate::checkpoint::{BertArchitecture, invalid};
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::embedding::text::TextTokens;
use crate::model::heads::Heads;
use crate::model::linear::Linear;
use crate::model::network::{Inputs, PerSequence};
use crate::model::operations::{AttentionPart, Residual, SequencePart, Sight};
use crate::model::tower::TowerActivation;
use crate::model::whisper::SpeechOperations;
use crate::weights::{MatrixPlace, TensorPart, Tensors};

pub(super) struct BertWeights<B: Backend> {
    tokens: B::Matrix,
    positions: B::Matrix,
    types: B::Matrix,
    norm: BertNorm<B>,
    layers: Vec<BertLayer<B>>,
    pub(super) hidden: usize,
    pub(super) n_vocabulary: usize,
    pub(super) n_positions: usize,
    n_types: usize,
}

pub(super) struct BertNorm<B: Backend> {
    pub(super) weight: B::Vector,
    pub(super) bias: B::Vector,
    pub(super) epsilon: f32,
}

struct BertLayer<B: Backend> {
    query: Linear<B>,
    key: Linear<B>,
    value: Linear<B>,
    out: Linear<B>,
    attention_norm: BertNorm<B>,
    up: Linear<B>,
    down: Linear<B>,
    output_norm: BertNorm<B>,
    heads: Heads,
}

/// Values between operations, in memory that is reused.
pub(super) struct BertBuffers<O: SpeechOperations> {
    pub(super) stream: O::Rows,
    pub(super) inputs: O::Inputs,
    pub(super) projected: [O::Rows; 3],
    pub(super) mixed: O::Rows,
}

impl<O: SpeechOperations> Default for BertBuffers<O> {
    fn default() -> Self {
        Self {
            stream: O::Rows::default(),
            inputs: O::Inputs::default(),
            projected: <[O::Rows; 3]>::default(),
            mixed: O::Rows::default(),
        }
    }
}

impl<B: Backend> BertWeights<B> {
    pub(super) fn load(backend: &B, tensors: &Tensors, architecture: BertArchitecture) -> Result<Self> {
        let [n_vocabulary, hidden] = shape(tensors, "token_embd.weight")?;
        let [n_positions, _] = shape(tensors, "position_embd.weight")?;
        let [n_types, _] = shape(tensors, "token_types.weight")?;
        let BertArchitecture { n_layers, n_heads, norm_eps } = architecture;
        if !hidden.is_multiple_of(n_heads) || !(hidden / n_heads).is_multiple_of(2) {
            return Err(invalid(format!("the heads must divide {hidden} into even parts, found {n_heads}")));
        }
        let further = format!("blk.{n_layers}.attn_q.weight");
        if tensors.shape(&further).is_some() {
            let further = tensors.file_name(&further);
            return Err(invalid(format!(
                "the number of layers must count all layers that have tensors, found {n_layers} and tensor {further}"
            )));
        }
        let heads = Heads { n_queries: n_heads, n_keys: n_heads, head_dim: hidden / n_heads };
        let reader = BertReader { backend, tensors, hidden, norm_eps };
        let layer = |layer: usize| reader.layer(layer, heads);
        Ok(Self {
            tokens: reader.matrix("token_embd.weight", (n_vocabulary, hidden))?,
            positions: reader.matrix("position_embd.weight", (n_positions, hidden))?,
            types: reader.matrix("token_types.weight", (n_types, hidden))?,
            norm: reader.norm("token_embd_norm")?,
            layers: (0..n_layers).map(layer).collect::<Result<_>>()?,
            hidden,
            n_vocabulary,
            n_positions,
            n_types,
        })
    }
}

pub(super) fn shape(tensors: &Tensors, name: &str) -> Result<[usize; 2]> {
    match tensors.shape(name) {
        Some(&[rows, columns]) => Ok([rows, columns]),
        Some(found) => {
            let name = tensors.file_name(name);
            Err(invalid(format!("tensor {name} must be a matrix, found shape {found:?}")))
        }
        None => Err(tensors.missing(name)),
    }
}

/// Reads the tensors of a model.
pub(super) struct BertReader<'a, B> {
    pub(super) backend: &'a B,
    pub(super) tensors: &'a Tensors,
    pub(super) hidden: usize,
    pub(super) norm_eps: f32,
}

impl<B: Backend> BertReader<'_, B> {
    fn layer(&self, layer: usize, heads: Heads) -> Result<BertLayer<B>> {
        let hidden = self.hidden;
        let [width, _] = shape(self.tensors, &format!("blk.{layer}.ffn_up.weight"))?;
        let linear = |part: &str, shape: (usize, usize)| self.linear(&format!("blk.{layer}.{part}"), shape);
        Ok(BertLayer {
            query: linear("attn_q", (hidden, hidden))?,
            key: linear("attn_k", (hidden, hidden))?,
            value: linear("attn_v", (hidden, hidden))?,
            out: linear("attn_output", (hidden, hidden))?,
            attention_norm: self.norm(&format!("blk.{layer}.attn_output_norm"))?,
            up: linear("ffn_up", (width, hidden))?,
            down: linear("ffn_down", (hidden, width))?,
            output_norm: self.norm(&format!("blk.{layer}.layer_output_norm"))?,
            heads,
        })
    }

    pub(super) fn matrix(&self, name: &str, shape: (usize, usize)) -> Result<B::Matrix> {
        self.backend.matrix(self.tensors, &MatrixPlace { name, shape, part: TensorPart::Whole })
    }

    pub(super) fn linear(&self, name: &str, shape: (usize, usize)) -> Result<Linear<B>> {
        let bias = self.tensors.floats(&format!("{name}.bias"), &[shape.0])?;
        Ok(Linear { weight: self.matrix(&format!("{name}.weight"), shape)?, bias: Some(self.backend.vector(bias)?) })
    }

    pub(super) fn norm(&self, name: &str) -> Result<BertNorm<B>> {
        let values = |kind: &str| {
            self.tensors
                .floats(&format!("{name}.{kind}"), &[self.hidden])
                .and_then(|values| self.backend.vector(values))
        };
        Ok(BertNorm { weight: values("weight")?, bias: values("bias")?, epsilon: self.norm_eps })
    }
}

impl<O: SpeechOperations> BertNorm<O> {
    /// Normalises the residual stream in place.
    fn apply(&self, operations: &O, stream: &mut O::Rows, inputs: &mut O::Inputs) -> Result<()> {
        operations.layer_norm(stream, (&self.weight, self.epsilon), &self.bias, &[], inputs)?;
        operations.input_rows(inputs, stream)
    }
}

impl<O: SpeechOperations> BertWeights<O> {
    /// Computes the rows of texts, one below the other, as the stream in the buffers. All ids must be known.
    pub(super) fn forward(
        &self,
        operations: &O,
        texts: &[TextTokens<'_>],
        rows: &[Range<usize>],
        buffers: &mut BertBuffers<O>,
    ) -> Result<()> {
        let tokens: Vec<Inputs<'_>> = texts.iter().map(|text| Inputs::Tokens(text.ids)).collect();
        operations.embed(&self.tokens, &tokens, 1.0, &mut buffers.stream)?;
        // Positions stay below 2^32: they are rows of a tensor.
        let positions: Vec<u32> = rows.iter().flat_map(|rows| (0u32..).take(rows.len())).collect();
        let last_type = self.n_types.saturating_sub(1) as u32;
        let of_text = |text: &TextTokens<'_>| {
            let TextTokens { ids, types } = *text;
            (0..ids.len()).map(move |at| types.get(at).copied().unwrap_or(0).min(last_type)).collect::<Vec<_>>()
        };
        let types: Vec<u32> = texts.iter().flat_map(of_text).collect();
        for (table, ids) in [(&self.types, &types), (&self.positions, &positions)] {
            operations.embed(table, &[Inputs::Tokens(ids)], 1.0, &mut buffers.mixed)?;
            operations.add_rows(&buffers.mixed, &mut buffers.stream)?;
        }
        self.norm.apply(operations, &mut buffers.stream, &mut buffers.inputs)?;
        self.layers.iter().try_for_each(|layer| layer.forward(operations, rows, buffers))
    }
}

/// Attention of the rows of each text to all rows of the text.
pub(super) fn attend<O: SpeechOperations>(
    operations: &O,
    (queries, keys, values): (&O::Rows, &O::Rows, &O::Rows),
    rows: &[Range<usize>],
    heads: Heads,
    mixed: &mut O::Rows,
) -> Result<()> {
    let mut pasts: PerSequence<O::KeyValues> = PerSequence::new();
    for rows in rows {
        let mut past = operations.key_values(heads)?;
        operations.append(SequencePart { rows: rows.clone(), memory: &mut past }, keys, values)?;
        pasts.push(past);
    }
    let parts = rows.iter().zip(&pasts);
    let parts: PerSequence<_> =
        parts.map(|(rows, past)| AttentionPart { rows: rows.clone(), past, is_two_way: true }).collect();
    let sight = Sight { window: None, n_after: None, scale: (heads.head_dim as f32).sqrt().recip() };
    operations.attention(queries, &parts, heads, sight, mixed)
}

impl<O: SpeechOperations> BertLayer<O> {
    fn forward(&self, operations: &O, rows: &[Range<usize>], buffers: &mut BertBuffers<O>) -> Result<()> {
        let BertBuffers { stream, inputs, projected: [queries, keys, values], mixed } = buffers;
        let plainly = || Residual { norm: None, factor: 1.0 };
        let Self { query, key, value, heads, .. } = self;
        operations.inputs(stream, &[query, key, value], inputs)?;
        operations.product(inputs, [(query, &mut *queries), (key, &mut *keys), (value, &mut *values)])?;
        attend(operations, (queries, keys, values), rows, *heads, mixed)?;
        operations.inputs(mixed, &[&self.out], inputs)?;
        operations.add_product(inputs, &self.out, plainly(), queries, stream)?;
        self.attention_norm.apply(operations, stream, inputs)?;
        operations.inputs(stream, &[&self.up], inputs)?;
        operations.product(inputs, [(&self.up, &mut *keys)])?;
        operations.activate(TowerActivation::Gelu, keys, &self.down, inputs)?;
        operations.add_product(inputs, &self.down, plainly(), queries, stream)?;
        self.output_norm.apply(operations, stream, inputs)
    }
}
