//! How the tensors of a folder's delta nets change to tensors of GGUF files.
//!
//! Value heads that share a key head are next to each other in folders. In GGUF files their distance is the number of key heads.

use crate::checkpoint::folder_tensors::RowChange;

/// Value heads of a delta net at most; known models have 48.
const MAX_HEADS: usize = 1 << 12;

/// The order of rows of a delta net's tensors.
pub(super) struct DeltaOrders {
    /// For each row of queries, keys and values its place in the folder.
    channels: Vec<usize>,
    /// The same for the rows of values alone, and for the value heads.
    values: Vec<usize>,
    heads: Vec<usize>,
}

impl DeltaOrders {
    /// The orders for these numbers of heads and channels; `None` for sizes that do not fit.
    pub(super) fn new(n_keys: usize, n_values: usize, n_channels: usize, value_dim: usize) -> Option<Self> {
        if n_keys == 0 || !n_values.is_multiple_of(n_keys) || MAX_HEADS < n_values {
            return None;
        }
        let n_key_rows = n_channels.checked_sub(n_values.checked_mul(value_dim)?)?;
        let n_sharing = n_values / n_keys;
        let head = |place: usize| place % n_keys * n_sharing + place / n_keys;
        let elements = |size: usize| -> Vec<usize> {
            (0..n_values).flat_map(|place| (0..size).map(move |element| head(place) * size + element)).collect()
        };
        let values = elements(value_dim);
        let channels = (0..n_key_rows).chain(values.iter().map(|row| n_key_rows + row)).collect();
        Some(Self { channels, values, heads: elements(1) })
    }

    /// For each value head its place in the folder.
    pub(super) fn heads(&self) -> &[usize] {
        &self.heads
    }

    /// How a part changes; `None` for a part that is not the delta net's.
    pub(super) fn change(&self, part: &str) -> Option<RowChange> {
        Some(match part {
            "attn_qkv" | "ssm_conv1d" => RowChange::order(Some(self.channels.clone())),
            "attn_gate" => RowChange::order(Some(self.values.clone())),
            "ssm_beta" | "ssm_alpha" | "ssm_dt" => RowChange::order(Some(self.heads.clone())),
            "ssm_out" => RowChange::columns(self.values.clone()),
            "ssm_norm" | "ssm_a" => RowChange::default(),
            _ => return None,
        })
    }
}
