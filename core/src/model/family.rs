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
    /// The base of rotary positions in layers with a window, if these layers have settings of their own: scaling then applies
    /// only to layers that see the whole context.
    pub(crate) sliding_theta: Option<f32>,
    /// Whether only the first elements of each head may be rotated.
    pub(crate) rotates_part: bool,
    /// The part of each head that is rotated if config.json does not say.
    pub(crate) default_rotated_part: f64,
    /// The share of pairs that are rotated, the fastest ones, in layers that see the whole context, if config.json has no
    /// settings.
    pub(crate) rotated_share: Option<f64>,
    /// The positions that the model was made for, and the epsilon of norms, if config.json has none.
    pub(crate) default_context: Option<usize>,
    pub(crate) default_norm_eps: Option<f64>,
    pub(crate) window: WindowRule,
    /// The window if config.json has no key for it.
    pub(crate) default_window: Option<usize>,
    /// Whether every query and key head has a norm.
    pub(crate) has_head_norms: bool,
    /// Whether every value head has a norm without weights.
    pub(crate) has_value_norms: bool,
    /// Whether queries, keys and values always have a bias.
    pub(crate) has_biases: bool,
    /// Whether feed-forward blocks may be mixtures of experts.
    pub(crate) has_experts: bool,
    /// Every Nth layer has no positional encoding (NoPE), unless the files list the layers.
    pub(crate) no_rope_interval: Option<usize>,
    pub(crate) activation: Activation,
    /// Whether norms multiply by one more than the weights in folders. GGUF files hold the sums.
    pub(crate) folder_norms_lack_one: bool,
    /// Whether the outputs of operators and feed-forward blocks have norms.
    pub(crate) has_output_norms: bool,
    /// The norm before feed-forward blocks.
    pub(crate) feed_forward_norm: &'static str,
    /// Whether each attention head has a gate.
    pub(crate) has_head_gates: bool,
    /// Whether the rows of each query head are followed by as many rows of a gate.
    pub(crate) has_query_gates: bool,
    /// Whether GGUF files have divisors of the frequencies, for layers that see the whole context.
    pub(crate) has_divisors: bool,
    /// Whether the files have factors of embeddings, attention scores, residuals and logits.
    pub(crate) has_multipliers: bool,
    /// Factor of attention scores; `None` for one over the root of the head size.
    pub(crate) attention_scale: Option<f32>,
    /// Whether embeddings of tokens are multiplied by the root of the hidden size.
    pub(crate) scales_embedding: bool,
}

/// The function of gates in feed-forward blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    Silu,
    /// GELU with its approximation by the hyperbolic tangent.
    GeluTanh,
}

/// The layers whose attention sees only a window, if the files do not list them.
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
    /// Every layer except every Nth, unless listed.
    AllBut(usize),
    /// The files must list the layers.
    AlwaysListed,
}

impl Activation {
    /// The function's names in config.json.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Silu => &["silu", "swish"],
            Self::GeluTanh => &["gelu_pytorch_tanh"],
        }
    }
}

/// How folders name tensors.
#[derive(Debug)]
struct TensorNames {
    output_norm: &'static str,
    /// Names in GGUF files and in folders; a part may have several in folders. `*` stands for the number of an expert.
    in_layer: &'static [(&'static str, &'static str)],
}

static LFM2_NAMES: TensorNames = TensorNames {
    output_norm: "embedding_norm",
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
    output_norm: "norm",
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
        ("attn_qkv", "self_attn.qkv_proj"),
        ("ffn_gate_up", "mlp.gate_up_proj"),
    ],
};

static LFM3_NAMES: TensorNames = TensorNames {
    output_norm: "embedding_norm",
    in_layer: &[
        ("attn_norm", "operator_norm"),
        ("post_attention_norm", "post_operator_norm"),
        ("ffn_norm", "ffn_norm"),
        ("post_ffw_norm", "post_ffn_norm"),
        ("ffn_gate", "feed_forward.w1"),
        ("ffn_down", "feed_forward.w2"),
        ("ffn_up", "feed_forward.w3"),
        ("shortconv.in_proj", "conv.in_proj"),
        ("shortconv.conv", "conv.conv"),
        ("shortconv.out_proj", "conv.out_proj"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("attn_gate", "self_attn.gate_proj"),
        ("attn_gate", "self_attn.g_proj"),
        ("attn_q_norm", "self_attn.q_norm"),
        ("attn_k_norm", "self_attn.k_norm"),
    ],
};

static QWEN35_NAMES: TensorNames = TensorNames {
    output_norm: "norm",
    in_layer: &[
        ("attn_norm", "input_layernorm"),
        ("post_attention_norm", "post_attention_layernorm"),
        ("ffn_gate", "mlp.gate_proj"),
        ("ffn_down", "mlp.down_proj"),
        ("ffn_up", "mlp.up_proj"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("attn_q_norm", "self_attn.q_norm"),
        ("attn_k_norm", "self_attn.k_norm"),
        ("attn_qkv", "linear_attn.in_proj_qkv"),
        ("attn_gate", "linear_attn.in_proj_z"),
        ("ssm_beta", "linear_attn.in_proj_b"),
        ("ssm_alpha", "linear_attn.in_proj_a"),
        ("ssm_a", "linear_attn.A_log"),
        ("ssm_dt", "linear_attn.dt_bias"),
        ("ssm_conv1d", "linear_attn.conv1d"),
        ("ssm_norm", "linear_attn.norm"),
        ("ssm_out", "linear_attn.out_proj"),
    ],
};

static GEMMA3_NAMES: TensorNames = TensorNames {
    output_norm: "norm",
    in_layer: &[
        ("attn_norm", "input_layernorm"),
        ("post_attention_norm", "post_attention_layernorm"),
        ("ffn_norm", "pre_feedforward_layernorm"),
        ("post_ffw_norm", "post_feedforward_layernorm"),
        ("ffn_gate", "mlp.gate_proj"),
        ("ffn_down", "mlp.down_proj"),
        ("ffn_up", "mlp.up_proj"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("attn_q_norm", "self_attn.q_norm"),
        ("attn_k_norm", "self_attn.k_norm"),
        ("inp_gate", "per_layer_input_gate"),
        ("proj", "per_layer_projection"),
        ("post_norm", "post_per_layer_input_norm"),
    ],
};

static GRANITE4_NAMES: TensorNames = TensorNames {
    output_norm: "norm",
    in_layer: &[
        ("attn_norm", "input_layernorm"),
        ("ffn_norm", "post_attention_layernorm"),
        ("ffn_gate_up", "shared_mlp.input_linear"),
        ("ffn_down", "shared_mlp.output_linear"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("ssm_in", "mamba.in_proj"),
    ],
};

/// The plain decoder; the other families are described by their differences from it.
const PLAIN: Family = Family {
    gguf: "",
    model_type: "",
    names: &PLAIN_NAMES,
    gguf_pairing: RopePairing::Halves,
    default_theta: 10_000.0,
    sliding_theta: None,
    rotates_part: false,
    default_rotated_part: 1.0,
    rotated_share: None,
    default_context: None,
    default_norm_eps: None,
    window: WindowRule::Listed,
    default_window: None,
    has_head_norms: false,
    has_value_norms: false,
    has_biases: false,
    has_experts: false,
    no_rope_interval: None,
    activation: Activation::Silu,
    folder_norms_lack_one: false,
    has_output_norms: false,
    feed_forward_norm: "ffn_norm",
    has_head_gates: false,
    has_query_gates: false,
    has_divisors: false,
    has_multipliers: false,
    attention_scale: None,
    scales_embedding: false,
};

const LFM2: Family = Family {
    gguf: "lfm2",
    model_type: "lfm2",
    names: &LFM2_NAMES,
    default_theta: 1_000_000.0,
    has_head_norms: true,
    ..PLAIN
};

const LFM3: Family = Family {
    gguf: "lfm3",
    model_type: "lfm3",
    names: &LFM3_NAMES,
    default_theta: 1_000_000.0,
    sliding_theta: Some(10_000.0),
    rotated_share: Some(0.5),
    window: WindowRule::AlwaysListed,
    has_head_norms: true,
    has_output_norms: true,
    has_head_gates: true,
    has_divisors: true,
    ..PLAIN
};

const GEMMA3: Family = Family {
    gguf: "gemma3",
    model_type: "gemma3_text",
    names: &GEMMA3_NAMES,
    default_theta: 1_000_000.0,
    sliding_theta: Some(10_000.0),
    default_context: Some(131_072),
    default_norm_eps: Some(1e-6),
    window: WindowRule::AllBut(6),
    has_head_norms: true,
    activation: Activation::GeluTanh,
    folder_norms_lack_one: true,
    has_output_norms: true,
    scales_embedding: true,
    ..PLAIN
};

const GEMMA4: Family = Family {
    gguf: "gemma4",
    model_type: "gemma4_text",
    rotated_share: Some(0.25),
    has_value_norms: true,
    has_divisors: true,
    attention_scale: Some(1.0),
    folder_norms_lack_one: false,
    ..GEMMA3
};

const QWEN35: Family = Family {
    gguf: "qwen35",
    model_type: "qwen3_5_text",
    names: &QWEN35_NAMES,
    default_theta: 10_000_000.0,
    rotates_part: true,
    default_rotated_part: 0.25,
    has_head_norms: true,
    folder_norms_lack_one: true,
    feed_forward_norm: "post_attention_norm",
    has_query_gates: true,
    ..PLAIN
};

/// GGUF files of Llama, Mistral (as `llama`) and SmolLM3 order the rows of queries and keys so that neighbours make a pair.
const LLAMA: Family = Family { gguf: "llama", model_type: "llama", gguf_pairing: RopePairing::Neighbours, ..PLAIN };

const GRANITE: Family = Family { gguf: "granite", model_type: "granite", has_multipliers: true, ..LLAMA };

/// All families. If several have the same GGUF name, the first one reads the file.
pub(crate) static FAMILIES: [Family; 15] = [
    LFM2,
    LFM3,
    GEMMA3,
    GEMMA4,
    QWEN35,
    Family { gguf: "lfm2moe", model_type: "lfm2_moe", has_experts: true, ..LFM2 },
    LLAMA,
    Family { model_type: "mistral", window: WindowRule::All, default_window: Some(4096), ..LLAMA },
    Family { gguf: "mistral3", model_type: "ministral3", window: WindowRule::All, ..LLAMA },
    Family { gguf: "phi3", model_type: "phi3", window: WindowRule::All, rotates_part: true, ..PLAIN },
    GRANITE,
    Family { gguf: "granitehybrid", model_type: "granitemoehybrid", names: &GRANITE4_NAMES, ..GRANITE },
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

    /// The norm before the logits, in folders, after the decoder's prefix.
    pub(crate) fn folder_output_norm(&self) -> &'static str {
        self.names.output_norm
    }

    /// The parts of layers, by their names in GGUF files.
    pub(crate) fn parts(&self) -> Vec<&'static str> {
        let mut parts: Vec<_> = self.names.in_layer.iter().map(|(gguf, _)| *gguf).collect();
        parts.dedup();
        parts
    }

    /// The names of a part of a layer in folders; none for a part that folders do not have.
    pub(crate) fn folder_names(&self, part: &str) -> impl Iterator<Item = &'static str> {
        self.names.in_layer.iter().filter(move |(gguf, _)| *gguf == part).map(|(_, folder)| *folder)
    }
}
