//! BERT: an encoder with learned positions, whose norms follow what is added to the residual stream.
//!
//! Tensors have the names of GGUF files.

use serde_json::Value as Json;

use crate::checkpoint::architecture::check_layers;
use crate::checkpoint::config_object::Config;
use crate::checkpoint::folder_tensors::{FolderTensors, RowChange};
use crate::checkpoint::invalid::invalid;
use crate::error::Result;
use crate::weights::{Folder, GgufFile, Tensors};

/// The architecture's name in both forms of files.
pub(crate) const BERT: &str = "bert";

/// How the names of tensors begin in folders.
const PREFIXES: [&str; 2] = ["", "bert."];
/// Tensors outside of layers, by their names in GGUF files and in folders.
const OUTSIDE: [(&str, &str); 5] = [
    ("token_embd.weight", "embeddings.word_embeddings.weight"),
    ("position_embd.weight", "embeddings.position_embeddings.weight"),
    ("token_types.weight", "embeddings.token_type_embeddings.weight"),
    ("token_embd_norm.weight", "embeddings.LayerNorm.weight"),
    ("token_embd_norm.bias", "embeddings.LayerNorm.bias"),
];
/// Parts of layers with weights and biases.
const IN_LAYER: [(&str, &str); 8] = [
    ("attn_q", "attention.self.query"),
    ("attn_k", "attention.self.key"),
    ("attn_v", "attention.self.value"),
    ("attn_output", "attention.output.dense"),
    ("attn_output_norm", "attention.output.LayerNorm"),
    ("ffn_up", "intermediate.dense"),
    ("ffn_down", "output.dense"),
    ("layer_output_norm", "output.LayerNorm"),
];
/// The largest number of heads, and the largest epsilon of norms; known models have 16, and 1e-12.
const MAX_HEADS: usize = 1 << 10;
const MAX_EPSILON: f32 = 0.1;

/// The sizes that a description gives. All others come from the tensors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BertArchitecture {
    pub(crate) n_layers: usize,
    pub(crate) n_heads: usize,
    pub(crate) norm_eps: f32,
}

impl BertArchitecture {
    fn new(n_layers: usize, n_heads: usize, norm_eps: f32) -> Result<Self> {
        if !(1..=MAX_HEADS).contains(&n_heads) {
            return Err(invalid(format!("the number of heads must be from 1 to {MAX_HEADS}, found {n_heads}")));
        }
        if !(0.0 < norm_eps && norm_eps <= MAX_EPSILON) {
            return Err(invalid(format!(
                "the epsilon of norms must be above 0 and at most {MAX_EPSILON}, found {norm_eps}"
            )));
        }
        Ok(Self { n_layers: check_layers(n_layers)?, n_heads, norm_eps })
    }
}

/// Whether a folder's model is one.
pub(crate) fn is_bert(config: &Json) -> bool {
    config.get("model_type").is_some_and(|name| name == BERT)
}

pub(crate) fn of_config(config: &Json) -> Result<BertArchitecture> {
    let config = Config(config);
    for (key, expected) in [("hidden_act", "gelu"), ("position_embedding_type", "absolute")] {
        if let Some(found) = config.text(key)?.filter(|found| *found != expected) {
            return Err(invalid(format!("{key} in config.json must be {expected}, found {found:?}")));
        }
    }
    if config.boolean(&["is_decoder"])? == Some(true) {
        return Err(invalid("is_decoder in config.json must be false, found true"));
    }
    let norm_eps = config.number(&["layer_norm_eps"])?.unwrap_or(1e-12) as f32; // the precision of the tensors
    let count = |key: &'static str| config.needed_count(&[key]);
    BertArchitecture::new(count("num_hidden_layers")?, count("num_attention_heads")?, norm_eps)
}

pub(crate) fn of_gguf(file: &GgufFile) -> Result<BertArchitecture> {
    let missing = |key: &str| invalid(format!("metadata {BERT}.{key} is missing"));
    let count = |key: &str| file.count(&format!("{BERT}.{key}"))?.ok_or_else(|| missing(key));
    if file.boolean("bert.attention.causal")? == Some(true) {
        return Err(invalid("metadata bert.attention.causal must be false, found true"));
    }
    let norm_eps = file.float("bert.attention.layer_norm_epsilon")?;
    let norm_eps = norm_eps.ok_or_else(|| missing("attention.layer_norm_epsilon"))?;
    BertArchitecture::new(count("block_count")?, count("attention.head_count")?, norm_eps)
}

/// The tensors of a folder under the names of GGUF files.
pub(crate) fn folder_tensors(folder: &Folder) -> Result<Tensors> {
    let mut found = FolderTensors::new(folder);
    for (name, in_folder) in OUTSIDE {
        found.add(name.to_owned(), &possible(in_folder), RowChange::default())?;
    }
    // One more than there are, which is refused if it has tensors.
    for layer in 0..=of_config(folder.config())?.n_layers {
        for (part, in_folder) in IN_LAYER {
            for kind in ["weight", "bias"] {
                let in_folder = possible(&format!("encoder.layer.{layer}.{in_folder}.{kind}"));
                found.add(format!("blk.{layer}.{part}.{kind}"), &in_folder, RowChange::default())?;
            }
        }
    }
    Ok(found.tensors)
}

fn possible(in_folder: &str) -> Vec<String> {
    PREFIXES.iter().map(|prefix| format!("{prefix}{in_folder}")).collect()
}
