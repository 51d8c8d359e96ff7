//! Grouped-query attention with rotary positions; in some families with a norm on every query and key head.

use causerie_backend::Pairing;

use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::invalid::invalid;
use crate::model::layer_weights::LayerWeights;
use crate::model::linear::Linear;
use crate::model::rope::Rope;
use crate::weights::Weights;

pub(crate) struct Attention<B: Backend> {
    pub(crate) q_proj: Linear<B>,
    pub(crate) k_proj: Linear<B>,
    pub(crate) v_proj: Linear<B>,
    pub(crate) out_proj: Linear<B>,
    /// Norms of queries and of keys.
    pub(crate) norms: Option<(B::Vector, B::Vector)>,
    /// `None` where attention knows no positions.
    pub(crate) rope: Option<Rope>,
    /// Tokens that a token sees, itself included; `None` for all before it.
    pub(crate) window: Option<usize>,
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
        let (q_rows, k_rows) = (weights.rows("attn_q")?, weights.rows("attn_k")?);
        let stated = architecture.head_dim.or_else(|| Some(weights.hidden / architecture.n_heads?));
        let head_dim = match (architecture.family.has_head_norms, weights.shape("attn_q_norm"), stated) {
            (true, Some(&[head_dim]), _) => head_dim,
            (true, ..) => return Err(weights.weights.missing(&weights.name("attn_q_norm"))),
            (false, _, Some(head_dim)) => head_dim,
            (false, _, None) => return Err(invalid("the size of a head is stated nowhere")),
        };
        let wrong_heads = || {
            invalid(format!(
                "layer {layer} has {q_rows} query and {k_rows} key rows, which do not make heads of {head_dim}"
            ))
        };
        if head_dim == 0 || head_dim % 2 != 0 || q_rows % head_dim != 0 || k_rows % head_dim != 0 {
            return Err(wrong_heads());
        }
        let heads = Self { n_queries: q_rows / head_dim, n_keys: k_rows / head_dim, head_dim };
        let is_grouped = heads.n_keys != 0 && heads.n_queries.is_multiple_of(heads.n_keys);
        if is_grouped { Ok(heads) } else { Err(wrong_heads()) }
    }
}

impl<B: Backend> Attention<B> {
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
        let (architecture, hidden) = (weights.architecture, weights.hidden);
        let (family, plan) = (architecture.family, architecture.layers[weights.layer]);
        let heads = Heads::read(weights)?;
        let Heads { n_queries, n_keys, head_dim } = heads;
        if family.has_biases {
            ["attn_q", "attn_k", "attn_v"].iter().try_for_each(|part| weights.expect_bias(part))?;
        }
        let norms = match family.has_head_norms {
            true => Some((weights.vector("attn_q_norm", head_dim)?, weights.vector("attn_k_norm", head_dim)?)),
            false => None,
        };
        let settings = if plan.window.is_some() { &architecture.sliding_rope } else { &architecture.rope };
        let pairing = match weights.weights {
            Weights::Gguf(_) => family.gguf_pairing,
            Weights::Folder(_) => Pairing::Halves,
        };
        let rope = plan.has_rope.then(|| Rope::load(weights.weights, settings, pairing, head_dim)).transpose()?;
        Ok(Self {
            q_proj: weights.linear("attn_q", n_queries * head_dim, hidden)?,
            k_proj: weights.linear("attn_k", n_keys * head_dim, hidden)?,
            v_proj: weights.linear("attn_v", n_keys * head_dim, hidden)?,
            out_proj: weights.linear("attn_output", hidden, n_queries * head_dim)?,
            norms,
            rope,
            window: plan.window,
            heads,
        })
    }
}
