//! Grouped-query attention of one sequence, page by page.

use candle_core::{D, Device, Result as TensorResult, Tensor};
use candle_nn::ops::softmax_last_dim;

use crate::model::candle::pages::{CandleKeyValues, PAGE};
use crate::model::heads::Heads;
use crate::model::operations::Sight;

/// Scores in memory at most: 64 MB.
const MAX_SCORES: usize = 1 << 24;

/// Attention of queries, `(time, query heads * head_dim)`, over all tokens so far, including the tokens of the queries; over those
/// after a query only if it is two-way. The result has the same shape.
pub(super) fn attend(
    q: &Tensor,
    (past, is_two_way): (&CandleKeyValues, bool),
    heads: Heads,
    sight: Sight,
) -> TensorResult<Tensor> {
    let Heads { n_queries, n_keys, head_dim } = heads;
    let time = q.dim(0)?;
    let q = q.reshape((time, n_queries, head_dim))?.transpose(0, 1)?.contiguous()?; // (heads, time, head_dim)
    // Pages that no token of the chunk attends to are skipped. Only such pages have been released.
    let start = past.n_tokens() - time;
    let n_unseen = sight.window.map_or(0, |window| (start + 1).saturating_sub(window)) / PAGE;
    let pages = past.pages().skip(n_unseen - past.first_page()).collect::<TensorResult<Vec<_>>>()?;
    let span = past.n_tokens() - n_unseen * PAGE;

    // The queries that share a key head lie below each other, so that keys and values are not copied for each of them.
    let q = q.reshape((n_keys, n_queries / n_keys * time, head_dim))?;
    let scores = pages.iter().map(|(k, _)| q.matmul(&k.transpose(1, 2)?)).collect::<TensorResult<Vec<_>>>()?;
    let mut scores = (joined(scores)? * f64::from(sight.scale))?; // (kv_heads, group * time, span)
    if let Some(mask) = mask((sight, is_two_way), time, span, q.device())? {
        let masked = scores.reshape((n_queries, time, span))?.broadcast_add(&mask)?;
        scores = masked.reshape((n_keys, n_queries / n_keys * time, span))?;
    }
    let mixed = weighted_sum(&softmax_last_dim(&scores)?, &pages)?; // (kv_heads, group * time, head_dim)
    mixed.reshape((n_queries, time, head_dim))?.transpose(0, 1)?.contiguous()?.reshape((time, n_queries * head_dim))
}

/// Attention of queries, `(rows, query heads * head_dim)`, over all keys and values. The result has the same shape.
pub(super) fn attend_all(q: &Tensor, past: &CandleKeyValues, heads: Heads, scale: f32) -> TensorResult<Tensor> {
    let Heads { n_queries, n_keys, head_dim } = heads;
    let (pages, n_rows) = (past.pages().collect::<TensorResult<Vec<_>>>()?, q.dim(0)?);
    let at_once = (MAX_SCORES / (n_queries * past.n_tokens()).max(1)).max(1);
    let some = |start: usize| {
        let n = at_once.min(n_rows - start);
        let q = q.narrow(0, start, n)?.reshape((n, n_queries, head_dim))?.transpose(0, 1)?.contiguous()?;
        let q = q.reshape((n_keys, n_queries / n_keys * n, head_dim))?;
        let scores = pages.iter().map(|(k, _)| q.matmul(&k.transpose(1, 2)?)).collect::<TensorResult<Vec<_>>>()?;
        let shares = softmax_last_dim(&(joined(scores)? * f64::from(scale))?)?;
        let mixed = weighted_sum(&shares, &pages)?.reshape((n_queries, n, head_dim))?;
        mixed.transpose(0, 1)?.contiguous()?.reshape((n, n_queries * head_dim))
    };
    Tensor::cat(&(0..n_rows).step_by(at_once).map(some).collect::<TensorResult<Vec<_>>>()?, 0)
}

/// 0 where the token of a row may see the token of a column, else minus infinity: `(time, span)`, both up to the last token.
/// `None` where all may see all.
fn mask((sight, is_two_way): (Sight, bool), time: usize, span: usize, device: &Device) -> TensorResult<Option<Tensor>> {
    let [window, n_after] = [sight.window, sight.n_after].map(|limit| limit.unwrap_or(usize::MAX));
    if time == 1 && span <= window {
        return Ok(None);
    }
    let past = span - time;
    let is_seen = |row: usize, column: usize| {
        let n_seen = if is_two_way { n_after } else { 0 };
        column.saturating_sub(past + row) <= n_seen && (past + row).saturating_sub(column) < window
    };
    let value = |row: usize, column: usize| if is_seen(row, column) { 0.0 } else { f32::NEG_INFINITY };
    let mask: Vec<f32> = (0..time).flat_map(|row| (0..span).map(move |column| value(row, column))).collect();
    Tensor::from_vec(mask, (time, span), device).map(Some)
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
