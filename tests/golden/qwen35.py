"""Qwen3.5: its tiny model, and how its GGUF files differ from its folders."""

import numpy as np

# Value heads that share a key head are next to each other in folders. In GGUF files their distance is the number of key heads.
KEY_HEADS, VALUE_HEADS, KEY_SIZE, VALUE_SIZE = 2, 4, 32, 32
# Rows of queries and keys, and value heads for each key head.
KEYS, SHARES = 2 * KEY_HEADS * KEY_SIZE, VALUE_HEADS // KEY_HEADS

CONFIG = {
    "head_dim": 32, "rms_norm_eps": 1e-6, "hidden_act": "silu", "attention_bias": False, "attn_output_gate": True,
    "layer_types": ["linear_attention"] * 3 + ["full_attention"], "full_attention_interval": 4,
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": KEY_SIZE, "linear_value_head_dim": VALUE_SIZE,
    "linear_num_key_heads": KEY_HEADS, "linear_num_value_heads": VALUE_HEADS, "mtp_num_hidden_layers": 1,
    "rope_parameters": {
        "rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1],
        "mrope_interleaved": True,
    },
}
METADATA = (
    ("add_rope_dimension_count", 8), ("add_rope_dimension_sections", [2, 1, 1, 0]), ("add_full_attention_interval", 4),
    ("add_ssm_conv_kernel", 4), ("add_ssm_state_size", KEY_SIZE), ("add_ssm_group_count", KEY_HEADS),
    ("add_ssm_time_step_rank", VALUE_HEADS), ("add_ssm_inner_size", VALUE_HEADS * VALUE_SIZE),
    ("add_nextn_predict_layers", 0),
)
NAMES = {
    "post_attention_layernorm": "post_attention_norm", "linear_attn.in_proj_qkv": "attn_qkv",
    "linear_attn.in_proj_z": "attn_gate", "linear_attn.in_proj_b": "ssm_beta", "linear_attn.in_proj_a": "ssm_alpha",
    "linear_attn.A_log": "ssm_a", "linear_attn.dt_bias": "ssm_dt.bias", "linear_attn.conv1d": "ssm_conv1d",
    "linear_attn.norm": "ssm_norm", "linear_attn.out_proj": "ssm_out",
}


def transposed(values, shape):
    """Reorders the value heads in the first dimension, whose numbers are the numbers of a matrix of this shape."""
    return values.reshape(*shape, len(values) // VALUE_HEADS, *values.shape[1:]).swapaxes(0, 1).reshape(values.shape)


def reordered(name, values, shape):
    part = name.split("linear_attn.")[-1]
    if part in ("in_proj_qkv.weight", "conv1d.weight"):
        return np.concatenate([values[:KEYS], transposed(values[KEYS:], shape)])
    if part in ("in_proj_z.weight", "in_proj_b.weight", "in_proj_a.weight", "A_log", "dt_bias"):
        return transposed(values, shape)
    if part == "out_proj.weight":
        return np.ascontiguousarray(transposed(values.T, shape).T)
    return values


def to_gguf(name, values):
    values = reordered(name, values, (KEY_HEADS, SHARES))
    return -np.exp(values) if name.endswith("A_log") else values


def from_gguf(name, values):
    values = np.log(-values) if name.endswith("A_log") else values
    return reordered(name, values, (SHARES, KEY_HEADS))
