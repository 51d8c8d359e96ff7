//! The part of a decision model that scores options: layers of attention to the whole text without positions, each with norms before
//! its two halves, then two maps of the options' rows.

use crate::checkpoint::{QUESTION_TYPES, ScorerPlan, invalid};
use crate::error::{Result, SdkError};
use crate::model::backend::Backend;
use crate::model::decoder::Decoder;
use crate::model::embedding::bert::{BertBuffers, BertNorm, BertReader, attend, shape};
use crate::model::heads::Heads;
use crate::model::layer::Operator;
use crate::model::linear::Linear;
use crate::model::network::Inputs;
use crate::model::operations::Residual;
use crate::model::tower::TowerActivation;
use crate::model::whisper::SpeechOperations;
use crate::weights::{MatrixPlace, TensorPart, Tensors};

pub(super) struct OptionScorer<B: Backend> {
    /// A row for each type of question, which is added to all rows of a text.
    types: B::Matrix,
    layers: Vec<ScorerLayer<B>>,
    norm: BertNorm<B>,
    hidden: Linear<B>,
    output: Linear<B>,
}

struct ScorerLayer<B: Backend> {
    attention_norm: BertNorm<B>,
    query: Linear<B>,
    key: Linear<B>,
    value: Linear<B>,
    out: Linear<B>,
    feed_forward_norm: BertNorm<B>,
    up: Linear<B>,
    down: Linear<B>,
    heads: Heads,
}

impl<B: Backend> OptionScorer<B> {
    /// Loads the part of a decoder that scores options. Its heads have the size of the decoder's.
    pub(super) fn load(decoder: &Decoder<B>, tensors: &Tensors, plan: ScorerPlan) -> Result<Self> {
        let hidden = decoder.hidden;
        let of_layer = |operator: &Operator<B>| match operator {
            Operator::Attention(attention) => Some(attention.heads.head_dim),
            _ => None,
        };
        let head_dim = decoder.stack.layers.iter().find_map(|layer| of_layer(&layer.operator));
        let head_dim = head_dim.filter(|head_dim| hidden.is_multiple_of(*head_dim));
        let head_dim = head_dim.ok_or_else(|| invalid(format!("the heads of attention must divide {hidden}")))?;
        let n_heads = hidden / head_dim;
        let heads = Heads { n_queries: n_heads, n_keys: n_heads, head_dim };
        let reader = BertReader { backend: &decoder.backend, tensors, hidden, norm_eps: plan.norm_eps };
        let layers = plan.first_layer..plan.first_layer + plan.n_layers;
        let [width, _] = shape(tensors, "cls.weight")?;
        Ok(Self {
            types: reader.matrix("token_types.weight", (QUESTION_TYPES.len(), hidden))?,
            layers: layers.map(|layer| scorer_layer(&reader, layer, heads)).collect::<Result<_>>()?,
            norm: reader.norm("cls.norm")?,
            hidden: reader.linear("cls", (width, hidden))?,
            output: reader.linear("cls.output", (1, width))?,
        })
    }
}

fn scorer_layer<B: Backend>(reader: &BertReader<'_, B>, layer: usize, heads: Heads) -> Result<ScorerLayer<B>> {
    let hidden = reader.hidden;
    let name = |part: &str| format!("blk.{layer}.{part}");
    let [width, _] = shape(reader.tensors, &name("ffn_up.weight"))?;
    let biases = reader.tensors.floats(&name("attn_qkv.bias"), &[3 * hidden])?;
    // One tensor has the rows of queries, of keys and of values.
    let part = |at: usize| {
        let (first, n_rows) = (at * hidden, 3 * hidden);
        let name = name("attn_qkv.weight");
        let place = MatrixPlace { name: &name, shape: (hidden, hidden), part: TensorPart::Rows { first, n_rows } };
        let bias = reader.backend.vector(biases[first..first + hidden].to_vec())?;
        Ok::<_, SdkError>(Linear { weight: reader.backend.matrix(reader.tensors, &place)?, bias: Some(bias) })
    };
    Ok(ScorerLayer {
        attention_norm: reader.norm(&name("attn_norm"))?,
        query: part(0)?,
        key: part(1)?,
        value: part(2)?,
        out: reader.linear(&name("attn_output"), (hidden, hidden))?,
        feed_forward_norm: reader.norm(&name("ffn_norm"))?,
        up: reader.linear(&name("ffn_up"), (width, hidden))?,
        down: reader.linear(&name("ffn_down"), (hidden, width))?,
        heads,
    })
}

impl<O: SpeechOperations> OptionScorer<O> {
    /// The scores of the rows at these places. The stream has the rows of one text, after the decoder's last norm.
    pub(super) fn scores(
        &self,
        operations: &O,
        question_type: u32,
        (n_rows, marks): (usize, &[usize]),
        buffers: &mut BertBuffers<O>,
    ) -> Result<Vec<f32>> {
        let types = vec![question_type; n_rows];
        operations.embed(&self.types, &[Inputs::Tokens(&types)], 1.0, &mut buffers.mixed)?;
        operations.add_rows(&buffers.mixed, &mut buffers.stream)?;
        self.layers.iter().try_for_each(|layer| layer.forward(operations, n_rows, buffers))?;
        let BertBuffers { stream, inputs, projected: [hidden, scores, _], mixed } = buffers;
        let marks: Vec<_> = marks.iter().map(|mark| *mark..mark + 1).collect();
        operations.select(stream, &marks, mixed)?;
        let BertNorm { weight, bias, epsilon } = &self.norm;
        operations.layer_norm(mixed, (weight, *epsilon), bias, &[&self.hidden], inputs)?;
        operations.product(inputs, [(&self.hidden, &mut *hidden)])?;
        operations.activate(TowerActivation::Gelu, hidden, &self.output, inputs)?;
        operations.product(inputs, [(&self.output, &mut *scores)])?;
        let mut values = Vec::new();
        operations.read(scores, 0..marks.len(), &mut values)?;
        Ok(values)
    }
}

impl<O: SpeechOperations> ScorerLayer<O> {
    fn forward(&self, operations: &O, n_rows: usize, buffers: &mut BertBuffers<O>) -> Result<()> {
        let BertBuffers { stream, inputs, projected: [queries, keys, values], mixed } = buffers;
        let plainly = || Residual { norm: None, factor: 1.0 };
        let Self { query, key, value, out, up, down, .. } = self;
        let BertNorm { weight, bias, epsilon } = &self.attention_norm;
        operations.layer_norm(stream, (weight, *epsilon), bias, &[query, key, value], inputs)?;
        operations.product(inputs, [(query, &mut *queries), (key, &mut *keys), (value, &mut *values)])?;
        attend(operations, (queries, keys, values), std::slice::from_ref(&(0..n_rows)), self.heads, mixed)?;
        operations.inputs(mixed, &[out], inputs)?;
        operations.add_product(inputs, out, plainly(), queries, stream)?;
        let BertNorm { weight, bias, epsilon } = &self.feed_forward_norm;
        operations.layer_norm(stream, (weight, *epsilon), bias, &[up], inputs)?;
        operations.product(inputs, [(up, &mut *keys)])?;
        operations.clamp(keys, (0.0, f32::INFINITY), mixed)?;
        operations.inputs(mixed, &[down], inputs)?;
        operations.add_product(inputs, down, plainly(), queries, stream)
    }
}
