//! A folder's model as a GGUF file describes it: the names, the shapes and the order of rows that llama.cpp's converter writes.
//!
//! This is the inverse of `metadata` and of the names in `family`.

use std::ops::Range;

use crate::error::{Result, SdkError};
use crate::model::architecture::Architecture;
use crate::model::decoder::embedding_shape;
use crate::model::dense;
use crate::model::heads::{Heads, STACKED};
use crate::model::invalid::invalid;
use crate::model::layer_weights::LayerWeights;
use crate::model::metadata::{LONG_FACTORS, SHORT_FACTORS};
use crate::model::names;
use crate::model::rope::{self, RopePairing, RopeScaling};
use crate::weights::Weights;

/// Families whose folders can be written, by their names in GGUF files. Those of Qwen3.5 cannot: GGUF files have the value
/// heads of delta nets in another order, which is one of columns in some tensors.
const FAMILIES: [&str; 12] = [
    "lfm2",
    "lfm2moe",
    "lfm3",
    "gemma3",
    "llama",
    "mistral3",
    "granite",
    "granitehybrid",
    "phi3",
    "qwen2",
    "qwen3",
    "smollm3",
];

/// A tensor of a GGUF file.
pub(crate) struct ExportedTensor {
    pub(crate) name: String,
    /// Outermost first.
    pub(crate) shape: Vec<usize>,
    pub(crate) source: ExportSource,
}

/// Where the values of a tensor come from.
pub(crate) enum ExportSource {
    Folder(FolderRows),
    /// Values that the folder only describes.
    Values(Vec<f32>),
}

/// For each row its place in the folder, if the order differs.
type RowOrder = Option<Vec<usize>>;

/// The rows of tensors of a folder.
pub(crate) struct FolderRows {
    /// Tensors of one shape, one after the other.
    pub(crate) names: Vec<String>,
    pub(crate) order: RowOrder,
    /// Whether values are one more than in the folder.
    pub(crate) adds_one: bool,
}

/// All tensors of the decoder, layer by layer.
pub(crate) fn tensors(weights: &Weights, architecture: &Architecture) -> Result<Vec<ExportedTensor>> {
    let (family, prefix) = (architecture.family, names::folder_prefix(weights));
    if !FAMILIES.contains(&family.gguf) {
        let name = family.model_type;
        return Err(invalid(format!(
            "a folder of architecture {name:?} cannot be written as a GGUF file; give a GGUF file"
        )));
    }
    let (_, hidden) = embedding_shape(weights)?;
    let mut tensors = Vec::new();
    let mut add = |name: String, folder: String, order: RowOrder| {
        if let Some(shape) = weights.shape(&folder) {
            let adds_one = family.folder_norms_lack_one && name.ends_with("_norm.weight");
            let mut shape = squeezed(shape);
            if let (Some(order), Some(n_rows)) = (&order, shape.first_mut()) {
                *n_rows = order.len();
            }
            let rows = FolderRows { names: vec![folder], order, adds_one };
            tensors.push(ExportedTensor { name, shape, source: ExportSource::Folder(rows) });
        }
    };
    add("token_embd.weight".to_owned(), names::embedding(weights), None);
    add(names::exported_output_norm(family).to_owned(), names::output_norm(weights, architecture), None);
    if let Some(head) = names::head(weights, architecture) {
        add("output.weight".to_owned(), head.to_owned(), None);
    }
    let mut stacks = Vec::new();
    for layer in 0..architecture.layers.len() {
        let layer_weights = LayerWeights { backend: &(), weights, architecture, prefix, layer, hidden };
        for part in family.parts() {
            for (exported, order) in pieces(&layer_weights, part)? {
                for kind in ["weight", "bias"] {
                    add(format!("blk.{layer}.{exported}.{kind}"), layer_weights.tensor(part, kind), order.clone());
                }
            }
            stacks.extend(stack(&layer_weights, part));
        }
        add(format!("blk.{layer}.exp_probs_b.bias"), format!("{prefix}layers.{layer}.feed_forward.expert_bias"), None);
    }
    tensors.extend(stacks);
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
    let source = ExportSource::Folder(FolderRows { names, order: None, adds_one: false });
    Some(ExportedTensor { name: format!("blk.{}.{part}.weight", weights.layer), shape, source })
}

/// The divisors of the frequencies of rotary positions, for scalings that metadata has no keys for.
fn divisors(weights: &Weights, architecture: &Architecture) -> Result<Option<ExportedTensor>> {
    let prefix = names::folder_prefix(weights);
    let (_, hidden) = embedding_shape(weights)?;
    let layers = (0..architecture.layers.len())
        .filter(|layer| architecture.layers[*layer].window.is_none())
        .map(|layer| LayerWeights { backend: &(), weights, architecture, prefix, layer, hidden });
    let is_attention = |layer: &LayerWeights<'_, ()>| layer.shape("attn_q").or(layer.shape(STACKED)).is_some();
    let Some(layer) = layers.into_iter().find(is_attention) else { return Ok(None) };
    let divisors = rope::exported_divisors(&architecture.rope, Heads::read(&layer)?.head_dim);
    Ok(divisors.map(|divisors| ExportedTensor {
        name: rope::DIVISORS.to_owned(),
        shape: vec![divisors.len()],
        source: ExportSource::Values(divisors),
    }))
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
