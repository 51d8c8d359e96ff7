//! The names of SigLIP's tensors: parts in GGUF files, and in folders after the prefix of the tower or of a layer.

pub(super) const TOWER: &[(&str, &str)] = &[
    ("v.patch_embd", "embeddings.patch_embedding"),
    ("v.position_embd", "embeddings.position_embedding"),
    ("v.post_ln", "post_layernorm"),
];
pub(super) const LAYERS: &str = "encoder.layers.";
pub(super) const IN_LAYER: &[(&str, &str)] = &[
    ("ln1", "layer_norm1"),
    ("ln2", "layer_norm2"),
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_out", "self_attn.out_proj"),
    ("ffn_up", "mlp.fc1"),
    ("ffn_down", "mlp.fc2"),
];
