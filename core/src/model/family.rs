//! The known families of models: their names, how their folders name tensors, and how they differ.
//!
//! Tensors are looked up by their names in GGUF files, which are the same in all families.

use crate::model::rope::RopePairing;
use crate::weights::Weights;
/// Properties of a family of models that its files leave out.
#[derive(Debug)]
pub(crate) struct Family {
    /// `general.architecture` of GGUF files, which also begins the keys of their metadata.
    pub(crate) gguf: &'static str,
    /// `model_type` of config.json.
    pub(crate) model_type: &'static str,
    names: &'static TensorNames,
    /// Which values of a head make a pair in GGUF files. In folders it is always the halves.
    pub(crate) gguf_pairing: RopePairing,
    /// The base of rotary positions if config.json has none.
    pub(crate) default_theta: f32,
    pub(crate) window: WindowRule,
    /// Whether every query and key head has a norm.
    pub(crate) has_head_norms: bool,
    /// Whether queries, keys and values always have a bias.
    pub(crate) has_biases: bool,
    /// Whether feed-forward blocks may be mixtures of experts.
    pub(crate) has_experts: bool,
    /// Every Nth layer has no positional encoding (NoPE), unless the files list the layers.
    pub(crate) no_rope_interval: Option<usize>,
}

/// The layers whose attention sees only a window, if config.json does not list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowRule {
    /// No layer, unless listed.
    Listed,
    /// Every layer, even if config.json lists others.
    All,
    /// With `use_sliding_window`, the layers from `max_window_layers` on.
    FromLayer,
    /// With `use_sliding_window`, the layers without positional encoding.
    WithoutRope,
}

/// How folders name tensors.
#[derive(Debug)]
struct TensorNames {
    output_norm: &'static str,
    /// Names in GGUF files and in folders. `*` stands for the number of an expert.
    in_layer: &'static [(&'static str, &'static str)],
}

static LFM2_NAMES: TensorNames = TensorNames {
    output_norm: "model.embedding_norm",
    in_layer: &[
        ("attn_norm", "operator_norm"),
        ("ffn_norm", "ffn_norm"),
        ("ffn_gate", "feed_forward.w1"),
        ("ffn_down", "feed_forward.w2"),
        ("ffn_up", "feed_forward.w3"),
        ("ffn_gate_inp", "feed_forward.gate"),
        ("ffn_gate_exps", "feed_forward.experts.*.w1"),
        ("ffn_down_exps", "feed_forward.experts.*.w2"),
        ("ffn_up_exps", "feed_forward.experts.*.w3"),
        ("shortconv.in_proj", "conv.in_proj"),
        ("shortconv.conv", "conv.conv"),
        ("shortconv.out_proj", "conv.out_proj"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.out_proj"),
        ("attn_q_norm", "self_attn.q_layernorm"),
        ("attn_k_norm", "self_attn.k_layernorm"),
    ],
};

static PLAIN_NAMES: TensorNames = TensorNames {
    output_norm: "model.norm",
    in_layer: &[
        ("attn_norm", "input_layernorm"),
        ("ffn_norm", "post_attention_layernorm"),
        ("ffn_gate", "mlp.gate_proj"),
        ("ffn_down", "mlp.down_proj"),
        ("ffn_up", "mlp.up_proj"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("attn_q_norm", "self_attn.q_norm"),
        ("attn_k_norm", "self_attn.k_norm"),
    ],
};

/// The plain decoder; the other families are described by their differences from it.
const PLAIN: Family = Family {
    gguf: "",
    model_type: "",
    names: &PLAIN_NAMES,
    gguf_pairing: RopePairing::Halves,
    default_theta: 10_000.0,
    window: WindowRule::Listed,
    has_head_norms: false,
    has_biases: false,
    has_experts: false,
    no_rope_interval: None,
};

const LFM2: Family = Family {
    gguf: "lfm2",
    model_type: "lfm2",
    names: &LFM2_NAMES,
    default_theta: 1_000_000.0,
    has_head_norms: true,
    ..PLAIN
};

/// GGUF files of Llama, Mistral (as `llama`) and SmolLM3 order the rows of queries and keys so that neighbours make a pair.
const LLAMA: Family = Family { gguf: "llama", model_type: "llama", gguf_pairing: RopePairing::Neighbours, ..PLAIN };

/// All families. If several have the same GGUF name, the first one reads the file.
pub(crate) static FAMILIES: [Family; 7] = [
    LFM2,
    Family { gguf: "lfm2moe", model_type: "lfm2_moe", has_experts: true, ..LFM2 },
    LLAMA,
    Family { model_type: "mistral", window: WindowRule::All, ..LLAMA },
    Family { gguf: "qwen2", model_type: "qwen2", has_biases: true, window: WindowRule::FromLayer, ..PLAIN },
    Family { gguf: "qwen3", model_type: "qwen3", has_head_norms: true, window: WindowRule::FromLayer, ..PLAIN },
    Family {
        gguf: "smollm3",
        model_type: "smollm3",
        gguf_pairing: RopePairing::Neighbours,
        default_theta: 2_000_000.0,
        no_rope_interval: Some(4),
        window: WindowRule::WithoutRope,
        ..PLAIN
    },
];

impl Family {
    /// The family's name in the files.
    pub(crate) fn name(&self, weights: &Weights) -> &'static str {
        match weights {
            Weights::Gguf(_) => self.gguf,
            Weights::Folder(_) => self.model_type,
        }
    }

    /// The norm before the logits, in folders.
    pub(crate) fn folder_output_norm(&self) -> &'static str {
        self.names.output_norm
    }

    /// The name of a part of a layer in folders. A part that folders do not have keeps its name, so that no tensor is found.
    pub(crate) fn folder_name<'a>(&self, part: &'a str) -> &'a str {
        self.names.in_layer.iter().find(|(gguf, _)| *gguf == part).map_or(part, |(_, folder)| folder)
    }
}
