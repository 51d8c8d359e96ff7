//! Granite of IBM: Llama with factors of embeddings, attention scores, residuals and logits. Granite 4 names the parts of hybrids;
//! without Mamba layers, the only hybrids that are supported, it is a plain Granite in GGUF files.

use crate::checkpoint::families::family::{Family, TensorNames};
use crate::checkpoint::families::llama::LLAMA;

pub(super) const GRANITE: Family = Family { gguf: "granite", model_type: "granite", has_multipliers: true, ..LLAMA };

pub(super) const GRANITE_HYBRID: Family = Family {
    gguf: "granitehybrid",
    model_type: "granitemoehybrid",
    exported_as: Some("granite"),
    names: &NAMES,
    lists_key_heads: true,
    width_key: Some("shared_intermediate_size"),
    ..GRANITE
};

static NAMES: TensorNames = TensorNames {
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
