//! The names of tensors, and the names of the same tensors in folders.

/// Parts with a weight and a bias outside of layers. Convolutions are not among them.
pub(super) const PARTS: [(&str, &str); 2] =
    [("encoder.ln_post", "encoder.layer_norm"), ("decoder.ln", "decoder.layer_norm")];

/// Convolutions.
pub(super) const CONVOLUTIONS: [(&str, &str); 2] =
    [("encoder.conv1", "encoder.conv1"), ("encoder.conv2", "encoder.conv2")];

/// Tables.
pub(super) const TABLES: [(&str, &str); 3] = [
    ("encoder.positional_embedding", "encoder.embed_positions.weight"),
    ("decoder.positional_embedding", "decoder.embed_positions.weight"),
    ("decoder.token_embedding.weight", "decoder.embed_tokens.weight"),
];

/// Parts of each layer.
pub(super) const IN_LAYER: [(&str, &str); 8] = [
    ("attn_ln", "self_attn_layer_norm"),
    ("attn.query", "self_attn.q_proj"),
    ("attn.key", "self_attn.k_proj"),
    ("attn.value", "self_attn.v_proj"),
    ("attn.out", "self_attn.out_proj"),
    ("mlp_ln", "final_layer_norm"),
    ("mlp.0", "fc1"),
    ("mlp.2", "fc2"),
];

/// Parts of each layer of the decoder only.
pub(super) const IN_TEXT_LAYER: [(&str, &str); 5] = [
    ("cross_attn_ln", "encoder_attn_layer_norm"),
    ("cross_attn.query", "encoder_attn.q_proj"),
    ("cross_attn.key", "encoder_attn.k_proj"),
    ("cross_attn.value", "encoder_attn.v_proj"),
    ("cross_attn.out", "encoder_attn.out_proj"),
];

/// For each column of a matrix over windows of rows its place in a kernel, `(inputs, size)`.
pub(super) fn kernel_columns(n_inputs: usize, size: usize) -> Vec<usize> {
    (0..n_inputs * size).map(|at| at % n_inputs * size + at / n_inputs).collect()
}
