//! The tensors of a part of a model, under the names that its network uses.

use std::collections::HashMap;

use crate::checkpoint::architecture::{Architecture, LayerPlan, Scales};
use crate::checkpoint::families::Family;
use crate::checkpoint::folder_tensors::{FolderTensors, RowChange};
use crate::checkpoint::rope::{RopeScaling, RopeSettings};
use crate::checkpoint::stated::StatedSizes;
use crate::error::Result;
use crate::weights::{Tensor, Tensors, Weights};

/// Layers of a part at most; known ones have 6 and 8.
pub(in crate::checkpoint) const MAX_LAYERS: usize = 64;

/// The names of all tensors in the files, with their shapes.
pub(in crate::checkpoint) fn shapes(files: &Weights) -> HashMap<String, Vec<usize>> {
    files.tensors().map(|tensor| (tensor.name.to_owned(), tensor.shape.to_vec())).collect()
}

/// Tensors under new names, each from the first of its possible names that the files have.
pub(in crate::checkpoint) fn renamed(files: &Weights, names: Vec<(String, Vec<String>)>) -> Result<Tensors> {
    match files {
        Weights::Gguf(file) => {
            let mut in_file: HashMap<String, Tensor> = file.named_tensors().collect();
            let mut tensors = Tensors::default();
            for (name, possible) in names {
                let found = possible.iter().find(|name| in_file.contains_key(*name)).or(possible.first()).cloned();
                let Some(found) = found else { continue };
                if let Some(tensor) = in_file.remove(&found) {
                    tensors.insert(name.clone(), tensor);
                }
                tensors.name_in_files(name, found);
            }
            Ok(tensors)
        }
        Weights::Folder(folder) => {
            let mut found = FolderTensors::new(folder);
            for (name, possible) in names {
                found.add(name, &possible, RowChange::default())?;
            }
            Ok(found.tensors)
        }
    }
}

/// Parts of the layers of LFM3-Audio's networks: their names in decoders, and in the files.
const BLOCK_PARTS: [(&str, &str); 17] = [
    ("attn_norm", "ln1"),
    ("post_attention_norm", "attn_post_norm"),
    ("ffn_norm", "ln2"),
    ("post_ffw_norm", "ffn_post_norm"),
    ("ffn_gate", "ffn_gate"),
    ("ffn_up", "ffn_up"),
    ("ffn_down", "ffn_down"),
    ("shortconv.in_proj", "conv_pw1"),
    ("shortconv.conv", "conv_dw"),
    ("shortconv.out_proj", "conv_pw2"),
    ("attn_q", "attn_q"),
    ("attn_k", "attn_k"),
    ("attn_v", "attn_v"),
    ("attn_output", "attn_out"),
    ("attn_gate", "attn_gate"),
    ("attn_q_norm", "attn_q_norm"),
    ("attn_k_norm", "attn_k_norm"),
];

/// The names of the layers of one of LFM3-Audio's networks, each with its name in the files, which begins with `prefix`.
pub(in crate::checkpoint) fn block_names(prefix: &str, n_layers: usize) -> Vec<(String, Vec<String>)> {
    let layer = |layer: usize| {
        BLOCK_PARTS.map(|(part, in_file)| {
            (format!("blk.{layer}.{part}.weight"), vec![format!("{prefix}{layer}.{in_file}.weight")])
        })
    };
    (0..n_layers).flat_map(layer).collect()
}

/// The facts of a stack of layers that no description gives.
pub(in crate::checkpoint) fn architecture(
    family: &'static Family,
    (n_layers, n_positions): (usize, usize),
    n_heads: Option<usize>,
    window: Option<usize>,
) -> Architecture {
    let rope = RopeSettings {
        theta: family.default_theta,
        scaling: RopeScaling::None,
        n_rotated: None,
        query_growth: None,
        sections: None,
    };
    Architecture {
        family,
        name: family.gguf,
        n_further_layers: 0,
        stated: StatedSizes::default(),
        norm_eps: 1e-5,
        context_size: n_positions,
        is_bidirectional: false,
        n_heads,
        head_dim: None,
        n_delta_keys: None,
        sliding_rope: rope.clone(),
        rope,
        layers: vec![LayerPlan { window, has_rope: true, key_values_of: None }; n_layers],
        mixture: None,
        scales: Scales::default(),
    }
}
