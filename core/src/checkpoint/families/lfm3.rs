//! LFM3 of Liquid AI: short convolutions beside attention with and without a window, norms on the outputs of operators and
//! feed-forward blocks, and a gate for each attention head. In layers with full attention, only the fastest half of the pairs
//! is rotated; GGUF files say so by divisors of the frequencies. In decision models without a causal mask, only full attention is to both sides.

use crate::checkpoint::families::family::{Family, TensorNames, WindowRule};
use crate::checkpoint::families::plain::PLAIN;

pub(super) const LFM3: Family = Family {
    gguf: "lfm3",
    model_type: "lfm3",
    names: &NAMES,
    width_key: None,
    word_rule: Some("lfm2"),
    default_theta: 1_000_000.0,
    sliding_theta: Some(10_000.0),
    rotated_share: Some(0.5),
    window: WindowRule::AlwaysListed,
    has_head_norms: true,
    has_output_norms: true,
    has_head_gates: true,
    has_divisors: true,
    may_be_bidirectional: true,
    keeps_windows_causal: true,
    ..PLAIN
};

static NAMES: TensorNames = TensorNames {
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
