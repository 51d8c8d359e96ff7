//! The numbers of heads in a layer, and the size of each.

use crate::checkpoint::Family;
use crate::checkpoint::{invalid, mamba};
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::layer_weights::{LayerWeights, StackedRows};

/// The tensor that stacks queries, keys and values, in files that have one.
pub(crate) const STACKED: &str = "attn_qkv";

/// The heads of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heads {
    pub(crate) n_queries: usize,
    pub(crate) n_keys: usize,
    pub(crate) head_dim: usize,
}

impl Heads {
    pub(crate) fn read<B: Backend>(weights: &LayerWeights<'_, B>) -> Result<Self> {
        let layer = weights.layer;
        if weights.shape("ssm_in").is_some() {
            return Err(mamba(layer));
        }
        let head_dim = head_dim(weights)?;
        let (q_rows, k_rows) = match (weights.architecture.layers[layer].key_values_of, stacked(weights)?) {
            (Some(source), _) => (weights.rows("attn_q")?, key_rows_of(weights, source, head_dim)?),
            (None, Some(stacked)) => stacked_rows(stacked, head_dim, weights)?,
            (None, None) => (weights.rows("attn_q")?, weights.rows("attn_k")?),
        };
        let rows_of_query = rows_of_query(weights.architecture.family) * head_dim;
        let invalid_heads = || {
            invalid(format!(
                "the query and key rows of layer {layer} must divide into heads of {head_dim}, found {q_rows} and {k_rows}"
            ))
        };
        if head_dim == 0 || head_dim % 2 != 0 || q_rows % rows_of_query != 0 || k_rows % head_dim != 0 {
            return Err(invalid_heads());
        }
        let heads = Self { n_queries: q_rows / rows_of_query, n_keys: k_rows / head_dim, head_dim };
        let is_grouped = heads.n_keys != 0 && heads.n_queries.is_multiple_of(heads.n_keys);
        if is_grouped { Ok(heads) } else { Err(invalid_heads()) }
    }

    /// Rows of the map to queries, and to their gates if the family has them.
    pub(crate) fn projected_query_rows(&self, family: &Family) -> usize {
        self.n_queries * self.head_dim * rows_of_query(family)
    }
}

/// Rows of the map to queries, for each element of a query head.
fn rows_of_query(family: &Family) -> usize {
    if family.has_query_gates { 2 } else { 1 }
}

fn head_dim<B: Backend>(weights: &LayerWeights<'_, B>) -> Result<usize> {
    let architecture = weights.architecture;
    let described = architecture.head_dim.or_else(|| Some(weights.hidden / architecture.n_heads?));
    match (architecture.family.has_head_norms, weights.shape("attn_q_norm"), described) {
        (true, Some(&[head_dim]), _) => Ok(head_dim),
        (true, ..) => Err(weights.tensors.missing(&weights.name("attn_q_norm"))),
        (false, _, Some(head_dim)) => Ok(head_dim),
        (false, _, None) => Err(invalid("the files must give the head size or the number of heads")),
    }
}

/// The rows of keys in the layer whose keys and values this one reads.
fn key_rows_of<B: Backend>(weights: &LayerWeights<'_, B>, source: usize, expected: usize) -> Result<usize> {
    let source = &LayerWeights { layer: source, ..*weights };
    match head_dim(source)? {
        head_dim if head_dim == expected => source.rows("attn_k"),
        head_dim => Err(invalid(format!(
            "heads of layer {} must have the size of those in layer {}, {head_dim}, found {expected}",
            weights.layer, source.layer
        ))),
    }
}

/// The tensor that stacks queries, keys and values, if the layer has it.
pub(crate) fn stacked<B: Backend>(weights: &LayerWeights<'_, B>) -> Result<Option<StackedRows>> {
    weights.stacked(STACKED, "attn_q")
}

/// The numbers of rows of queries and of keys in a tensor that also has values.
fn stacked_rows<B: Backend>(
    stacked: StackedRows,
    head_dim: usize,
    weights: &LayerWeights<'_, B>,
) -> Result<(usize, usize)> {
    let n_heads = weights.architecture.n_heads.ok_or_else(|| invalid("the files must give the number of heads"))?;
    let q_rows = n_heads.saturating_mul(head_dim);
    match stacked.n_rows.checked_sub(q_rows) {
        Some(rest) if rest % 2 == 0 => Ok((q_rows, rest / 2)),
        _ => Err(invalid(format!(
            "tensor {} must have {q_rows} rows for queries and as many for keys as for values, found {}",
            weights.file_name(STACKED),
            stacked.n_rows
        ))),
    }
}
