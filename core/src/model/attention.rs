//! Grouped-query attention with rotary positions. Some families have a norm on every query and key head, or a gate on the
//! output of each query head: the sigmoid of a map of the layer's inputs.

use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::invalid::{invalid, mamba};
use crate::model::layer_weights::{LayerWeights, StackedRows};
use crate::model::linear::Linear;
use crate::model::rope::{self, Rope, RopePairing};
use crate::weights::Weights;

pub(crate) struct Attention<B: Backend> {
    pub(crate) q_proj: Linear<B>,
    pub(crate) k_proj: Linear<B>,
    pub(crate) v_proj: Linear<B>,
    pub(crate) out_proj: Linear<B>,
    /// One output for each query head.
    pub(crate) head_gates: Option<Linear<B>>,
    /// Norms of queries and of keys.
    pub(crate) norms: Option<(B::Vector, B::Vector)>,
    /// `None` if the layer has no positional encoding.
    pub(crate) rope: Option<Rope>,
    /// Tokens that a token sees, including itself; `None` for all tokens before it.
    pub(crate) window: Option<usize>,
    /// Factor of the scores.
    pub(crate) scale: f32,
    pub(crate) heads: Heads,
}

/// The heads of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heads {
    pub(crate) n_queries: usize,
    pub(crate) n_keys: usize,
    pub(crate) head_dim: usize,
}

impl Heads {
    pub(crate) fn read<B>(weights: &LayerWeights<'_, B>) -> Result<Self> {
        let (architecture, layer) = (weights.architecture, weights.layer);
        if weights.shape("ssm_in").is_some() {
            return Err(mamba(layer));
        }
        let described = architecture.head_dim.or_else(|| Some(weights.hidden / architecture.n_heads?));
        let head_dim = match (architecture.family.has_head_norms, weights.shape("attn_q_norm"), described) {
            (true, Some(&[head_dim]), _) => head_dim,
            (true, ..) => return Err(weights.weights.missing(&weights.name("attn_q_norm"))),
            (false, _, Some(head_dim)) => head_dim,
            (false, _, None) => return Err(invalid("the files must give the head size or the number of heads")),
        };
        let (q_rows, k_rows) = match stacked(weights)? {
            Some(stacked) => stacked_rows(stacked, architecture.n_heads, head_dim, weights)?,
            None => (weights.rows("attn_q")?, weights.rows("attn_k")?),
        };
        let invalid_heads = || {
            invalid(format!(
                "the query and key rows of layer {layer} must divide into heads of {head_dim}, found {q_rows} and {k_rows}"
            ))
        };
        if head_dim == 0 || head_dim % 2 != 0 || q_rows % head_dim != 0 || k_rows % head_dim != 0 {
            return Err(invalid_heads());
        }
        let heads = Self { n_queries: q_rows / head_dim, n_keys: k_rows / head_dim, head_dim };
        let is_grouped = heads.n_keys != 0 && heads.n_queries.is_multiple_of(heads.n_keys);
        if is_grouped { Ok(heads) } else { Err(invalid_heads()) }
    }
}

/// The tensor that stacks queries, keys and values, in files that have one.
const STACKED: &str = "attn_qkv";

fn stacked<B>(weights: &LayerWeights<'_, B>) -> Result<Option<StackedRows>> {
    weights.stacked(STACKED, "attn_q")
}

/// The rows of queries and those of keys in a tensor that also has values.
fn stacked_rows<B>(
    stacked: StackedRows,
    n_heads: Option<usize>,
    head_dim: usize,
    weights: &LayerWeights<'_, B>,
) -> Result<(usize, usize)> {
    let n_heads = n_heads.ok_or_else(|| invalid("the files must give the number of heads"))?;
    let q_rows = n_heads.saturating_mul(head_dim);
    match stacked.n_rows.checked_sub(q_rows) {
        Some(rest) if rest % 2 == 0 => Ok((q_rows, rest / 2)),
        _ => Err(invalid(format!(
            "tensor {} must have {q_rows} rows for queries and as many for keys as for values, found {}",
            weights.name(STACKED),
            stacked.n_rows
        ))),
    }
}

impl<B: Backend> Attention<B> {
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
        let (architecture, hidden) = (weights.architecture, weights.hidden);
        let (family, plan) = (architecture.family, architecture.layers[weights.layer]);
        let heads = Heads::read(weights)?;
        let Heads { n_queries, n_keys, head_dim } = heads;
        let stacked = stacked(weights)?;
        if family.has_biases {
            let parts = if stacked.is_some() { &[STACKED][..] } else { &["attn_q", "attn_k", "attn_v"] };
            parts.iter().try_for_each(|part| weights.expect_bias(part))?;
        }
        let norms = match family.has_head_norms {
            true => Some((weights.norm("attn_q_norm", head_dim)?, weights.norm("attn_k_norm", head_dim)?)),
            false => None,
        };
        let settings = if plan.window.is_some() { &architecture.sliding_rope } else { &architecture.rope };
        let pairing = match weights.weights {
            Weights::Gguf(_) => family.gguf_pairing,
            Weights::Folder(_) => RopePairing::Halves,
        };
        let divisors = || match plan.window {
            Some(_) => Ok(None), // they are for layers that see the whole context
            None => rope::divisors(weights.weights, family.has_divisors),
        };
        let rope = plan.has_rope.then(|| Rope::new(settings, divisors()?, pairing, head_dim));
        let head_gates = family.has_head_gates.then(|| weights.linear("attn_gate", n_queries, hidden)).transpose()?;
        let (q_rows, k_rows) = (n_queries * head_dim, n_keys * head_dim);
        Ok(Self {
            q_proj: weights.linear_of(stacked, ("attn_q", 0), (q_rows, hidden))?,
            k_proj: weights.linear_of(stacked, ("attn_k", q_rows), (k_rows, hidden))?,
            v_proj: weights.linear_of(stacked, ("attn_v", q_rows + k_rows), (k_rows, hidden))?,
            out_proj: weights.linear("attn_output", hidden, n_queries * head_dim)?,
            head_gates,
            norms,
            rope: rope.transpose()?,
            window: plan.window,
            scale: architecture.scales.attention.unwrap_or_else(|| 1.0 / (head_dim as f32).sqrt()),
            heads,
        })
    }
}
