//! Gemma 3 and 4 of Google: five of six layers have a window and rotary positions of their own; outputs of operators and
//! feed-forward blocks have norms, embeddings are scaled, and folders hold the factors of norms less one.
//!
//! Gemma 4 adds norms of values, per-layer embeddings, layers that read the keys and values of earlier ones, and rotates a quarter of
//! the pairs in layers with full attention. Blocks of the layers that share keys may be twice as wide as config.json says.

use crate::checkpoint::families::family::{Activation, Family, TensorNames, WindowRule};
use crate::checkpoint::families::plain::PLAIN;

pub(super) const GEMMA3: Family = Family {
    gguf: "gemma3",
    model_type: "gemma3_text",
    names: &NAMES,
    default_theta: 1_000_000.0,
    sliding_theta: Some(10_000.0),
    default_context: Some(131_072),
    default_norm_eps: Some(1e-6),
    window: WindowRule::AllBut(6),
    has_head_norms: true,
    activation: Activation::GeluTanh,
    folder_norms_lack_one: true,
    has_output_norms: true,
    odd_scale_layers: Some(62), // 27 billion parameters; no key says so
    scales_embedding: true,
    may_be_bidirectional: true,
    ..PLAIN
};

pub(super) const GEMMA4: Family = Family {
    gguf: "gemma4",
    model_type: "gemma4_text",
    rotated_share: Some(0.25),
    has_value_norms: true,
    has_divisors: true,
    attention_scale: Some(1.0),
    odd_scale_layers: None,
    width_key: None,
    has_spelled_merges: true,
    folder_norms_lack_one: false,
    may_be_bidirectional: false,
    ..GEMMA3
};

/// EmbeddingGemma, which reads whole texts. Folders have the type of Gemma 3, and say so by another key.
pub(super) const GEMMA_EMBEDDING: Family = Family { gguf: "gemma-embedding", is_encoder: true, ..GEMMA3 };

static NAMES: TensorNames = TensorNames {
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
