//! Grouped-query attention with rotary positions; in some families with a norm on every query and key head.

use candle_core::{D, Device, Result as TensorResult, Tensor};
use candle_nn::ops::{rms_norm, softmax_last_dim};

use crate::error::Result;
use crate::model::layer::LayerWeights;
use crate::model::linear::Linear;
use crate::model::rope::{Pairing, Rope};
use crate::model::state::{KeyValues, PAGE};
use crate::model::wrong;
use crate::weights::Weights;

pub(crate) struct Attention {
    q_proj: Linear,
    k_proj: Linear,
    v_proj: Linear,
    out_proj: Linear,
    /// Norms of queries and of keys.
    norms: Option<(Tensor, Tensor)>,
    /// `None` where attention knows no positions.
    rope: Option<Rope>,
    /// Tokens that a token sees, itself included; `None` for all before it.
    window: Option<usize>,
    heads: Heads,
    norm_eps: f32,
}

/// The heads of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heads {
    pub(crate) n_queries: usize,
    pub(crate) n_keys: usize,
    pub(crate) head_dim: usize,
}

impl Heads {
    pub(crate) fn read(weights: &LayerWeights<'_>) -> Result<Self> {
        let (architecture, layer) = (weights.architecture, weights.layer);
        let (q_rows, k_rows) = (weights.rows("attn_q")?, weights.rows("attn_k")?);
        let stated = architecture.head_dim.or_else(|| Some(weights.hidden / architecture.n_heads?));
        let head_dim = match (architecture.family.has_head_norms, weights.shape("attn_q_norm"), stated) {
            (true, Some(&[head_dim]), _) => head_dim,
            (true, ..) => return Err(weights.weights.missing(&weights.name("attn_q_norm"))),
            (false, _, Some(head_dim)) => head_dim,
            (false, _, None) => return Err(wrong("the size of a head is stated nowhere")),
        };
        let wrong_heads = || {
            wrong(format!(
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

impl Attention {
    pub(crate) fn load(weights: &LayerWeights<'_>) -> Result<Self> {
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
            norm_eps: architecture.norm_eps,
        })
    }

    /// `x` is `(time, hidden)`, as is what returns. Its first token stands at `start`.
    pub(crate) fn forward(&self, x: &Tensor, start: usize, past: &mut KeyValues) -> TensorResult<Tensor> {
        let time = x.dim(0)?;
        let Heads { n_queries, n_keys, head_dim } = self.heads;
        let heads = |projected: Tensor, n_heads: usize| {
            projected.reshape((time, n_heads, head_dim))?.transpose(0, 1)?.contiguous() // (heads, time, head_dim)
        };
        let mut q = heads(self.q_proj.forward(x)?, n_queries)?;
        let mut k = heads(self.k_proj.forward(x)?, n_keys)?;
        let v = heads(self.v_proj.forward(x)?, n_keys)?;
        if let Some((q_norm, k_norm)) = &self.norms {
            (q, k) = (rms_norm(&q, q_norm, self.norm_eps)?, rms_norm(&k, k_norm, self.norm_eps)?);
        }
        if let Some(rope) = &self.rope {
            let turns = rope.turns(start, time);
            (q, k) = (turns.turn(&q)?, turns.turn(&k)?);
        }
        past.append(&k, &v)?;
        // Pages that no token of the stretch sees are passed over.
        let n_unseen = self.window.map_or(0, |window| (start + 1).saturating_sub(window)) / PAGE;
        let pages = past.pages().skip(n_unseen).collect::<TensorResult<Vec<_>>>()?;
        let span = past.n_tokens() - n_unseen * PAGE;

        // The queries that share a key head stand below each other: no copy of keys and values for each of them.
        let group = n_queries / n_keys;
        let q = q.reshape((n_keys, group * time, head_dim))?;
        let scale = 1.0 / (head_dim as f64).sqrt();
        let scores = pages.iter().map(|(k, _)| q.matmul(&k.transpose(1, 2)?)).collect::<TensorResult<Vec<_>>>()?;
        let mut scores = (joined(scores)? * scale)?; // (kv_heads, group * time, span)
        if let Some(mask) = self.mask(time, span, x.device())? {
            let masked = scores.reshape((n_queries, time, span))?.broadcast_add(&mask)?;
            scores = masked.reshape((n_keys, group * time, span))?;
        }
        let mixed = weighted_sum(&softmax_last_dim(&scores)?, &pages)?; // (kv_heads, group * time, head_dim)
        let mixed = mixed.reshape((n_queries, time, head_dim))?.transpose(0, 1)?.contiguous()?;
        self.out_proj.forward(&mixed.reshape((time, n_queries * head_dim))?)
    }

    /// 0 where the token of a row may see the token of a column, else minus infinity: `(time, span)`, both up to the last
    /// token. `None` where all may see all.
    fn mask(&self, time: usize, span: usize, device: &Device) -> TensorResult<Option<Tensor>> {
        let window = self.window.unwrap_or(usize::MAX);
        if time == 1 && span <= window {
            return Ok(None);
        }
        let past = span - time;
        let sees = |row: usize, column: usize| column <= past + row && past + row - column < window;
        let value = |row: usize, column: usize| if sees(row, column) { 0.0 } else { f32::NEG_INFINITY };
        let mask: Vec<f32> = (0..time).flat_map(|row| (0..span).map(move |column| value(row, column))).collect();
        Tensor::from_vec(mask, (time, span), device).map(Some)
    }
}

/// Scores of all pages side by side.
fn joined(mut scores: Vec<Tensor>) -> TensorResult<Tensor> {
    match scores.len() {
        1 => Ok(scores.remove(0)),
        _ => Tensor::cat(&scores, D::Minus1),
    }
}

/// The values, each weighted by its share: `(kv_heads, rows, head_dim)` of shares `(kv_heads, rows, span)`.
fn weighted_sum(shares: &Tensor, pages: &[(Tensor, Tensor)]) -> TensorResult<Tensor> {
    let (mut sum, mut start) = (None::<Tensor>, 0);
    for (_, v) in pages {
        let n_tokens = v.dim(1)?;
        let part = shares.narrow(D::Minus1, start, n_tokens)?.contiguous()?.matmul(v)?;
        sum = Some(match sum {
            Some(sum) => (sum + part)?,
            None => part,
        });
        start += n_tokens;
    }
    sum.ok_or_else(|| candle_core::Error::msg("attention without keys"))
}
