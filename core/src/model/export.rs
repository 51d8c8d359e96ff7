//! A folder's model as a GGUF file describes it: the names, the shapes and the order of rows that llama.cpp's converter writes.
//!
//! This is the inverse of `metadata` and of the names in `family`.

use std::ops::Range;

use crate::error::{Result, SdkError};
use crate::model::architecture::Architecture;
use crate::model::decoder::embedding_shape;
use crate::model::delta_net::DeltaHeads;
use crate::model::dense;
use crate::model::export_delta_net;
use crate::model::exported_tensor::{ExportSource, ExportedTensor, FolderRows, RowOrder};
use crate::model::heads::Heads;
use crate::model::layer_weights::LayerWeights;
use crate::model::metadata::{LONG_FACTORS, SHORT_FACTORS};
use crate::model::names;
use crate::model::rope::{self, RopePairing, RopeScaling};
use crate::weights::Weights;

/// The parts that layers which read the keys and values of another one do not need.
const KEYS_AND_VALUES: [&str; 3] = ["attn_k", "attn_k_norm", "attn_v"];

/// All tensors of the decoder, layer by layer.
pub(crate) fn tensors(weights: &Weights, architecture: &Architecture) -> Result<Vec<ExportedTensor>> {
    let (family, prefix) = (architecture.family, names::folder_prefix(weights));
    let (_, hidden) = embedding_shape(weights)?;
    let mut tensors = Vec::new();
    let mut add = |name: String, folder: String, order: RowOrder| {
        if let Some(shape) = weights.shape(&folder) {
            let adds_one = family.folder_norms_lack_one && name.ends_with("_norm.weight");
            let mut shape = squeezed(shape);
            if let (Some(order), Some(n_rows)) = (&order, shape.first_mut()) {
                *n_rows = order.len();
            }
            let rows = FolderRows { order, adds_one, ..FolderRows::new(folder) };
            tensors.push(ExportedTensor { name, shape, source: ExportSource::Folder(rows) });
        }
    };
    add("token_embd.weight".to_owned(), names::embedding(weights), None);
    add(names::exported_output_norm(family).to_owned(), names::output_norm(weights, architecture), None);
    if let Some(head) = names::head(weights, architecture) {
        add("output.weight".to_owned(), head.to_owned(), None);
    }
    add("per_layer_token_embd.weight".to_owned(), names::per_layer_table(weights), None);
    add("per_layer_model_proj.weight".to_owned(), names::per_layer_projection(weights), None);
    add("per_layer_proj_norm.weight".to_owned(), names::per_layer_norm(weights), None);
    let (mut stacks, mut delta_nets) = (Vec::new(), Vec::new());
    for layer in 0..architecture.layers.len() {
        let layer_weights = LayerWeights { backend: &(), weights, architecture, prefix, layer, hidden };
        let is_delta_net = DeltaHeads::are_in(&layer_weights);
        if is_delta_net {
            delta_nets.extend(export_delta_net::tensors(&layer_weights)?);
        }
        let shares = architecture.layers[layer].key_values_of.is_some();
        for part in family.parts() {
            if is_delta_net && export_delta_net::PARTS.contains(&part) || shares && KEYS_AND_VALUES.contains(&part) {
                continue;
            }
            for (exported, order) in pieces(&layer_weights, part)? {
                for kind in ["weight", "bias"] {
                    add(format!("blk.{layer}.{exported}.{kind}"), layer_weights.tensor(part, kind), order.clone());
                }
            }
            stacks.extend(stack(&layer_weights, part));
        }
        for (exported, name) in
            [("exp_probs_b.bias", "feed_forward.expert_bias"), ("layer_output_scale.weight", "layer_scalar")]
        {
            add(format!("blk.{layer}.{exported}"), format!("{prefix}layers.{layer}.{name}"), None);
        }
    }
    tensors.extend(stacks);
    tensors.extend(delta_nets);
    tensors.extend(divisors(weights, architecture)?);
    tensors.extend(long_factors(architecture));
    Ok(tensors)
}

/// The shape without the middle dimension of convolutions.
fn squeezed(shape: &[usize]) -> Vec<usize> {
    match shape {
        &[rows, 1, columns] => vec![rows, columns],
        shape => shape.to_vec(),
    }
}

/// The parts of a GGUF file that a part of a folder becomes, each with the places of its rows, if they are not the same.
fn pieces(weights: &LayerWeights<'_, ()>, part: &'static str) -> Result<Vec<(&'static str, RowOrder)>> {
    let keeps_stacks = weights.architecture.family.gguf == "phi3";
    let places = |rows: Range<usize>| Some(rows.collect());
    Ok(match part {
        _ if weights.shape(part).is_none() => vec![(part, None)],
        "ffn_gate_up" if keeps_stacks => vec![("ffn_up", None)],
        "ffn_gate_up" => {
            let width = dense::width(weights)?;
            vec![("ffn_gate", places(0..width)), ("ffn_up", places(width..2 * width))]
        }
        "attn_qkv" if !keeps_stacks => {
            let Heads { n_queries, n_keys, head_dim } = Heads::read(weights)?;
            let (keys, values) = (n_queries * head_dim, (n_queries + n_keys) * head_dim);
            let end = values + n_keys * head_dim;
            let rotated =
                |rows: Range<usize>| Ok::<_, SdkError>(row_order(weights, rows.clone())?.or_else(|| places(rows)));
            vec![("attn_q", rotated(0..keys)?), ("attn_k", rotated(keys..values)?), ("attn_v", places(values..end))]
        }
        "attn_q" | "attn_k" => vec![(part, row_order(weights, 0..weights.rows(part)?)?)],
        _ => vec![(part, None)],
    })
}

/// The places of the rows of queries or keys, whose pairs are neighbours in GGUF files and halves in folders.
fn row_order(weights: &LayerWeights<'_, ()>, rows: Range<usize>) -> Result<RowOrder> {
    if weights.architecture.family.gguf_pairing == RopePairing::Halves {
        return Ok(None);
    }
    let head_dim = Heads::read(weights)?.head_dim;
    let place = |row: usize| {
        let (head, in_head) = (row / head_dim * head_dim, row % head_dim);
        head + in_head % 2 * (head_dim / 2) + in_head / 2
    };
    Ok(Some(rows.map(place).collect()))
}

/// The stack of the experts' matrices, if the part has experts in this layer.
fn stack(weights: &LayerWeights<'_, ()>, part: &str) -> Option<ExportedTensor> {
    let name = weights.expert_name(part, 0);
    if name == weights.name(part) {
        return None;
    }
    let shape = weights.weights.shape(&name)?;
    let names = (0..).map(|expert| weights.expert_name(part, expert));
    let names: Vec<_> = names.take_while(|name| weights.weights.shape(name) == Some(shape)).collect();
    let shape = [&[names.len()], shape].concat();
    let source = ExportSource::Folder(FolderRows { names, order: None, columns: None, adds_one: false });
    Some(ExportedTensor { name: format!("blk.{}.{part}.weight", weights.layer), shape, source })
}

/// The divisors of the frequencies of rotary positions, for scalings that metadata has no keys for.
fn divisors(weights: &Weights, architecture: &Architecture) -> Result<Option<ExportedTensor>> {
    let prefix = names::folder_prefix(weights);
    let (_, hidden) = embedding_shape(weights)?;
    let tensor = |divisors: Vec<f32>| ExportedTensor {
        name: rope::DIVISORS.to_owned(),
        shape: vec![divisors.len()],
        source: ExportSource::Values(divisors),
    };
    let layers = (0..architecture.layers.len())
        .filter(|layer| architecture.layers[*layer].window.is_none())
        .map(|layer| LayerWeights { backend: &(), weights, architecture, prefix, layer, hidden });
    for layer in layers {
        if let Some(heads) = Heads::of_attention(&layer)? {
            return Ok(rope::exported_divisors(&architecture.rope, heads.head_dim).map(tensor));
        }
    }
    Ok(None)
}

/// The factors of LongRoPE.
fn long_factors(architecture: &Architecture) -> Vec<ExportedTensor> {
    let RopeScaling::Long(long) = &architecture.rope.scaling else { return Vec::new() };
    let tensor = |(name, factors): (&str, &Vec<f32>)| ExportedTensor {
        name: name.to_owned(),
        shape: vec![factors.len()],
        source: ExportSource::Values(factors.clone()),
    };
    [(LONG_FACTORS, &long.long), (SHORT_FACTORS, &long.short)].map(tensor).into()
}
