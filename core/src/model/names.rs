//! What the two file forms say of an architecture, and how each names its tensors.

use serde_json::Value as Json;

use crate::error::Result;
use crate::model::{Architecture, wrong};
use crate::weights::{GgufFile, Weights};

/// The settings of a GGUF file. Shapes are not among them: the tensors themselves tell.
pub(crate) fn from_gguf(file: &GgufFile) -> Result<Architecture> {
    match file.text("general.architecture")? {
        Some("lfm2") => {}
        Some(other) => return Err(wrong(format!("architecture {other:?} is not supported"))),
        None => return Err(wrong("metadata general.architecture is missing")),
    }
    if file.integer("lfm2.attention.sliding_window")?.is_some_and(|window| 0 < window) {
        return Err(wrong("sliding-window attention is not supported"));
    }
    if let Some(scaling) = file.text("lfm2.rope.scaling.type")?.filter(|scaling| *scaling != "none") {
        return Err(wrong(format!("rope scaling {scaling:?} is not supported")));
    }
    if file.boolean("lfm2.attention.causal")? == Some(false) {
        return Err(wrong("attention in both directions is not supported"));
    }
    let missing = |key: &str| wrong(format!("metadata lfm2.{key} is missing"));
    Ok(Architecture {
        norm_eps: file
            .float("lfm2.attention.layer_norm_rms_epsilon")?
            .ok_or_else(|| missing("attention.layer_norm_rms_epsilon"))?
            .into(),
        rope_theta: file.float("lfm2.rope.freq_base")?.ok_or_else(|| missing("rope.freq_base"))?,
        n_layers: file.count("lfm2.block_count")?.ok_or_else(|| missing("block_count"))?,
        context_size: file.count("lfm2.context_length")?.ok_or_else(|| missing("context_length"))?,
    })
}

/// The settings of a config.json, under all names that they have had.
pub(crate) fn from_config(config: &Json) -> Result<Architecture> {
    match config.get("model_type").and_then(Json::as_str) {
        Some("lfm2") => {}
        Some(other) => return Err(wrong(format!("architecture {other:?} is not supported"))),
        None => return Err(wrong("config.json names no model_type")),
    }
    let empty = Json::Null;
    let rope = config.get("rope_parameters").unwrap_or(&empty);
    let scaling = [rope, config.get("rope_scaling").unwrap_or(&empty)]
        .into_iter()
        .find_map(|rope| rope.get("rope_type").or_else(|| rope.get("type")));
    if scaling.is_some_and(|kind| kind != "default") {
        return Err(wrong(format!("rope scaling {} is not supported", scaling.unwrap_or(&empty))));
    }
    let layer_types = config.get("layer_types").and_then(Json::as_array);
    if layer_types.is_some_and(|types| types.iter().any(|kind| kind == "sliding_attention")) {
        return Err(wrong("sliding-window attention is not supported"));
    }
    let number = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| config.get(key)?.as_f64());
        found.ok_or_else(|| wrong(format!("config.json has no {}", keys[0])))
    };
    let count = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| usize::try_from(config.get(key)?.as_u64()?).ok());
        found.ok_or_else(|| wrong(format!("config.json has no {}", keys[0])))
    };
    let rope_theta = match rope.get("rope_theta").and_then(Json::as_f64) {
        Some(nested) => nested,
        None => number(&["rope_theta"])?,
    };
    Ok(Architecture {
        norm_eps: number(&["norm_eps", "block_norm_eps"])?,
        rope_theta: rope_theta as f32, // as every implementation computes it
        n_layers: count(&["num_hidden_layers"])?,
        context_size: count(&["max_position_embeddings"])?,
    })
}

/// Tensor names, each in both forms: config folders' first.
const NAMES: [(&str, &str); 14] = [
    ("operator_norm", "attn_norm"),
    ("ffn_norm", "ffn_norm"),
    ("feed_forward.w1", "ffn_gate"),
    ("feed_forward.w2", "ffn_down"),
    ("feed_forward.w3", "ffn_up"),
    ("conv.in_proj", "shortconv.in_proj"),
    ("conv.conv", "shortconv.conv"),
    ("conv.out_proj", "shortconv.out_proj"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.out_proj", "attn_output"),
    ("self_attn.q_layernorm", "attn_q_norm"),
    ("self_attn.k_layernorm", "attn_k_norm"),
];

/// The name of a layer's tensor, in the form of the file. `part` is spelled as in config folders.
pub(crate) fn in_layer(weights: &Weights, layer: usize, part: &str) -> String {
    match weights {
        Weights::Gguf(_) => {
            let name = NAMES.iter().find(|(folder, _)| *folder == part).map_or(part, |(_, gguf)| gguf);
            format!("blk.{layer}.{name}.weight")
        }
        Weights::Folder(_) => format!("model.layers.{layer}.{part}.weight"),
    }
}

/// The embedding of tokens, `(vocabulary, hidden)`.
pub(crate) fn embedding(weights: &Weights) -> &'static str {
    match weights {
        Weights::Gguf(_) => "token_embd.weight",
        Weights::Folder(_) => "model.embed_tokens.weight",
    }
}

/// The norm before the logits. GGUF files call it the embedding's, older ones the output's.
pub(crate) fn output_norm(weights: &Weights) -> &'static str {
    match weights {
        Weights::Gguf(_) if weights.shape("token_embd_norm.weight").is_none() => "output_norm.weight",
        Weights::Gguf(_) => "token_embd_norm.weight",
        Weights::Folder(_) => "model.embedding_norm.weight",
    }
}

/// The matrix of the logits, where it is not the embedding.
pub(crate) fn head(weights: &Weights) -> &'static str {
    match weights {
        Weights::Gguf(_) => "output.weight",
        Weights::Folder(_) => "lm_head.weight",
    }
}
