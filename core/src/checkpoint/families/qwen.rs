//! Qwen of Alibaba. Qwen2 has biases on queries, keys and values, Qwen3 norms on query and key heads. Qwen3.5 mixes gated delta nets
//! with attention whose outputs are gated and whose heads rotate in part; folders hold the factors of norms less one.

use crate::checkpoint::families::family::{Family, TensorNames, WindowRule};
use crate::checkpoint::families::plain::PLAIN;

pub(super) const QWEN2: Family =
    Family { gguf: "qwen2", model_type: "qwen2", has_biases: true, window: WindowRule::FromLayer, ..PLAIN };

pub(super) const QWEN3: Family =
    Family { gguf: "qwen3", model_type: "qwen3", has_head_norms: true, window: WindowRule::FromLayer, ..PLAIN };

pub(super) const QWEN35: Family = Family {
    gguf: "qwen35",
    model_type: "qwen3_5_text",
    names: &NAMES,
    default_theta: 10_000_000.0,
    rotates_part: true,
    has_sections: true,
    default_rotated_part: 0.25,
    has_head_norms: true,
    folder_norms_lack_one: true,
    feed_forward_norm: "post_attention_norm",
    has_query_gates: true,
    ..PLAIN
};

static NAMES: TensorNames = TensorNames {
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
