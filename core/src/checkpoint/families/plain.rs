//! The plain decoder, whose differences make the other families: attention with rotary positions on whole heads, gated
//! feed-forward blocks, and a norm before each.

use crate::checkpoint::families::family::{Activation, Family, TensorNames, WindowRule};
use crate::checkpoint::rope::RopePairing;

pub(super) const PLAIN: Family = Family {
    gguf: "",
    model_type: "",
    exported_as: None,
    names: &NAMES,
    output_norm: "output_norm",
    keeps_stacks: false,
    lists_key_heads: false,
    width_key: Some("intermediate_size"),
    word_rule: None,
    has_spelled_merges: false,
    pairing: RopePairing::Halves,
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
    is_two_way: false,
    has_query_gates: false,
    has_divisors: false,
    has_multipliers: false,
    attention_scale: None,
    odd_scale_layers: None,
    scales_embedding: false,
};

pub(super) static NAMES: TensorNames = TensorNames {
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
