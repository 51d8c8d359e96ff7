//! LFM2 of Liquid AI: most layers are gated short convolutions, some are attention with a norm on every query and key head. In the
//! mixture of experts, all but the first layers have a router. config.json gives a width of feed-forward blocks from which the real
//! one follows by a formula.

use crate::checkpoint::families::family::{Family, TensorNames};
use crate::checkpoint::families::plain::PLAIN;

pub(super) const LFM2: Family = Family {
    gguf: "lfm2",
    model_type: "lfm2",
    names: &NAMES,
    output_norm: "token_embd_norm",
    width_key: None,
    word_rule: Some("lfm2"),
    default_theta: 1_000_000.0,
    has_head_norms: true,
    may_be_bidirectional: true,
    ..PLAIN
};

/// LFM2 with experts.
pub(super) const LFM2_MOE: Family = Family { gguf: "lfm2moe", model_type: "lfm2_moe", has_experts: true, ..LFM2 };

static NAMES: TensorNames = TensorNames {
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
