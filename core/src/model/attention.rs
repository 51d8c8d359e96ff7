//! Grouped-query attention with a norm on every query and key head, and rotary positions.

use candle_core::quantized::QMatMul;
use candle_core::{D, Device, Module, Result as TensorResult, Tensor};
use candle_nn::ops::{rms_norm, softmax_last_dim};
use candle_nn::rotary_emb::rope;

use crate::error::Result;
use crate::model::layer::LayerWeights;
use crate::model::state::KeyValues;
use crate::model::wrong;

pub(crate) struct Attention {
    q_proj: QMatMul,
    k_proj: QMatMul,
    v_proj: QMatMul,
    out_proj: QMatMul,
    q_norm: Tensor,
    k_norm: Tensor,
    n_heads: usize,
    n_kv_heads: usize,
    head_dim: usize,
    norm_eps: f32,
}

impl Attention {
    pub(crate) fn load(weights: &LayerWeights<'_>, norm_eps: f32) -> Result<Self> {
        let hidden = weights.hidden;
        let name = weights.name("self_attn.q_layernorm");
        let Some(&[head_dim]) = weights.shape("self_attn.q_layernorm") else {
            return Err(wrong(format!("tensor {name} is missing or no vector")));
        };
        let (q_rows, kv_rows) = (weights.rows("self_attn.q_proj")?, weights.rows("self_attn.k_proj")?);
        let (n_heads, n_kv_heads) = (q_rows / head_dim, kv_rows / head_dim);
        let is_whole = n_heads * head_dim == q_rows && n_kv_heads * head_dim == kv_rows;
        if !is_whole || head_dim % 2 != 0 || n_kv_heads == 0 || n_heads % n_kv_heads != 0 {
            return Err(wrong(format!(
                "layer {} has {q_rows} query and {kv_rows} key rows, which do not make heads of {head_dim}",
                weights.layer
            )));
        }
        Ok(Self {
            q_proj: weights.matrix("self_attn.q_proj", q_rows, hidden)?,
            k_proj: weights.matrix("self_attn.k_proj", kv_rows, hidden)?,
            v_proj: weights.matrix("self_attn.v_proj", kv_rows, hidden)?,
            out_proj: weights.matrix("self_attn.out_proj", hidden, q_rows)?,
            q_norm: weights.vector("self_attn.q_layernorm", head_dim)?,
            k_norm: weights.vector("self_attn.k_layernorm", head_dim)?,
            n_heads,
            n_kv_heads,
            head_dim,
            norm_eps,
        })
    }

    /// `x` is `(time, hidden)`, as is what returns.
    pub(crate) fn forward(&self, x: &Tensor, positions: &Rope, past: &mut KeyValues) -> TensorResult<Tensor> {
        let time = x.dim(0)?;
        let heads = |projected: Tensor, n_heads: usize| {
            projected.reshape((time, n_heads, self.head_dim))?.transpose(0, 1)?.contiguous() // (heads, time, head_dim)
        };
        let q = rms_norm(&heads(self.q_proj.forward(x)?, self.n_heads)?, &self.q_norm, self.norm_eps)?;
        let k = rms_norm(&heads(self.k_proj.forward(x)?, self.n_kv_heads)?, &self.k_norm, self.norm_eps)?;
        let v = heads(self.v_proj.forward(x)?, self.n_kv_heads)?;
        past.append(&positions.turn(&k)?, &v)?;
        let pages = past.pages().collect::<TensorResult<Vec<_>>>()?;

        // The queries that share a key head stand below each other: no copy of keys and values for each of them.
        let group = self.n_heads / self.n_kv_heads;
        let q = positions.turn(&q)?.reshape((self.n_kv_heads, group * time, self.head_dim))?;
        let scale = 1.0 / (self.head_dim as f64).sqrt();
        let scores = pages.iter().map(|(k, _)| q.matmul(&k.transpose(1, 2)?)).collect::<TensorResult<Vec<_>>>()?;
        let mut scores = (joined(scores)? * scale)?; // (kv_heads, group * time, span)
        if 1 < time {
            let span = past.n_tokens();
            let masked = scores.reshape((self.n_heads, time, span))?.broadcast_add(&causal_mask(time, span)?)?;
            scores = masked.reshape((self.n_kv_heads, group * time, span))?;
        }
        let mixed = weighted_sum(&softmax_last_dim(&scores)?, &pages)?; // (kv_heads, group * time, head_dim)
        let mixed = mixed.reshape((self.n_heads, time, self.head_dim))?.transpose(0, 1)?.contiguous()?;
        self.out_proj.forward(&mixed.reshape((time, self.n_heads * self.head_dim))?)
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

/// 0 where the token of a row may see the token of a column, else minus infinity: `(time, span)`.
fn causal_mask(time: usize, span: usize) -> TensorResult<Tensor> {
    let past = span - time;
    let value = |row: usize, column: usize| if column <= past + row { 0.0 } else { f32::NEG_INFINITY };
    let mask: Vec<f32> = (0..time).flat_map(|row| (0..span).map(move |column| value(row, column))).collect();
    Tensor::from_vec(mask, (time, span), &Device::Cpu)
}

/// Rotary positions of one stretch of tokens: cosine and sine, `(time, head_dim / 2)`.
pub(crate) struct Rope {
    theta: f32,
    start: usize,
    time: usize,
}

impl Rope {
    /// Positions from `start` on.
    pub(crate) fn new(theta: f32, start: usize, time: usize) -> Self {
        Self { theta, start, time }
    }

    /// Turns heads, `(heads, time, head_dim)`, each by its position; halves of a head are paired.
    fn turn(&self, heads: &Tensor) -> TensorResult<Tensor> {
        let head_dim = heads.dim(D::Minus1)?;
        let (mut cosines, mut sines) = (Vec::new(), Vec::new());
        for position in self.start..self.start + self.time {
            for pair in (0..head_dim).step_by(2) {
                let frequency = self.theta.powf(-(pair as f32) / head_dim as f32);
                let angle = position as f32 * frequency; // exact: positions stay below 2^24
                cosines.push(angle.cos());
                sines.push(angle.sin());
            }
        }
        let table = |values| Tensor::from_vec(values, (self.time, head_dim / 2), heads.device());
        rope(&heads.unsqueeze(0)?, &table(cosines)?, &table(sines)?)?.squeeze(0)
    }
}
