//! Grouped-query attention with rotary positions. Some families have a norm on every query and key head, or a gate on the
//! output of each query head: the sigmoid of a map of the layer's inputs.

use crate::checkpoint::{Rope, rope_divisors};
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::heads::{Heads, STACKED, stacked};
use crate::model::layer_weights::{LayerWeights, StackedRows};
use crate::model::linear::Linear;

pub(crate) struct Attention<B: Backend> {
    pub(crate) q_proj: Linear<B>,
    pub(crate) key_values: KeyValueSource<B>,
    pub(crate) out_proj: Linear<B>,
    /// One output for each query head.
    pub(crate) head_gates: Option<Linear<B>>,
    /// Whether `q_proj` gives a gate, as large, after each query head.
    pub(crate) has_query_gates: bool,
    /// The norm of queries.
    pub(crate) q_norm: Option<B::Vector>,
    /// `None` if the layer has no positional encoding.
    pub(crate) rope: Option<Rope>,
    /// Tokens that a token attends to, including itself; `None` for all tokens before it.
    pub(crate) window: Option<usize>,
    /// Tokens after it that a token attends to, if it attends to later ones; `None` for all of its step.
    pub(crate) n_after: Option<usize>,
    /// Whether tokens also attend to later ones of their step.
    pub(crate) is_two_way: bool,
    /// Factor of the scores.
    pub(crate) scale: f32,
    pub(crate) heads: Heads,
}

/// Where a layer's keys and values come from.
pub(crate) enum KeyValueSource<B: Backend> {
    Own(KeyValueMaps<B>),
    /// The keys and values of an earlier layer.
    Layer(usize),
}

impl<B: Backend> KeyValueSource<B> {
    pub(crate) fn own(&self) -> Option<&KeyValueMaps<B>> {
        match self {
            Self::Own(maps) => Some(maps),
            Self::Layer(_) => None,
        }
    }
}

pub(crate) struct KeyValueMaps<B: Backend> {
    pub(crate) k_proj: Linear<B>,
    pub(crate) v_proj: Linear<B>,
    /// The norm of keys.
    pub(crate) k_norm: Option<B::Vector>,
    /// The norm of values: ones.
    pub(crate) v_norm: Option<B::Vector>,
}

impl<B: Backend> Attention<B> {
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
        let (architecture, hidden) = (weights.architecture, weights.hidden);
        let (family, plan) = (architecture.family, architecture.layers[weights.layer]);
        let is_causal_window = family.keeps_windows_causal && plan.window.is_some();
        let is_centred = architecture.is_bidirectional && !is_causal_window;
        let heads = Heads::read(weights)?;
        let Heads { n_queries, head_dim, .. } = heads;
        let stacked = stacked(weights)?;
        if family.has_biases {
            let parts = if stacked.is_some() { &[STACKED][..] } else { &["attn_q", "attn_k", "attn_v"] };
            parts.iter().try_for_each(|part| weights.expect_bias(part))?;
        }
        let settings = if plan.window.is_some() { &architecture.sliding_rope } else { &architecture.rope };
        let divisors = || match plan.window {
            Some(_) => Ok(None), // they are for layers with full attention
            None => rope_divisors(settings, weights.tensors, family.has_divisors),
        };
        let rope = plan.has_rope.then(|| Rope::new(settings, divisors()?, family.pairing, head_dim));
        let head_gates = family.has_head_gates.then(|| weights.linear("attn_gate", n_queries, hidden)).transpose()?;
        Ok(Self {
            q_proj: weights.linear_of(stacked, ("attn_q", 0), (heads.projected_query_rows(family), hidden))?,
            key_values: match plan.key_values_of {
                Some(layer) => KeyValueSource::Layer(layer),
                None => KeyValueSource::Own(KeyValueMaps::load(weights, stacked, heads)?),
            },
            out_proj: weights.linear("attn_output", hidden, n_queries * head_dim)?,
            head_gates,
            has_query_gates: family.has_query_gates,
            q_norm: family.has_head_norms.then(|| weights.norm("attn_q_norm", head_dim)).transpose()?,
            rope: rope.transpose()?,
            // A window around each token: as many tokens on both sides.
            window: plan.window.map(|window| if is_centred { window / 2 + 1 } else { window }),
            n_after: plan.window.filter(|_| is_centred).map(|window| window / 2),
            is_two_way: family.is_two_way || is_centred,
            scale: architecture.scales.attention.unwrap_or_else(|| 1.0 / (head_dim as f32).sqrt()),
            heads,
        })
    }
}

impl<B: Backend> KeyValueMaps<B> {
    fn load(weights: &LayerWeights<'_, B>, stacked: Option<StackedRows>, heads: Heads) -> Result<Self> {
        let (family, hidden, head_dim) = (weights.architecture.family, weights.hidden, heads.head_dim);
        let (q_rows, k_rows) = (heads.n_queries * head_dim, heads.n_keys * head_dim);
        Ok(Self {
            k_proj: weights.linear_of(stacked, ("attn_k", q_rows), (k_rows, hidden))?,
            v_proj: weights.linear_of(stacked, ("attn_v", q_rows + k_rows), (k_rows, hidden))?,
            k_norm: family.has_head_norms.then(|| weights.norm("attn_k_norm", head_dim)).transpose()?,
            v_norm: family.has_value_norms.then(|| weights.backend.vector(vec![1.0; head_dim])).transpose()?,
        })
    }
}
