//! The tensors of a folder's delta nets as GGUF files have them.
//!
//! Value heads that share a key head are next to each other in folders. In GGUF files their distance is the number of key heads.

use crate::error::Result;
use crate::model::delta_net::DeltaHeads;
use crate::model::exported_tensor::{ExportSource, ExportedTensor, FolderRows};
use crate::model::layer_weights::LayerWeights;

/// The parts of a layer that are its delta net's.
pub(crate) const PARTS: [&str; 9] =
    ["attn_qkv", "attn_gate", "ssm_beta", "ssm_alpha", "ssm_a", "ssm_dt", "ssm_conv1d", "ssm_norm", "ssm_out"];

/// All tensors of a layer's delta net.
pub(crate) fn tensors(weights: &LayerWeights<'_, ()>) -> Result<Vec<ExportedTensor>> {
    let heads = DeltaHeads::read(weights)?;
    let n_key_rows = 2 * heads.n_keys * heads.key_dim;
    let values = elements(heads, heads.value_dim);
    let channels: Vec<usize> = (0..n_key_rows).chain(values.iter().map(|row| n_key_rows + row)).collect();
    let one_each = elements(heads, 1);
    let tensor = |exported: &str, name: String, change: &dyn Fn(&mut FolderRows)| {
        let shape = weights.weights.shape(&name).ok_or_else(|| weights.weights.missing(&name))?;
        let shape = shape.iter().copied().filter(|size| shape.len() < 3 || *size != 1).collect();
        let mut rows = FolderRows::new(name);
        change(&mut rows);
        let name = format!("blk.{}.{exported}", weights.layer);
        Ok(ExportedTensor { name, shape, source: ExportSource::Folder(rows) })
    };
    let with_rows = |part: &str, order: &[usize]| {
        tensor(&format!("{part}.weight"), weights.name(part), &|rows| rows.order = Some(order.to_vec()))
    };
    let logarithms = weights.weights.floats(&weights.bare_name("ssm_a"), &[heads.n_values])?;
    let decays: Vec<f32> = one_each.iter().map(|head| -logarithms[*head].exp()).collect();
    Ok(vec![
        with_rows("attn_qkv", &channels)?,
        with_rows("attn_gate", &values)?,
        with_rows("ssm_beta", &one_each)?,
        with_rows("ssm_alpha", &one_each)?,
        with_rows("ssm_conv1d", &channels)?,
        tensor("ssm_dt.bias", weights.bare_name("ssm_dt"), &|rows| rows.order = Some(one_each.clone()))?,
        tensor("ssm_norm.weight", weights.name("ssm_norm"), &|_| {})?,
        tensor("ssm_out.weight", weights.name("ssm_out"), &|rows| rows.columns = Some(values.clone()))?,
        ExportedTensor {
            name: format!("blk.{}.ssm_a", weights.layer),
            shape: vec![heads.n_values],
            source: ExportSource::Values(decays),
        },
    ])
}

/// For each element of the value heads in GGUF files its place in folders; heads have `size` elements.
fn elements(heads: DeltaHeads, size: usize) -> Vec<usize> {
    let n_sharing = heads.n_values / heads.n_keys;
    let head = |place: usize| place % heads.n_keys * n_sharing + place / heads.n_keys;
    (0..heads.n_values).flat_map(|place| (0..size).map(move |element| head(place) * size + element)).collect()
}
