//! Grouped-query attention, page by page.

use crate::model::attention::{Attention, KeyValueMaps};
use crate::model::candle::backend::Candle;
use crate::model::candle::pages::{CandleKeyValues, PAGE};
use crate::model::heads::Heads;
use crate::model::rope::{Rope, RopePairing};
use candle_core::{D, Device, Result as TensorResult, Tensor};
use candle_nn::ops::{rms_norm, softmax_last_dim};
use candle_nn::rotary_emb::{rope, rope_i};

impl Attention<Candle> {
    /// `x` is `(time, hidden)`, as is the result. The first position is `start`.
    pub(super) fn forward(
        &self,
        x: &Tensor,
        start: usize,
        past: &mut CandleKeyValues,
        norm_eps: f32,
    ) -> TensorResult<Tensor> {
        let time = x.dim(0)?;
        let Heads { n_queries, n_keys, head_dim } = self.heads;
        let heads = |projected: Tensor, n_heads: usize| {
            projected.reshape((time, n_heads, head_dim))?.transpose(0, 1)?.contiguous() // (heads, time, head_dim)
        };
        let mut q = heads(self.q_proj.forward(x)?, n_queries)?;
        let Some(KeyValueMaps { k_proj, v_proj, k_norm, v_norm: None }) = self.key_values.own() else {
            candle_core::bail!("keys and values of other layers, and norms of values, are not supported")
        };
        let mut k = heads(k_proj.forward(x)?, n_keys)?;
        let v = heads(v_proj.forward(x)?, n_keys)?;
        if let (Some(q_norm), Some(k_norm)) = (&self.q_norm, k_norm) {
            (q, k) = (rms_norm(&q, q_norm, norm_eps)?, rms_norm(&k, k_norm, norm_eps)?);
        }
        if let Some(rope) = &self.rope {
            (q, k) = (rotated(rope, &q, start)?, rotated(rope, &k, start)?);
        }
        past.append(&k, &v)?;
        // Pages that no token of the chunk sees are skipped.
        let n_unseen = self.window.map_or(0, |window| (start + 1).saturating_sub(window)) / PAGE;
        let pages = past.pages().skip(n_unseen).collect::<TensorResult<Vec<_>>>()?;
        let span = past.n_tokens() - n_unseen * PAGE;

        // The queries that share a key head lie below each other, so that keys and values are not copied for each of them.
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

/// Heads, `(heads, time, head_dim)`, each rotated by its position; the first position is `start`.
fn rotated(rope_of_layer: &Rope, heads: &Tensor, start: usize) -> TensorResult<Tensor> {
    let (_, time, head_dim) = heads.dims3()?;
    let (mut cosines, mut sines) = (Vec::new(), Vec::new());
    (start..start + time).for_each(|position| rope_of_layer.angles(position, &mut cosines, &mut sines));
    let table = |values: Vec<f32>| Tensor::from_vec(values, (time, head_dim / 2), heads.device());
    let (cosines, sines) = (table(cosines)?, table(sines)?);
    let heads = heads.unsqueeze(0)?;
    let rotated = match rope_of_layer.pairing {
        RopePairing::Halves => rope(&heads, &cosines, &sines),
        RopePairing::Neighbours => rope_i(&heads, &cosines, &sines),
    };
    rotated?.squeeze(0)
}
