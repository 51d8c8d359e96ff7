//! The names of a vision tower's tensors. Parts are named as in GGUF files.

use crate::weights::Weights;

/// How the names of the tower's and the projector's tensors begin in GGUF files, and which words they contain in folders.
const GGUF_PREFIXES: [&str; 2] = ["v.", "mm."];
const FOLDER_PARTS: [&str; 2] = ["vision_tower.", "multi_modal_projector."];
/// How the names of a tower's tensors begin in folders. Published folders have one level more than newer ones.
const TOWERS: [&str; 4] =
    ["model.vision_tower.vision_model.", "model.vision_tower.", "vision_tower.vision_model.", "vision_tower."];
const PROJECTORS: [&str; 2] = ["model.multi_modal_projector.", "multi_modal_projector."];
/// Names in GGUF files and in folders, of the tower, of its layers, and of the projector.
const TOWER: [(&str, &str); 3] = [
    ("v.patch_embd", "embeddings.patch_embedding"),
    ("v.position_embd", "embeddings.position_embedding"),
    ("v.post_ln", "post_layernorm"),
];
const LAYER: [(&str, &str); 8] = [
    ("ln1", "layer_norm1"),
    ("ln2", "layer_norm2"),
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_out", "self_attn.out_proj"),
    ("ffn_up", "mlp.fc1"),
    ("ffn_down", "mlp.fc2"),
];
const PROJECTOR: [(&str, &str); 3] = [("mm.input_norm", "layer_norm"), ("mm.1", "linear_1"), ("mm.2", "linear_2")];

/// Whether a tensor belongs to a vision tower or its projector.
pub(crate) fn is_vision(name: &str) -> bool {
    GGUF_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || FOLDER_PARTS.iter().any(|part| name.contains(part))
}

/// Finds the names in one model's files.
pub(crate) struct VisionNames<'a> {
    pub(crate) weights: &'a Weights,
    tower: &'static str,
    projector: &'static str,
}

impl<'a> VisionNames<'a> {
    pub(crate) fn new(weights: &'a Weights) -> Self {
        let holds = |name: String| weights.shape(&name).is_some();
        let tower = TOWERS.iter().find(|prefix| holds(format!("{prefix}embeddings.patch_embedding.weight")));
        let projector = PROJECTORS.iter().find(|prefix| holds(format!("{prefix}linear_1.weight")));
        Self { weights, tower: tower.unwrap_or(&TOWERS[0]), projector: projector.unwrap_or(&PROJECTORS[0]) }
    }

    /// The name of a part of the tower or the projector, without `.weight` or `.bias`.
    pub(crate) fn part(&self, part: &str) -> String {
        match self.weights {
            Weights::Gguf(_) => part.to_owned(),
            Weights::Folder(_) => match (find(&TOWER, part), find(&PROJECTOR, part)) {
                (Some(name), _) => format!("{}{name}", self.tower),
                (None, name) => format!("{}{}", self.projector, name.unwrap_or(part)),
            },
        }
    }

    /// The name of a part of a layer.
    pub(crate) fn in_layer(&self, layer: usize, part: &str) -> String {
        match self.weights {
            Weights::Gguf(_) => format!("v.blk.{layer}.{part}"),
            Weights::Folder(_) => {
                format!("{}encoder.layers.{layer}.{}", self.tower, find(&LAYER, part).unwrap_or(part))
            }
        }
    }
}

fn find(names: &[(&str, &'static str)], part: &str) -> Option<&'static str> {
    names.iter().find(|(gguf, _)| *gguf == part).map(|(_, folder)| *folder)
}
