//! The families of models that are known: what each is called, how its folders name tensors, and where they differ.
//!
//! Everything is asked for by its name in GGUF files, which is the same in all families.

use crate::weights::Weights;
use causerie_backend::Pairing;

/// What sets a family of models apart, beyond what its files say.
#[derive(Debug)]
pub(crate) struct Family {
    /// `general.architecture` of GGUF files, which also begins the keys of their metadata.
    pub(crate) gguf: &'static str,
    /// `model_type` of config.json.
    pub(crate) model_type: &'static str,
    names: &'static Names,
    /// Which numbers of a head make a pair, in GGUF files. In folders it is always the halves.
    pub(crate) gguf_pairing: Pairing,
    /// The base of rotary positions where config.json has none.
    pub(crate) default_theta: f32,
    pub(crate) window: WindowRule,
    /// Whether every query and key head is normed.
    pub(crate) has_head_norms: bool,
    /// Whether queries, keys and values always have a bias.
    pub(crate) has_biases: bool,
    /// Whether feed-forward blocks may be mixtures of experts.
    pub(crate) has_experts: bool,
    /// In every how manyeth layer attention knows no positions, unless the files say otherwise.
    pub(crate) no_rope_interval: Option<usize>,
}

/// In which layers attention sees a window only, where config.json does not list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowRule {
    /// None, unless listed.
    Listed,
    /// Every layer, whatever is listed.
    All,
    /// With `use_sliding_window`, the layers from `max_window_layers` on.
    FromLayer,
    /// With `use_sliding_window`, the layers without positions.
    WithoutRope,
}

/// How folders name tensors.
#[derive(Debug)]
struct Names {
    output_norm: &'static str,
    /// Names in GGUF files and in folders. `*` stands for the number of an expert.
    in_layer: &'static [(&'static str, &'static str)],
}

static LFM2_NAMES: Names = Names {
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

static PLAIN_NAMES: Names = Names {
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

/// The plain decoder, from which the others are told by their differences.
const PLAIN: Family = Family {
    gguf: "",
    model_type: "",
    names: &PLAIN_NAMES,
    gguf_pairing: Pairing::Halves,
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

/// GGUF files of Llama, of Mistral, which go by its name there, and of SmolLM3 hold the rows of queries and keys in an order
/// of their own: neighbours make a pair.
const LLAMA: Family = Family { gguf: "llama", model_type: "llama", gguf_pairing: Pairing::Neighbours, ..PLAIN };

/// All families. Of those with one GGUF name, the first reads the file.
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
        gguf_pairing: Pairing::Neighbours,
        default_theta: 2_000_000.0,
        no_rope_interval: Some(4),
        window: WindowRule::WithoutRope,
        ..PLAIN
    },
];

impl Family {
    /// The name under which the files know it.
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

    /// What folders call a part of a layer. A part that none of them has keeps its name, under which nothing is found.
    pub(crate) fn folder_name<'a>(&self, part: &'a str) -> &'a str {
        self.names.in_layer.iter().find(|(gguf, _)| *gguf == part).map_or(part, |(_, folder)| folder)
    }
}
