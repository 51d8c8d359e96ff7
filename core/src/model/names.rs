//! The names of a decoder's tensors outside of its layers, and which tensors are the decoder's.

use crate::model::architecture::Architecture;
use crate::model::family::Family;
use crate::weights::{TensorDescription, Weights};

/// How the names of the decoder's tensors begin in folders. Models with several parts, such as one for images, have a prefix
/// for each.
const PREFIXES: [&str; 3] = ["model.", "model.language_model.", "language_model.model."];
/// The names in folders of the matrix that gives the logits.
const FOLDER_HEADS: [&str; 2] = ["lm_head.weight", "language_model.lm_head.weight"];
/// How the names of tensors of other parts begin in GGUF files.
const OTHER_PARTS: [&str; 2] = ["v.", "mm."];

/// The prefix of the decoder in a folder.
pub(crate) fn folder_prefix(weights: &Weights) -> &'static str {
    let has_embedding = |prefix: &&&str| weights.shape(&format!("{prefix}embed_tokens.weight")).is_some();
    PREFIXES.iter().find(has_embedding).unwrap_or(&PREFIXES[0])
}

/// The embedding of tokens.
pub(crate) fn embedding(weights: &Weights) -> String {
    match weights {
        Weights::Gguf(_) => "token_embd.weight".to_owned(),
        Weights::Folder(_) => format!("{}embed_tokens.weight", folder_prefix(weights)),
    }
}

/// The table of per-layer embeddings, which some models have.
pub(crate) fn per_layer_table(weights: &Weights) -> String {
    match weights {
        Weights::Gguf(_) => "per_layer_token_embd.weight".to_owned(),
        Weights::Folder(_) => format!("{}embed_tokens_per_layer.weight", folder_prefix(weights)),
    }
}

/// The map from a token's embedding to its per-layer vectors.
pub(crate) fn per_layer_projection(weights: &Weights) -> String {
    match weights {
        Weights::Gguf(_) => "per_layer_model_proj.weight".to_owned(),
        Weights::Folder(_) => format!("{}per_layer_model_projection.weight", folder_prefix(weights)),
    }
}

/// The norm of these vectors.
pub(crate) fn per_layer_norm(weights: &Weights) -> String {
    match weights {
        Weights::Gguf(_) => "per_layer_proj_norm.weight".to_owned(),
        Weights::Folder(_) => format!("{}per_layer_projection_norm.weight", folder_prefix(weights)),
    }
}

/// The norm before the logits. Newer GGUF files of LFM2 name it after the embedding, all others after the output.
pub(crate) fn output_norm(weights: &Weights, architecture: &Architecture) -> String {
    match weights {
        Weights::Gguf(_) if weights.shape("token_embd_norm.weight").is_none() => "output_norm.weight".to_owned(),
        Weights::Gguf(_) => "token_embd_norm.weight".to_owned(),
        Weights::Folder(_) => {
            format!("{}{}.weight", folder_prefix(weights), architecture.family.folder_output_norm())
        }
    }
}

/// The same in a GGUF file of a family, when it is written.
pub(crate) fn exported_output_norm(family: &Family) -> &'static str {
    match family.gguf {
        "lfm2" | "lfm2moe" => "token_embd_norm.weight",
        _ => "output_norm.weight",
    }
}

/// The architecture that a GGUF file of a family is written with. Hybrids without Mamba layers, the only ones that are
/// supported, are plain models there.
pub(crate) fn exported_architecture(family: &Family) -> &'static str {
    if family.gguf == "granitehybrid" { "granite" } else { family.gguf }
}

/// The matrix that gives the logits, if it is not the embedding.
pub(crate) fn head(weights: &Weights, architecture: &Architecture) -> Option<&'static str> {
    let name = head_name(weights);
    // Without a description, the tensor decides. A matrix with other values was trained after the two had been tied.
    let is_tied = match architecture.is_tied {
        None => weights.shape(name).is_none(),
        Some(is_tied) => is_tied && !weights.differ(name, &embedding(weights)),
    };
    (!is_tied).then_some(name)
}

fn head_name(weights: &Weights) -> &'static str {
    match weights {
        Weights::Gguf(_) => "output.weight",
        Weights::Folder(_) => {
            FOLDER_HEADS.into_iter().find(|name| weights.shape(name).is_some()).unwrap_or(FOLDER_HEADS[0])
        }
    }
}

/// The tensors of a decoder of so many layers, without those of other parts.
pub(crate) fn decoder_tensors(weights: &Weights, n_layers: usize) -> impl Iterator<Item = TensorDescription<'_>> {
    let prefix = folder_prefix(weights);
    weights.tensors().filter(move |tensor| match weights {
        Weights::Gguf(_) => {
            let is_other = OTHER_PARTS.iter().any(|part| tensor.name.starts_with(part));
            !is_other && block(tensor.name).is_none_or(|block| block < n_layers)
        }
        Weights::Folder(_) => tensor.name.starts_with(prefix) || FOLDER_HEADS.contains(&tensor.name),
    })
}

/// The number of the layer that a tensor of a GGUF file belongs to. Layers after the last one predict further tokens.
fn block(name: &str) -> Option<usize> {
    name.strip_prefix("blk.")?.split('.').next()?.parse().ok()
}
